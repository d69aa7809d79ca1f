"""Rows of a Struct that declares its table, made by position: the commonest change, in half the time.

Makes what `Table` makes of the same values, and refuses what it cannot make. Knows no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec

from writer_hooks.cell_arrays import Array
from writer_hooks.python_values import ToBytes

Encoded = Sequence[tuple[str, ToBytes]]


class WholeRow:
    """`make` gives a row's array from a Struct. `data`: (column number, name, encoder) of columns of one cell each."""

    def __init__(self, key: Encoded, clustering: Encoded, data: Sequence[tuple[int, str, ToBytes]]) -> None:
        names = [*(name for name, _ in (*key, *clustering)), *(name for _, name, _ in data)]
        # One name alone would give its value and no tuple.
        self._get = attrgetter(*names, names[0])
        self._key = [encode for _, encode in key]
        self._clustering = [encode for _, encode in clustering]
        self._data = [(number, encode) for number, _, encode in data]
        self._clustering_at = len(key)
        self._data_at = len(key) + len(clustering)

    def make(self, op: int, value: msgspec.Struct) -> Array:
        """Raises `python_values.VALUE_ERRORS` where a value is none of its column's type."""
        values = self._get(value)
        cells: list[Array] = []
        at = self._data_at
        for number, encode in self._data:
            part = values[at]
            at += 1
            if part is None:
                cells.append([number, None, None, None, None, None])
            elif part is not msgspec.UNSET:
                cells.append([number, encode(part), None, None, None, None])
        key = [encode(part) for encode, part in zip(self._key, values, strict=False)]
        clustering = None
        if self._clustering:
            parts = values[self._clustering_at : self._data_at]
            clustering = [encode(part) for encode, part in zip(self._clustering, parts, strict=True)]
        row: list[Any] = [op, key, clustering, False, None, None, None, cells, None]
        return row
