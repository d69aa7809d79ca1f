"""Merged rows of `system_schema` → the definition of one table. Pure; remembers nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple, cast, get_args

from tailer.schema.merge import Base, KeyspaceRows
from tailer.schema.model import Column, ColumnKind, TableDefinition, TypeField
from tailer.schema.rows import BASE_TS, Cell, Row, Value
from tailer.schema.usertypes import Lookup, closure, resolvable

_KINDS: Final = cast(tuple[ColumnKind, ...], get_args(ColumnKind))
_DATA_KINDS: Final = ("static", "regular")
_NOW_US: Final = 60_000_000
"""DROP without a timestamp gives the column the time of now, and its row is written that much later at most."""


class _Layered(NamedTuple):
    """A row of the log and the same row of a base; either may be missing. The cell with the higher timestamp wins.

    `deletion`: of the log, over the base's row: it covers the cells with lower or equal timestamps.
    """

    log: Row | None
    base: Row | None
    deletion: int | None

    @property
    def live(self) -> bool:
        return (self.log is not None and self.log.live) or (
            self.base is not None and self.base.live_above(self.deletion)
        )

    @property
    def hidden(self) -> bool:
        """Whether the base's row is deleted."""
        return self.base is not None and not self.base.live_above(self.deletion)

    def value(self, name: str) -> Value:
        logged = self.log.value(name) if self.log is not None else None
        given = self._given(name)
        if given is None or (logged is not None and self._logged_at(name) >= given[0]):
            return logged
        return given[1]

    def last(self, name: str) -> Value:
        logged = self.log.last(name) if self.log is not None else None
        given = self.base.cells.get(name) if self.base is not None else None
        if given is None or (logged is not None and self._logged_at(name) >= given[0]):
            return logged
        return given[1]

    def written(self, name: str) -> int:
        """The timestamp of the cell that `value` gives."""
        given = self._given(name)
        return max(self._logged_at(name), given[0] if given is not None else BASE_TS)

    def _logged_at(self, name: str) -> int:
        return self.log.cells.get(name, (BASE_TS, None))[0] if self.log is not None else BASE_TS

    def _given(self, name: str) -> Cell | None:
        cell = self.base.cells.get(name) if self.base is not None else None
        if cell is None or self.base is None or self.base.value(name) is None:
            return None
        return cell if self.deletion is None or cell[0] > self.deletion else None


def definition(keyspace: str, name: str, id: str, rows: KeyspaceRows, base: Base | None) -> TableDefinition | None:
    """The table's definition as the rows tell it; None while its key columns are not all known.

    `base` is what a file or server told of this very id. `id` is 32 hex digits.
    """
    lookup = types_of(rows)
    columns = _columns(name, rows, base, lookup)
    if not _whole(columns):
        return None
    view = _is_view(name, rows, base)
    heading = layered_heading("views" if view else "tables", name, rows, base)
    flags = heading.value("flags")
    return TableDefinition(
        id=id,
        keyspace=keyspace,
        table=name,
        columns=columns,
        cdc=heading.value("cdc") is True,
        view=view,
        counter=(isinstance(flags, list) and "counter" in flags) or any(column.type == "counter" for column in columns),
        types=closure((column.type for column in columns), lookup),
    )


def gc_grace_of(derived: TableDefinition, rows: KeyspaceRows, base: Base | None) -> int | None:
    """How many seconds the server keeps the deletions of a table or view; None where nothing tells."""
    heading = layered_heading("views" if derived.view else "tables", derived.table, rows, base)
    seconds = heading.value("gc_grace_seconds")
    return seconds if isinstance(seconds, int) else None


def column_ages(name: str, rows: KeyspaceRows) -> dict[str, int]:
    """When the log wrote each column of a table: ALTER TABLE writes only those that it adds."""
    written = {column: row.cells.get("position") for column, row in rows.named("columns", name).items()}
    return {column: cell[0] for column, cell in written.items() if cell is not None}


def layered_heading(table: str, name: str, rows: KeyspaceRows, base: Base | None) -> _Layered:
    """The table's row of `tables` or `views`."""
    under = base.row if base is not None and base.heading == table else None
    return _Layered(rows.heading(table, name), under, rows.deletion_over(table, (name,)))


def types_of(rows: KeyspaceRows) -> Lookup:
    """Fields of a type by its name. A dropped type keeps its last ones: dropped columns and tables still need them."""

    def lookup(name: str) -> tuple[TypeField, ...] | None:
        row = rows.type_row(name)
        names, types = (row.last("field_names"), row.last("field_types")) if row is not None else (None, None)
        if not isinstance(names, list) or not isinstance(types, list) or len(names) != len(types):
            return None
        return tuple(TypeField(field, text) for field, text in zip(names, types, strict=True))

    return lookup


def _is_view(name: str, rows: KeyspaceRows, base: Base | None) -> bool:
    table = rows.heading("tables", name)
    if table is not None and table.live:
        return False
    view = rows.heading("views", name)
    return (view is not None and view.live) or (base is not None and base.heading == "views")


def _columns(name: str, rows: KeyspaceRows, base: Base | None, lookup: Lookup) -> tuple[Column, ...]:
    live_rows = _layers("columns", name, rows, base)
    drops = _layers("dropped_columns", name, rows, base)
    chosen: list[tuple[Column, int]] = []
    for column in sorted(live_rows.keys() | drops.keys()):
        row, drop = live_rows.get(column), drops.get(column)
        drop = drop if drop is not None and drop.live else None
        live = row is not None and row.live
        if row is not None and drop is not None and live:
            live, drop = _reconciled(row, drop)
        found = _live(column, row, drop) if row is not None and live else _dropped(column, row, drop, lookup)
        if found is not None:
            chosen.append((found, row.written("position") if row is not None else BASE_TS))
    return tuple(sorted(_newest_keys(chosen), key=_order))


def _reconciled(row: _Layered, drop: _Layered) -> tuple[bool, _Layered | None]:
    """Of a column that has a row in `columns` and one in `dropped_columns`: whether it lives, and the drop that counts.

    DROP writes the row of `dropped_columns`, and ADD the row of `columns`: the later one decides. A row that a file
    gave has no time of its own. It counts against a column of the log where it says that the drop came before the ADD.
    """
    added, dropped = row.written("position"), drop.written("dropped_time")
    if dropped > added:
        return False, drop
    if dropped == BASE_TS < added:
        time = drop.value("dropped_time")
        return True, drop if isinstance(time, int) and time < added else None
    return True, drop


def _layers(table: str, name: str, rows: KeyspaceRows, base: Base | None) -> dict[str, _Layered]:
    log = rows.named(table, name)
    under = base.columns[table] if base is not None else {}
    return {
        column: _Layered(log.get(column), under.get(column), rows.deletion_over(table, (name, column)))
        for column in log.keys() | under.keys()
    }


def _live(name: str, row: _Layered, drop: _Layered | None) -> Column | None:
    kind, text, position = row.value("kind"), row.value("type"), row.value("position")
    if kind not in _KINDS or not isinstance(text, str) or not isinstance(position, int):
        return None
    return Column(
        name=name,
        kind=kind,
        type=text,
        position=position,
        desc=row.value("clustering_order") == "desc",
        dropped_time=_dropped_time(drop),
        raw=_raw(name, row.value("column_name_bytes")),
        added_time=_added_time(row, drop),
        dropped_at=_dropped_at(drop),
    )


def _dropped(name: str, row: _Layered | None, drop: _Layered | None, lookup: Lookup) -> Column | None:
    """A dropped data column, with the type it was last seen with; `dropped_columns` knows user types as tuples only."""
    kind, text = (row.last("kind"), row.last("type")) if row is not None else (None, None)
    if drop is not None and (kind is None or not isinstance(text, str) or not resolvable(text, lookup)):
        kind, text = drop.value("kind"), drop.value("type")
    # A key column whose row is gone was renamed, not dropped; entries do not carry its name.
    if kind not in _DATA_KINDS or not isinstance(text, str):
        return None
    raw = _raw(name, row.last("column_name_bytes")) if row is not None else ""
    return Column(
        name,
        cast(ColumnKind, kind),
        text,
        dropped=True,
        dropped_time=_dropped_time(drop),
        raw=raw,
        dropped_at=_dropped_at(drop),
    )


def _dropped_time(drop: _Layered | None) -> int | None:
    time = drop.value("dropped_time") if drop is not None else None
    return time if isinstance(time, int) else None


def _dropped_at(drop: _Layered | None) -> int | None:
    """When DROP wrote its row, where that is not about the time that it gave the column."""
    time, written = _dropped_time(drop), drop.written("dropped_time") if drop is not None else BASE_TS
    return written if time is not None and written > BASE_TS and abs(written - time) > _NOW_US else None


def _added_time(row: _Layered, drop: _Layered | None) -> int | None:
    added = row.written("position")
    return added if added > BASE_TS and _dropped_time(drop) is not None else None


def _raw(name: str, digits: Value) -> str:
    return digits if isinstance(digits, str) and digits != name.encode().hex() else ""


def _newest_keys(columns: Iterable[tuple[Column, int]]) -> Iterable[Column]:
    """Of two key columns at one place the one written last: a base knows a renamed column by its new name too early."""
    newest: dict[tuple[str, int], tuple[Column, int]] = {}
    for column, written in columns:
        if column.kind in _DATA_KINDS:
            yield column
            continue
        held = newest.get((column.kind, column.position))
        if held is None or written > held[1]:
            newest[column.kind, column.position] = (column, written)
    yield from (column for column, _ in newest.values())


def _order(column: Column) -> tuple[bool, int, int, bytes]:
    """As `SELECT *`: partition key, clustering, static, regular, the data columns by name; dropped ones last."""
    return column.dropped, _KINDS.index(column.kind), column.position, column.name.encode()


def _whole(columns: tuple[Column, ...]) -> bool:
    positions = Counter((column.kind, column.position) for column in columns if column.kind not in _DATA_KINDS)
    counts = Counter(kind for kind, _ in positions)
    return counts["partition_key"] > 0 and all(place < counts[kind] for kind, place in positions)
