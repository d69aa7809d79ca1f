"""What the reader gives of a log entry: change rows of the generic form (docs/change-rows.md), made of updates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.helpers.images.partitions import Partition, Range
from tests.helpers.images.rows import Cell, Row, Shard
from tests.helpers.images.tables import NEVER, STATIC, Key, ModelColumn, ModelTable

Update = tuple[int, Partition]
"""Of which partition, and what."""


@dataclass(frozen=True)
class Entry:
    """One entry of a node's log. `at`: the second in which it was logged. `truncates`: it is a TRUNCATE, of what was
    logged below the offset `before`.
    """

    node: str
    segment: int
    offset: int
    at: int
    updates: tuple[Update, ...] = ()
    truncates: bool = False
    before: int = 0

    def rows(self, table: ModelTable) -> list[dict[str, Any]]:
        """Its change rows, as a batch's `to_pylist` has them. The table as it was when the entry was logged."""
        if self.truncates:
            before = {"segment": self.segment, "offset": self.before}
            made = [_change("truncate", range=_json({"before": before}))]
        else:
            made = [row for k, update in self.updates for row in _partition(k, update, table)]
        return [self._placed(number, row, table) for number, row in enumerate(made)]

    def _placed(self, number: int, row: dict[str, Any], table: ModelTable) -> dict[str, Any]:
        place = {"node": self.node, "segment": self.segment, "offset": self.offset, "row": number}
        event = f"{self.node}:{self.segment}:{self.offset}:{number}"
        return {**row, **place, "event_id": event, "keyspace": "ks", "table": table.name, "table_id": table.id}


_NULL = (
    "partition_key", "clustering", "columns", "range", "write_ts", "ttl", "expires_at", "cells", "token", "txn",
    "attrs",
)  # fmt: skip


TOKENS = {1: -4069959284402364209, 2: -3248873570005575792}
"""As a server gave them for these keys."""


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _change(op: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "is_static": False, **dict.fromkeys(_NULL), **more}


def _partition(k: int, update: Partition, table: ModelTable) -> Iterator[dict[str, Any]]:
    """In the order of a log: the deletion, the static row, then rows and ranges."""
    at = {"partition_key": _json({"k": k}), "token": TOKENS[k]}
    if update.deleted != NEVER:
        yield _change("delete_partition", write_ts=update.deleted, **at)
    keys = sorted(update.rows, key=lambda key: (key != STATIC, () if isinstance(key, str) else table.ordered(key)))
    for key in keys:
        yield from (change | at for change in _row(key, update.rows[key], table))
    for bounds, ts in update.ranges.items():
        yield _change("delete_range", range=_json(_bounds(bounds, table)), write_ts=ts, **at)


def _bounds(bounds: Range, table: ModelTable) -> dict[str, Any]:
    names = [name for name, _ in table.clustering]
    start, end = (dict(zip(names, values, strict=False)) or None for values in (bounds.start, bounds.end))
    return {
        "start": start,
        "start_inclusive": bounds.start_inclusive,
        "end": end,
        "end_inclusive": bounds.end_inclusive,
    }


def _row(key: Key, row: Row, table: ModelTable) -> Iterator[dict[str, Any]]:
    where: dict[str, Any] = {"is_static": True} if isinstance(key, str) else {}
    if table.clustering and not isinstance(key, str):
        where["clustering"] = _json(dict(zip([name for name, _ in table.clustering], key, strict=True)))
    if row.deleted != NEVER:
        yield _change("delete_row", write_ts=row.deleted, **where)
    if row.marker is None and not (row.cells or row.gone or row.shards):
        return
    stamp = _stamp(row, table)
    times = {"write_ts": stamp.ts, "ttl": stamp.ttl, "expires_at": stamp.expires}
    columns, cells = _columns(row, stamp, table)
    op = "insert" if row.marker else "update"
    yield _change(op, columns=_json(columns), cells=_json(cells) if cells else None, **times, **where)


def _stamp(row: Row, table: ModelTable) -> Cell:
    """The row's times: of the marker, else of its newest data, else of the newest deletion."""
    if row.marker:
        return row.marker
    order = {column.name: number for number, column in enumerate(_as_logged(table))}
    ordered = sorted(row.cells.items(), key=lambda item: (order[item[0][0]], item[0][1]))
    data = [cell for _, cell in ordered if not cell.dead]
    data += [Cell(each.ts) for shards in row.shards.values() for each in shards]
    dead = [Cell(ts) for ts in row.gone.values()] + [Cell(cell.ts) for _, cell in ordered if cell.dead]
    return max(data or dead, key=lambda cell: cell.ts)


def _as_logged(table: ModelTable) -> list[ModelColumn]:
    """Its columns in the order of a log: simple before complex, then by name."""
    return sorted(table.columns, key=lambda column: (column.complex, column.name))


def _columns(row: Row, stamp: Cell, table: ModelTable) -> tuple[dict[str, Any], dict[str, Any]]:
    columns: dict[str, Any] = {}
    cells: dict[str, Any] = {}
    touched = {name for name, _ in [*row.cells, *row.shards]} | set(row.gone)
    for column in _as_logged(table):
        if column.name not in touched:
            continue
        own: dict[str, Any]
        if column.complex:
            columns[column.name], own = _elements(column, row, stamp)
        elif (column.name, "") in row.cells:
            cell = row.cells[column.name, ""]
            columns[column.name], own = (None if cell.dead else cell.value), _differing(cell, stamp)
        else:
            columns[column.name], own = _counter(column, row, stamp)
        if own:
            cells[column.name] = own
    return columns, cells


def _differing(cell: Cell, stamp: Cell) -> dict[str, Any]:
    mine = {"write_ts": cell.ts}
    if not cell.dead:
        mine |= {"ttl": cell.ttl, "expires_at": cell.expires}
    theirs = {"write_ts": stamp.ts, "ttl": stamp.ttl, "expires_at": stamp.expires}
    return {name: value for name, value in mine.items() if value != theirs[name]}


def _counter(column: ModelColumn, row: Row, stamp: Cell) -> tuple[Any, dict[str, Any]]:
    """One cell has one timestamp: the model's entries have one version of each shard, all of one time."""
    shards = {shard: held for (name, shard), held in row.shards.items() if name == column.name}
    told = [
        {"shard": shard, "kind": "global", "clock": each.clock, "total": each.total} for shard, each in _all(shards)
    ]
    (ts,) = {each.ts for held in shards.values() for each in held}
    return told, _differing(Cell(ts), stamp)


def _all(shards: dict[str, frozenset[Shard]]) -> Iterator[tuple[str, Shard]]:
    return ((shard, each) for shard in sorted(shards) for each in shards[shard])


def _elements(column: ModelColumn, row: Row, stamp: Cell) -> tuple[Any, dict[str, Any]]:
    own: dict[str, Any] = {}
    mine = {path: cell for (name, path), cell in sorted(row.cells.items()) if name == column.name}
    gone = row.gone.get(column.name)
    if gone is not None and gone != stamp.ts - bool(mine):
        own["deleted_ts"] = gone
    if not mine:
        return None, own
    value: dict[str, Any] = {"replaced": gone is not None}
    put = {path: cell.value for path, cell in mine.items() if not cell.dead}
    if put:
        value["put"] = _put(column, put)
    removed = [_named(column, path) for path, cell in mine.items() if cell.dead]
    if removed:
        value["removed"] = removed
    elements = [[_named(column, path), diff] for path, cell in mine.items() if (diff := _differing(cell, stamp))]
    if elements:
        own["elements"] = elements
    return value, own


def _put(column: ModelColumn, put: dict[str, Any]) -> Any:
    if column.type == "set<int>":
        return [int(path) for path in put]
    return [[path, value] for path, value in put.items()] if column.type == "list<int>" else put


def _named(column: ModelColumn, path: str) -> Any:
    return int(path) if column.type == "set<int>" else path


def rows_of(entries: Sequence[Entry], table: ModelTable) -> list[dict[str, Any]]:
    return [row for entry in entries for row in entry.rows(table)]
