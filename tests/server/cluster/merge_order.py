"""Which images there must be of what a workload wrote, told from the order in which its copies were merged.

A plain model of last-write-wins over rows as a reader gave them, for tables without static columns, TTLs, counters and
collections: facts by their timestamps, of which no two writes have the same. Knows nothing of how images are made.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from tailer.position import Position
from tests.oracle.jsontext import dumps

Row = Mapping[str, Any]
MARKER = ""
NEVER = -(2**63)


class Effect(NamedTuple):
    """A row, by its table and its keys as text, and the newest timestamp of what an entry did to it."""

    table: str
    partition: str
    clustering: str
    write_ts: int


class Effects(NamedTuple):
    """`must`: what changed what a reader of the table sees, each in one image. `may`: what else took effect."""

    must: list[Effect]
    may: list[Effect]


@dataclass
class _Row:
    gone: int = NEVER
    cells: dict[str, tuple[int, Any]] = field(default_factory=dict)


@dataclass
class _Partition:
    gone: int = NEVER
    ranges: dict[str, tuple[Row, int]] = field(default_factory=dict)
    rows: dict[str, _Row] = field(default_factory=dict)
    keys: dict[str, Row] = field(default_factory=dict)

    def covered(self, key: str) -> int:
        """The timestamp of the newest deletion of a row."""
        over = [ts for bounds, ts in self.ranges.values() if _within(self.keys[key], bounds)]
        return max([self.gone, self.rows[key].gone, *over])

    def visible(self, key: str) -> dict[str, Any] | None:
        """What a reader of the table sees of a row; None where it is not there."""
        gone = self.covered(key)
        cells = {name: value for name, (ts, value) in self.rows[key].cells.items() if ts > gone and value is not None}
        return cells or None


def entries_in_order(rows: Iterable[Row], merged: Iterable[Mapping[str, Position]]) -> Iterator[list[Row]]:
    """The rows of one entry after the other, as they were merged; those that were not are left out.

    `merged`: one after the other, up to which place which nodes' logs were, of several nodes by their names.
    """
    logs: dict[str, list[Row]] = {}
    place: Callable[[Row], Any] = itemgetter("segment", "offset")
    for row in sorted(rows, key=itemgetter("node", "segment", "offset", "row")):
        logs.setdefault(row["node"], []).append(row)
    waiting = {node: iter([list(entry) for _, entry in groupby(held, place)]) for node, held in logs.items()}
    heads = {node: next(entries) for node, entries in waiting.items()}
    for ends in merged:
        for node in sorted(ends):
            while node in heads and place(heads[node][0]) < ends[node]:
                yield heads.pop(node)
                following = next(waiting[node], None)
                if following is not None:
                    heads[node] = following


def effects(entries: Iterable[Sequence[Row]], tables: Container[str]) -> Effects:
    """What entries do to tables that are neither truncated nor lose columns, merged one after the other."""
    partitions: dict[tuple[str, str], _Partition] = {}
    told = Effects([], [])
    for entry in entries:
        units: dict[tuple[str, str], list[Row]] = {}
        for row in entry:
            table = f"{row['keyspace']}.{row['table']}"
            if table in tables and row["partition_key"] is not None:
                units.setdefault((table, dumps(row["partition_key"])), []).append(row)
        for (table, name), unit in units.items():
            part = partitions.setdefault((table, name), _Partition())
            changed, other = _merge(part, unit)
            told.must.extend(Effect(table, name, key, ts) for key, ts in changed.items())
            told.may.extend(Effect(table, name, key, ts) for key, ts in other.items())
    return told


def _merge(part: _Partition, unit: Sequence[Row]) -> tuple[dict[str, int], dict[str, int]]:
    """By row the newest timestamp of what took effect: where what is seen changed, and where not."""
    for row in unit:
        if row["clustering"] is not None or row["op"] in {"insert", "update"}:
            key = dumps(row["clustering"])
            part.rows.setdefault(key, _Row())
            part.keys[key] = row["clustering"] or {}
    before = {key: part.visible(key) for row in unit for key in _reached(part, row)}
    newest: dict[str, int] = {}

    def note(key: str, ts: int) -> None:
        newest[key] = max(newest.get(key, NEVER), ts)

    for row in unit:
        for key in _deleted(part, row):
            note(key, row["write_ts"])
    for row in unit:
        key = dumps(row["clustering"])
        for name, ts, value in _cells(row):
            held = part.rows[key].cells.get(name, (NEVER, None))[0]
            if ts > max(held, part.covered(key)):
                part.rows[key].cells[name] = ts, value
                note(key, ts)
    changed = {key: ts for key, ts in newest.items() if part.visible(key) != before[key]}
    return changed, {key: ts for key, ts in newest.items() if key not in changed}


def _reached(part: _Partition, row: Row) -> list[str]:
    """The rows to which a change row may do something."""
    match row["op"]:
        case "delete_range":
            return [key for key, clustering in part.keys.items() if _within(clustering, row["range"])]
        case "delete_partition":
            return list(part.rows)
        case _:
            return [dumps(row["clustering"])]


def _deleted(part: _Partition, row: Row) -> list[str]:
    """Take in a deletion: the rows for which it is newer than those before it."""
    if not row["op"].startswith("delete_"):
        return []
    ts, over = row["write_ts"], _reached(part, row)
    found = [key for key in over if ts > part.covered(key)]
    match row["op"]:
        case "delete_row":
            held = part.rows[over[0]]
            held.gone = max(held.gone, ts)
        case "delete_range":
            # Of many of the same rows the newest counts.
            bounds = dumps(row["range"])
            part.ranges[bounds] = row["range"], max(ts, part.ranges.get(bounds, (None, NEVER))[1])
        case _:
            part.gone = max(part.gone, ts)
    return found


def _cells(row: Row) -> Iterator[tuple[str, int, Any]]:
    if row["op"] not in {"insert", "update"}:
        return
    if row["op"] == "insert":
        yield MARKER, row["write_ts"], True
    own = row["cells"] or {}
    for name, value in (row["columns"] or {}).items():
        yield name, own.get(name, {}).get("write_ts", row["write_ts"]), value


def _within(clustering: Row, bounds: Row) -> bool:
    """Whether a row is in a range of its first clustering column."""
    for name, value in bounds["start"].items():
        if clustering[name] < value or (clustering[name] == value and not bounds["start_inclusive"]):
            return False
    for name, value in bounds["end"].items():
        if clustering[name] > value or (clustering[name] == value and not bounds["end_inclusive"]):
            return False
    return True
