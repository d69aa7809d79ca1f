"""The definitions in force along a span, and those of them that a few entries can need.

Where thousands of tables are created in one span, an entry or two stand between any two of them: to lay out all tables
for each would take the square of their number. Knows of an entry that a table's id stands in it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tailer.reading.task import DefinitionsById
from tailer.schema.model import TableDefinition

FEW_BYTES_A_TABLE: Final = 256
"""Up to so many bytes for each table it costs less to look for ids in the entries than to lay out all tables."""

_WORD_BYTES: Final = 8


class InForce:
    """What is in force at the place that was reached, by table id as a `ReadTask` has it."""

    def __init__(self, definitions: DefinitionsById) -> None:
        self._all: DefinitionsById = definitions
        self._own: dict[str, TableDefinition] = {}
        self._whole: DefinitionsById | None = definitions
        self._unused: set[str] | None = None
        self._words: dict[int, list[str]] = {}

    @property
    def all(self) -> DefinitionsById:
        """Every definition; the next change is one of this object."""
        return self._all

    def change(self, definitions: DefinitionsById) -> None:
        """What follows is read by these."""
        if self._all is not self._own:
            self._all = self._own = dict(self._all)
            self._note(self._own)
        self._note(table for table in definitions if table not in self._own)
        self._own.update(definitions)
        self._whole = None
        if self._unused is not None:
            self._unused.update(definitions)

    def reading(self, data: bytes, begin: int, end: int) -> Iterator[DefinitionsById]:
        """What is made ready to read the entries between two offsets of `data`; the last of it is what reads them.

        Before that stands what nothing was read by yet: one that cannot be used is told at the first entry behind it,
        whether it is of its table or not.
        """
        few = end - begin <= FEW_BYTES_A_TABLE * len(self._all)
        if self._whole is None and self._unused is not None and few:
            if self._unused:
                yield {table: self._all[table] for table in sorted(self._unused)}
            yield self._in(data, begin, end)
        else:
            if self._whole is None:
                self._whole = dict(self._all)
            yield self._whole
        self._unused = set()

    def _note(self, tables: Iterable[str]) -> None:
        for table in tables:
            word = int.from_bytes(bytes.fromhex(table[: 2 * _WORD_BYTES]), "little")
            self._words.setdefault(word, []).append(table)

    def _in(self, data: bytes, begin: int, end: int) -> DefinitionsById:
        """Those whose ids stand in the bytes: an entry has its tables' ids literally, and others as values."""
        import numpy as np

        count = max(end - begin - _WORD_BYTES + 1, 0)
        words = np.ndarray(count, np.dtype("<u8"), data, begin, (1,)).tolist()
        tables = {table for word in words if word in self._words for table in self._words[word]}
        return {table: self._all[table] for table in sorted(tables)}
