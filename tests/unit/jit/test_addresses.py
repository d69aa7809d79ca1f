"""The address of an array is where numpy has its first element, whatever kind of array it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tailer.jit.addresses import address_of

MEMORY = np.arange(64, dtype=np.int64)
ARRAYS: dict[str, npt.NDArray[Any]] = {
    "numbers": MEMORY,
    "a part": MEMORY[3:9],
    "lines": MEMORY.reshape(8, 8),
    "structures": MEMORY.view([("a", np.int64), ("b", np.int64)]),
    "read only": np.frombuffer(b"some bytes", np.uint8),
    "empty": MEMORY[5:5],
    "a column of lines": MEMORY.reshape(8, 8)[:, 2],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_address(name: str) -> None:
    array = ARRAYS[name]
    assert address_of(array) == array.ctypes.data


def test_an_array_can_be_resized_afterwards() -> None:
    array = np.empty(100, np.uint8)
    address_of(array)
    array.resize(10, refcheck=False)
    assert len(array) == 10
