"""The rows that are straight, as arrays: room for them, and the call of `find_straight`."""

from __future__ import annotations

from copy import copy
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tailer.jit.addresses import address_of
from tailer.rows.typed.compiled import straight as w
from tailer.scan.index import CELL_FIELDS, NO_TTL, ROW_FIELDS, UPDATE_FIELDS, VALUE_FIELDS, Index

Numbers = npt.NDArray[Any]


class StraightRows(NamedTuple):
    """Rows in order, what each is, and where its values lie; see `straight` for the fields.

    `off`, `length`: a line a column of the form; `places` has their addresses, that of `bad`, and the bytes from one
    line to the next. `index_row`: number of the row's line in the index, or NO_LINE; empty where no row has one. The
    facts are of all rows together; `has_cells`: whether cells have other times than their row. `sparse`: the lines are
    other ones, see `wide`.
    """

    bad: Numbers
    entry: Numbers
    offset: Numbers
    number: Numbers
    op: Numbers
    static: Numbers
    ts: Numbers
    ttl: Numbers
    expires: Numbers
    token: Numbers
    index_row: Numbers
    sets: Numbers
    ends: Numbers
    off: Numbers
    length: Numbers
    places: Places
    ops: int
    has_static: bool
    has_ttl: bool
    has_number: bool
    mixed: bool
    has_cells: bool
    sparse: bool

    @property
    def rows(self) -> int:
        return len(self.entry)

    def cut(self, rows: int) -> StraightRows:
        """The first of them."""
        ends = self.ends[: rows + 1]
        return self._replace(
            **{name: getattr(self, name)[:rows] for name in _BY_ROW},
            sets=self.sets[: ends[-1]],
            ends=ends,
            off=self.off[:, :rows],
            length=self.length[:, :rows],
        )


class Places(NamedTuple):
    """Addresses of `off`, `length` and `bad`; bytes of a line of the first two."""

    off: int
    length: int
    bad: int
    line: int


_BY_ROW: Final = StraightRows._fields[: StraightRows._fields.index("sets")]


class Lines:
    """An index with its data, by address; holds what lies there."""

    def __init__(self, index: Index, data: bytes, offsets: Numbers) -> None:
        kinds = zip((index.updates, index.rows, index.values, index.cells), _FIELDS, strict=True)
        # As plain numbers: numpy takes long to describe a structure.
        self._held = [np.ascontiguousarray(array).view(np.int64).reshape(-1, len(fields)) for array, fields in kinds]
        self._data = np.frombuffer(data, np.uint8)
        self._offsets = np.ascontiguousarray(offsets, np.int64)
        self.updates, self.rows, self.values, self.cells = self._held
        self.base = address_of(self._data)

    def with_cells(self, rows: Numbers, cells: Numbers) -> Lines:
        """The same with other rows and cells."""
        other = copy(self)
        other._held = [self.updates, rows, self.values, cells]
        other.rows, other.cells = rows, cells
        return other

    def work(self) -> Numbers:
        """The numbers that `straight` works with, as far as they are the index's."""
        work = np.zeros(w.SIZE, np.int64)
        work[w.UPDATES : w.CELLS + 1] = [address_of(array) for array in self._held]
        work[w.DATA : w.OFFSETS + 1] = self.base, address_of(self._offsets)
        work[w.ROW_COUNT] = len(self.rows)
        return work


class Table(NamedTuple):
    """A table to find rows of: its number, its columns' places in the form, those of its keys; how many there are."""

    number: int
    slots: Numbers
    key: Numbers
    clustering: Numbers
    columns: int


_KEPT: Final = ((w.OFFSET, np.int64), (w.NUMBER, np.int64), (w.TS, np.int64), (w.TOKEN, np.int64))
_RARE: Final = ((w.EXPIRES, np.int64), (w.TTL, np.int32))
_ARRAYS: Final = (
    w.BAD, w.ENTRY, w.OFFSET, w.NUMBER, w.OP, w.STATIC, w.TS, w.TTL, w.EXPIRES, w.TOKEN, w.LINE, w.SETS, w.ENDS,
)  # fmt: skip
_FIELDS: Final = (UPDATE_FIELDS, ROW_FIELDS, VALUE_FIELDS, CELL_FIELDS)
_BYTES: Final = (w.OP, w.STATIC, w.BAD)


def straight_rows(lines: Lines, table: Table, forced: Numbers, slow: Numbers) -> StraightRows:
    """The rows of the table that are plain; the others of it are marked in `slow`, which has a byte a row.

    `forced`: by entry, whether all its rows are slow.
    """
    rows, columns = len(lines.rows), table.columns
    work = lines.work()
    given = ((w.SLOTS, table.slots), (w.KEY_SLOTS, table.key), (w.CLUSTERING_SLOTS, table.clustering))
    for number, array in (*given, (w.FORCED, forced), (w.SLOW_ROWS, slow)):
        work[number] = address_of(array)
    for number, value in ((w.TABLE, table.number), (w.ROOM, rows)):
        work[number] = value
    work[w.KEY_COUNT], work[w.CLUSTERING_COUNT] = len(table.key), len(table.clustering)
    # What becomes Arrow's memory, what seldom does, and what never does.
    made = _taken(work, [(number, type_, rows) for number, type_ in _KEPT])
    made |= _taken(work, [*((number, type_, rows) for number, type_ in _RARE), (w.ENDS, np.int32, rows + 1)])
    passing: list[_Room] = [(w.ENTRY, np.int64, rows), (w.LINE, np.int64, rows)]
    passing += [(number, np.int32, columns * rows) for number in (w.OFF, w.LENGTH)]
    passing += [(w.SETS, np.int32, len(lines.cells)), *((number, np.uint8, rows) for number in _BYTES)]
    made |= _taken(work, passing)
    made[w.LENGTH].fill(w.ABSENT)
    made[w.BAD].fill(0)
    made[w.TTL].fill(NO_TTL)
    count = w.find_straight(address_of(work))
    facts = work.tolist()
    found: list[Any] = [made[number] for number in _ARRAYS]
    found += [made[number].reshape(columns, rows) for number in (w.OFF, w.LENGTH)]
    found += [Places(facts[w.OFF], facts[w.LENGTH], facts[w.BAD], 4 * rows), facts[w.SEEN_OPS]]
    seen = (w.SEEN_STATIC, w.SEEN_TTL, w.SEEN_NUMBER, w.MIXED, w.SEEN_CELLS)
    found += [*(bool(facts[number]) for number in seen), False]
    return StraightRows._make(found).cut(count)


_Room = tuple[int, Any, int]
"""A number of `work`, the type of its array, how many there are in it."""


def _taken(work: Numbers, rooms: list[_Room]) -> dict[int, Numbers]:
    """One piece of memory for all of the arrays, whose addresses become numbers of `work`; wide types first."""
    sizes = [np.dtype(type_).itemsize * count for _, type_, count in rooms]
    memory = np.empty(sum(sizes), np.uint8)
    base, at = address_of(memory), 0
    made: dict[int, Numbers] = {}
    for (number, type_, _), size in zip(rooms, sizes, strict=True):
        made[number] = memory[at : at + size].view(type_)
        work[number] = base + at
        at += size
    return made
