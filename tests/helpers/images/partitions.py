"""A partition as a replica has it, which is also the form of an update of one: rows, a static row, and deletions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.helpers.images.rows import Row
from tests.helpers.images.tables import NEVER, Key, ModelTable

Rows = dict[Key, dict[str, Any]]
"""What SELECT shows of a partition: rows that exist by key, and under STATIC the static row where it has a value."""


class Range(NamedTuple):
    """Bounds are prefixes of the clustering values, in clustering order; empty for an open side."""

    start: tuple[int, ...]
    start_inclusive: bool
    end: tuple[int, ...]
    end_inclusive: bool

    def covers(self, key: Key, table: ModelTable) -> bool:
        if isinstance(key, str):
            return False
        mine, start, end = table.ordered(key), table.ordered(self.start), table.ordered(self.end)
        head, tail = mine[: len(start)], mine[: len(end)]
        return (head > start or (head == start and self.start_inclusive)) and (
            tail < end or (tail == end and self.end_inclusive)
        )


@dataclass
class Partition:
    deleted: int = NEVER
    ranges: dict[Range, int] = field(default_factory=dict)
    rows: dict[Key, Row] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.deleted != NEVER or bool(self.ranges or self.rows)

    def merged(self, other: Partition) -> Partition:
        made = Partition(max(self.deleted, other.deleted), dict(self.ranges), dict(self.rows))
        for bounds, ts in other.ranges.items():
            made.ranges[bounds] = max(ts, made.ranges.get(bounds, NEVER))
        for key, row in other.rows.items():
            made.rows[key] = made.rows[key].merged(row) if key in made.rows else row
        return made

    def above(self, key: Key, table: ModelTable) -> int:
        """Until when deletions of several rows take what this row has."""
        return max([self.deleted, *(ts for bounds, ts in self.ranges.items() if bounds.covers(key, table))])

    def compacted(self, table: ModelTable) -> Partition:
        """As compaction or a read leaves it: without what is shadowed."""
        rows = {key: row.compacted(self.above(key, table)) for key, row in self.rows.items()}
        ranges = {bounds: ts for bounds, ts in self.ranges.items() if ts > self.deleted}
        return Partition(self.deleted, ranges, {key: row for key, row in rows.items() if row})

    def after_expiry(self, now: int) -> Partition:
        rows = {key: row.after_expiry(now) for key, row in self.rows.items()}
        return Partition(self.deleted, dict(self.ranges), {key: row for key, row in rows.items() if row})

    def purged(self, table: ModelTable, now: int, gc: int, before: int) -> Partition:
        """As compaction leaves it when the tombstones of timestamps less than `before` are older than `gc` seconds and
        were repaired everywhere.
        """
        held = self.compacted(table)
        rows = {key: row.purged(now, gc, before) for key, row in held.rows.items()}
        ranges = {bounds: ts for bounds, ts in held.ranges.items() if ts >= before}
        deleted = held.deleted if held.deleted >= before else NEVER
        return Partition(deleted, ranges, {key: row for key, row in rows.items() if row})

    def select(self, table: ModelTable, now: int) -> Rows:
        live = {key: row.live(self.above(key, table), key, table, now) for key, row in self.rows.items()}
        return {key: values for key, values in live.items() if values is not None}
