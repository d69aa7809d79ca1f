"""Columns of Python values as Arrow arrays, made from buffers.

Not with `pyarrow.array`: where pandas is installed that imports it, most of a second for every new Spark worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from tailer.errors import SystemFailedError

if TYPE_CHECKING:
    import pyarrow

_TEXT_BYTES_MAX: Final = 2**31 - 1
"""Offsets of Arrow's `string` are signed 32-bit; Spark takes no other strings."""

_NUMBERS: Final = {"int32": np.int32, "int64": np.int64}


def array(values: Sequence[Any], kind: pyarrow.DataType) -> pyarrow.Array:
    """An array of type `kind` (string, bool, int32, int64); None becomes null. OverflowError as numpy raises it."""
    import pyarrow

    length, nulls, validity = len(values), 0, None
    filled: Sequence[Any] = values
    if None in values:
        here = np.fromiter((value is not None for value in values), np.bool_, length)
        nulls, validity = length - int(here.sum()), _bits(here)
        if nulls == length:
            return pyarrow.nulls(length, kind)
        empty = "" if str(kind) == "string" else 0
        filled = [empty if value is None else value for value in values]
    if str(kind) == "string":
        buffers = [validity, *_texts(filled)]
    elif str(kind) == "bool":
        buffers = [validity, _bits(np.array(filled, np.bool_))]
    else:
        buffers = [validity, pyarrow.py_buffer(np.array(filled, _NUMBERS[str(kind)]))]
    return pyarrow.Array.from_buffers(kind, length, buffers, nulls)


def _texts(values: Sequence[str]) -> list[pyarrow.Buffer]:
    """Offsets and bytes."""
    import pyarrow

    text = "".join(values)
    data = text.encode()
    # Where all is ASCII the lengths are those of the strings.
    lengths = map(len, values) if len(data) == len(text) else (len(value.encode()) for value in values)
    if len(data) > _TEXT_BYTES_MAX:
        raise SystemFailedError(
            "a batch of rows is too large for Arrow", expected=f"at most {_TEXT_BYTES_MAX} bytes", found=len(data)
        )
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(np.fromiter(lengths, np.int32, len(values)), out=offsets[1:])
    return [pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]


def _bits(flags: npt.NDArray[np.bool_]) -> pyarrow.Buffer:
    import pyarrow

    return pyarrow.py_buffer(np.packbits(flags, bitorder="little"))
