"""Addresses of arrays, for compiled code: it keeps no array alive, whoever calls it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def address_of(array: npt.NDArray[Any]) -> int:
    """Where the first element of a contiguous array lies."""
    address: int = array.__array_interface__["data"][0]
    return address
