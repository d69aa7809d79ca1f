"""Addresses of arrays, for compiled code: it keeps no array alive, whoever calls it does."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

_first_byte: Final[Any] = ctypes.c_char.from_buffer


def address_of(array: npt.NDArray[Any]) -> int:
    """Where the first element of a contiguous array lies."""
    try:
        # A batch asks a hundred times, and numpy takes long to describe an array.
        return ctypes.addressof(_first_byte(array))
    except (TypeError, ValueError):
        # One that is read only, or empty.
        address: int = array.__array_interface__["data"][0]
        return address
