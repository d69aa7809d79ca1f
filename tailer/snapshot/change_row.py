"""A served row as a change row of the generic form: `op` is `snapshot`, each cell with its own time. Pure.

What `images.served_changes` makes of it is the served row again, and `rebuild` a row like others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final
from uuid import UUID

import msgspec

from tailer.images.facts import Fact
from tailer.images.served import ServedRow
from tailer.images.text import RowText
from tailer.rebuild.changes import OWN, SNAPSHOT, SNAPSHOT_RANGE, token_of
from tailer.rebuild.counters import shard_of
from tailer.rebuild.facts import Kind, Place
from tailer.rebuild.table import DataColumn, Plan
from tailer.rows.batch import Row
from tailer.rows.generic.collections import multi_texts
from tailer.rows.generic.times import Cell, RowTimes, difference
from tailer.scan.index import CELL_EXPIRING
from tailer.snapshot.served_range import ReadRange, range_text
from tailer.types import Shape, quote
from tailer.types.counter import shards_json

FIRST_ROW: Final = 2_000_000
"""Row numbers begin here: behind those of all that an entry can have."""

_LIVE: Final = int(Kind.LIVE)


class SnapshotRows:
    """Of one range of a table. `event`: what its events are called, but for their numbers. `until`: its floor, in µs.
    `node`: one that holds the range, and the `place` to which its log had been read before: a TRUNCATE that comes later
    takes the row."""

    def __init__(self, plan: Plan, event: str, until: int, node: str, place: Place) -> None:
        self._plan = plan
        self._text = RowText(plan)
        definition = plan.table.definition
        self._keyspace, self._table, self._id = definition.keyspace, definition.table, str(UUID(definition.id))
        self._event, self._until, self._node, self._place = event, until, node, place

    def row(self, partition: bytes, served: ServedRow, number: int) -> Row:
        """One row, of a number that no other one of the snapshot has."""
        cells = [fact for fact in served.facts if fact.kind != _LIVE]
        times = _newest(cells, self._until)
        segment, offset = self._place
        columns, differing = self._columns(cells, times)
        clustering = None if served.key == OWN else self._text.clustering(served.clustering)
        write_ts, ttl, expires_at = times
        return (
            self._node, self._keyspace, self._table, self._id, SNAPSHOT,
            "{" + self._text.partition_key(partition) + "}", None if clustering is None else "{" + clustering + "}",
            served.key == OWN, columns, None, write_ts, ttl, expires_at, differing,
            token_of(partition), segment, offset, FIRST_ROW + number, f"{self._event}:{number}", None, None,
        )  # fmt: skip

    def range(self, told: ReadRange, number: int) -> Row:
        """That all rows of a range were told, with the definition that they were read by."""
        segment, offset = self._place
        definition = msgspec.json.encode(self._plan.table.definition).decode()
        return (
            self._node, self._keyspace, self._table, self._id, SNAPSHOT_RANGE,
            None, None, False, definition, range_text(told), None, None, None, None,
            None, segment, offset, FIRST_ROW + number, f"{self._event}:{number}", None, None,
        )  # fmt: skip

    def _columns(self, cells: Sequence[Fact], times: RowTimes) -> tuple[str, str | None]:
        texts, differing = [], []
        for name, facts in groupby(cells, key=attrgetter("column")):
            text, more = _column(self._plan.columns[name], list(facts), times)
            texts.append(f"{quote(name)}:{text}")
            if more:
                differing.append(f"{quote(name)}:{more}")
        return "{" + ",".join(texts) + "}", "{" + ",".join(differing) + "}" if differing else None


def _newest(cells: Sequence[Fact], until: int) -> RowTimes:
    """The times of the newest cell, the first on a tie."""
    newest = max(cells, key=attrgetter("write_ts"), default=None)
    return (until, None, None) if newest is None else (newest.write_ts, newest.ttl, newest.expires_at)


def _column(column: DataColumn, facts: Sequence[Fact], times: RowTimes) -> tuple[str, str]:
    """What `columns` and `cells` have for one column."""
    if column.type.shape is Shape.COUNTER:
        text = shards_json([shard_of(fact.path, fact.value) for fact in facts])
        return text, difference(_cell(facts[0], 0, 0), times)
    if not column.type.complex:
        return column.type.json(facts[0].value), difference(_cell(facts[0], 0, 0), times)
    data, cells = b"".join([fact.path + fact.value for fact in facts]), list(_cells(facts))
    return multi_texts(column.type, cells, data, times)


def _cells(facts: Sequence[Fact]) -> Iterator[Cell]:
    at = 0
    for fact in facts:
        yield _cell(fact, at, at + len(fact.path))
        at += len(fact.path) + len(fact.value)


def _cell(fact: Fact, path: int, value: int) -> Cell:
    """A line of the index that would say it. `path`, `value`: where these stand."""
    expiring = fact.expires_at is not None
    times = [fact.write_ts, fact.ttl or 0, fact.expires_at or 0]
    return [0, CELL_EXPIRING if expiring else 0, *times, path, len(fact.path), value, len(fact.value)]
