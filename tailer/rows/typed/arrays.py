"""Arrow arrays out of numpy's memory, and of one value over and over. Knows no log and no CQL type."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[Any]

_LEAST: Final = 1024
"""Repeated values are made for this many rows at least, then for twice as many each time."""

_KEPT: Final = 1024
"""Values that are kept; beyond that all are forgotten."""


def validity(valid: Numbers, count: int) -> pa.Buffer | None:
    """The bitmap of a byte a row; None where all rows have a value."""
    return None if count == len(valid) else pa.py_buffer(np.packbits(valid, bitorder="little"))


def fixed_array(type_: pa.DataType, values: Numbers, valid: Numbers, count: int) -> pa.Array:
    """Of values that are laid out as Arrow has them."""
    buffers = [validity(valid, count), pa.py_buffer(values)]
    return pa.Array.from_buffers(type_, len(valid), buffers, len(valid) - count)


def bool_array(values: Numbers, valid: Numbers, count: int) -> pa.Array:
    """Of a byte a row, 0 or 1."""
    buffers = [validity(valid, count), pa.py_buffer(np.packbits(values, bitorder="little"))]
    return pa.Array.from_buffers(pa.bool_(), len(valid), buffers, len(valid) - count)


def text_array(type_: pa.DataType, ends: Numbers, letters: Numbers, valid: Numbers | None, count: int) -> pa.Array:
    """Of texts or blobs: 32-bit offsets, one more than rows, and bytes."""
    rows = len(ends) - 1
    bitmap = None if valid is None else validity(valid, count)
    return pa.Array.from_buffers(type_, rows, [bitmap, pa.py_buffer(ends), pa.py_buffer(letters)], rows - count)


def list_array(type_: pa.DataType, ends: Numbers, elements: pa.Array, valid: Numbers, count: int) -> pa.Array:
    """Of lists: 32-bit offsets, one more than rows, and all elements."""
    buffers = [validity(valid, count), pa.py_buffer(ends)]
    return pa.Array.from_buffers(type_, len(valid), buffers, len(valid) - count, children=[elements])


def map_array(type_: pa.MapType, ends: Numbers, parts: list[pa.Array], valid: Numbers, count: int) -> pa.Array:
    """Of maps: 32-bit offsets, one more than rows, all keys and all values. Keys that are null become some value."""
    keys, values = parts
    if keys.null_count:
        # Arrow ends the process for a map with such a key; who made it has marked its row.
        keys = pa.Array.from_buffers(keys.type, len(keys), [None, *keys.buffers()[1:]], 0)
    pair = pa.struct([type_.key_field, type_.item_field])
    pairs = pa.Array.from_buffers(pair, len(keys), [None], 0, children=[keys, values])
    return list_array(type_, ends, pairs, valid, count)


def struct_array(type_: pa.DataType, fields: list[pa.Array], valid: Numbers, count: int) -> pa.Array:
    """Of structs: an array a field, as long as there are rows."""
    return pa.Array.from_buffers(type_, len(valid), [validity(valid, count)], len(valid) - count, children=fields)


def number_array(type_: pa.DataType, values: Numbers) -> pa.Array:
    """Of numbers without nulls."""
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(values)], 0)


class Repeated:
    """Arrays of one value, or null, in each row. Their memory is kept, and shared by all arrays of that value."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Any], pa.Array] = {}

    def array(self, name: str, type_: pa.DataType, value: Any, rows: int) -> pa.Array:
        """`value` as often as there are rows. One name has one type."""
        key = (name, value)
        held = self._known.get(key)
        if held is None or len(held) < rows:
            if len(self._known) > _KEPT:
                self._known.clear()
            size = _LEAST
            while size < rows:
                size *= 2
            held = self._known[key] = _repeated(type_, value, size)
        return held.slice(0, rows)


def _repeated(type_: pa.DataType, value: Any, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, type_)
    one = pa.array([list(value) if isinstance(value, tuple) else value], type_)
    return one.take(pa.array(np.zeros(rows, np.int8)))
