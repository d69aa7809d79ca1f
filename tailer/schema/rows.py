"""Rows of `system_schema` as values: one delta per changed row, and what a row becomes when deltas meet.

Knows last-write-wins and nothing of tables or types: what the cells mean is `derive`'s business, where the
rows came from (a log, a CQL file, a live server) is said by whoever made the deltas.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

Value = str | int | bool | list[str] | None
"""A decoded cell: text, int, boolean, list (a set too, in the server's order); uuid and blob are hex digits."""

Cell = tuple[int, Value]
"""Write timestamp (µs) and value; None is a deleted cell."""

BASE_TS: Final = -(2**63)
"""The timestamp of a base (CQL file, live server): older than any row of a log (architecture section 5)."""

TRACKED: Final[Mapping[str, Mapping[str, str]]] = {
    "tables": {"id": "uuid", "cdc": "boolean", "flags": "frozen<set<text>>", "gc_grace_seconds": "int"},
    "views": {"id": "uuid", "cdc": "boolean", "gc_grace_seconds": "int"},
    "columns": {
        "kind": "text",
        "position": "int",
        "type": "text",
        "clustering_order": "text",
        "column_name_bytes": "blob",
    },
    "dropped_columns": {"kind": "text", "type": "text", "dropped_time": "timestamp"},
    "types": {"field_names": "frozen<list<text>>", "field_types": "frozen<list<text>>"},
    "keyspaces": {"durable_writes": "boolean"},
}
"""The tables of `system_schema` that decide a definition, and their columns that matter (format page 9.2).

`gc_grace_seconds` is in no definition: no row is read by it (`follow.SchemaState.gc_grace`). Neither is
`durable_writes`: it says whether changes reach the log at all (`follow.SchemaState.not_durable`).
"""

IGNORED_KEYSPACES: Final = frozenset({"system", "system_schema"})
"""Every start of a server writes the definitions of these again; ours are built in."""


class RangeDeletion(msgspec.Struct, frozen=True):
    """Rows from `start` to `end`, each a prefix of the clustering; an empty one is an open side."""

    start: tuple[str, ...]
    start_inclusive: bool
    end: tuple[str, ...]
    end_inclusive: bool
    ts: int

    def covers(self, clustering: tuple[str, ...]) -> bool:
        head, tail = clustering[: len(self.start)], clustering[: len(self.end)]
        after = head > self.start or (head == self.start and (self.start_inclusive or not self.start))
        before = tail < self.end or (tail == self.end and (self.end_inclusive or not self.end))
        return after and before


class SchemaDelta(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change of one row, partition or range of `system_schema.<table>`; timestamps in µs.

    `clustering` is empty for a partition deletion and for a range.
    """

    table: str
    keyspace: str
    clustering: tuple[str, ...] = ()
    cells: dict[str, Cell] = {}
    liveness: int | None = None
    row_deletion: int | None = None
    partition_deletion: int | None = None
    range: RangeDeletion | None = None


def put(table: str, keyspace: str, clustering: Iterable[str], values: Mapping[str, Value], ts: int) -> SchemaDelta:
    """A row with all its cells written at `ts`; absent (None) values give no cell."""
    cells: dict[str, Cell] = {name: (ts, value) for name, value in values.items() if value is not None}
    return SchemaDelta(table, keyspace, tuple(clustering), cells, liveness=ts)


class Row:
    """A row as all deltas so far make it.

    Deleted cells keep their value: the type of a dropped column is read from them.
    """

    __slots__ = ("cells", "deletion", "liveness")

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}
        self.liveness: int | None = None
        self.deletion: int | None = None

    def delete(self, ts: int) -> None:
        self.deletion = ts if self.deletion is None else max(self.deletion, ts)

    def merge(self, delta: SchemaDelta) -> None:
        if delta.row_deletion is not None:
            self.delete(delta.row_deletion)
        if delta.liveness is not None:
            self.liveness = delta.liveness if self.liveness is None else max(self.liveness, delta.liveness)
        for name, cell in delta.cells.items():
            held = self.cells.get(name)
            if held is None or _wins(cell, held):
                self.cells[name] = cell

    def join(self, other: Row) -> None:
        """Merge all that another row of the same key holds."""
        if other.deletion is not None:
            self.delete(other.deletion)
        self.merge(SchemaDelta("", "", (), other.cells, other.liveness))

    def live_above(self, deletion: int | None) -> bool:
        """Whether the row exists under a deletion of this timestamp too."""
        if deletion is None:
            return self.live
        marked = self.liveness is not None and self.liveness > deletion and not self._covered(self.liveness)
        cells = ((ts, value) for ts, value in self.cells.values() if ts > deletion)
        return marked or any(value is not None and not self._covered(ts) for ts, value in cells)

    @property
    def live(self) -> bool:
        """Whether the row exists: its marker or one of its cells is newer than its deletion."""
        if self.liveness is not None and not self._covered(self.liveness):
            return True
        return any(value is not None and not self._covered(ts) for ts, value in self.cells.values())

    @property
    def newest(self) -> int:
        """The highest timestamp of anything in the row."""
        known = [ts for ts, _ in self.cells.values()]
        known += [ts for ts in (self.liveness, self.deletion) if ts is not None]
        return max(known, default=BASE_TS)

    def value(self, name: str) -> Value:
        """The live value of a cell, None if there is none."""
        ts, value = self.cells.get(name, (BASE_TS, None))
        return None if self._covered(ts) else value

    def last(self, name: str) -> Value:
        """The last value written to a cell, be it deleted with its row since."""
        return self.cells.get(name, (BASE_TS, None))[1]

    def _covered(self, ts: int) -> bool:
        return self.deletion is not None and ts <= self.deletion


def _wins(cell: Cell, held: Cell) -> bool:
    """Architecture section 4: higher timestamp, then tombstone, then the greater bytes. Between bases the later one."""
    if cell[0] != held[0]:
        return cell[0] > held[0]
    if cell[0] == BASE_TS:
        return True
    if cell[1] is None or held[1] is None:
        return cell[1] is None
    return _bytes(cell[1]) > _bytes(held[1])


def _bytes(value: Value) -> bytes:
    """The value's serialised bytes, as far as their order goes (format page 6)."""
    match value:
        case None:
            return b""
        case bool():
            return b"\x01" if value else b"\x00"
        case int():
            return value.to_bytes(8, "big", signed=True)
        case str():
            return value.encode("utf-8")
        case list():
            items = [item.encode("utf-8") for item in value]
            return struct.pack(">i", len(items)) + b"".join(struct.pack(">i", len(item)) + item for item in items)
