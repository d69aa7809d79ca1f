"""A row as a replica has it, and how two versions of it reconcile (Cells.resolveRegular, LivenessInfo.supersedes,
CounterContext). Knows nothing of logs and facts.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.helpers.images.tables import NEVER, Key, ModelColumn, ModelTable, assembled, raw


@dataclass(frozen=True)
class Cell:
    """A cell, or (without value) a row marker. `dead`: a tombstone."""

    ts: int
    value: Any = None
    dead: bool = False
    ttl: int | None = None
    expires: int | None = None

    def lives(self, now: int) -> bool:
        return not self.dead and (self.expires is None or self.expires > now)


def resolved(left: Cell, right: Cell) -> Cell:
    """The one that wins, as Cassandra 4.0 to 5.0 decide it."""
    if left.ts != right.ts:
        return left if left.ts > right.ts else right
    left_may_die, right_may_die = (cell.dead or cell.expires is not None for cell in (left, right))
    if left_may_die != right_may_die:
        return left if left_may_die else right
    if left.dead != right.dead:
        return left if left.dead else right
    if left.expires is not None and right.expires is not None:
        if left.expires != right.expires:
            return left if left.expires > right.expires else right
        if left.ttl != right.ttl:
            return left if (left.ttl or 0) < (right.ttl or 0) else right
    return left if raw(left.value) >= raw(right.value) else right


@dataclass(frozen=True)
class Shard:
    """One shard of a counter as one write had it."""

    ts: int
    clock: int
    total: int


@dataclass
class Row:
    """`gone`: when non-frozen columns were deleted. `cells`: by column and path; `shards`: by column and id."""

    marker: Cell | None = None
    deleted: int = NEVER
    gone: dict[str, int] = field(default_factory=dict)
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    shards: dict[tuple[str, str], frozenset[Shard]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.marker is not None or self.deleted != NEVER or bool(self.gone or self.cells or self.shards)

    def merged(self, other: Row) -> Row:
        """Both together. Nothing that a deletion shadows is dropped here: `compacted` does."""
        marker = self.marker or other.marker
        if self.marker and other.marker:
            marker = resolved(self.marker, other.marker)
        made = Row(marker, max(self.deleted, other.deleted), dict(self.gone), dict(self.cells), dict(self.shards))
        for column, ts in other.gone.items():
            made.gone[column] = max(ts, made.gone.get(column, NEVER))
        for path, cell in other.cells.items():
            made.cells[path] = resolved(made.cells[path], cell) if path in made.cells else cell
        for path, shards in other.shards.items():
            made.shards[path] = made.shards.get(path, frozenset()) | shards
        return made

    def compacted(self, above: int) -> Row:
        """Without what deletions shadow, of the row or `above` it; a counter's shards in one context."""
        until = max(self.deleted, above)
        made = Row(self.marker if self.marker and self.marker.ts > until else None)
        made.deleted = self.deleted if self.deleted > above else NEVER
        made.gone = {column: ts for column, ts in self.gone.items() if ts > until}
        for (column, path), cell in self.cells.items():
            if cell.ts > max(until, made.gone.get(column, NEVER)):
                made.cells[column, path] = cell
        made.shards = _one_context(self.shards, until, made.cells)
        return made

    def after_expiry(self, now: int) -> Row:
        """With tombstones in the place of what has expired, as compaction makes them; such a marker goes."""
        cells = {
            path: cell if cell.dead or cell.lives(now) else Cell(cell.ts, None, True)
            for path, cell in self.cells.items()
        }
        marker = self.marker if self.marker and self.marker.lives(now) else None
        return Row(marker, self.deleted, dict(self.gone), cells, dict(self.shards))

    def purged(self, now: int, gc: int, before: int) -> Row:
        """Without its tombstones of timestamps less than `before`, and without what expired `gc` seconds ago."""
        cells = {
            path: cell
            for path, cell in self.cells.items()
            if not (cell.dead and cell.ts < before) and not _long_expired(cell, now, gc)
        }
        marker = self.marker if self.marker and not _long_expired(self.marker, now, gc) else None
        gone = {column: ts for column, ts in self.gone.items() if ts >= before}
        return Row(marker, self.deleted if self.deleted >= before else NEVER, gone, cells, dict(self.shards))

    def live(self, above: int, key: Key, table: ModelTable, now: int) -> dict[str, Any] | None:
        """The values of its columns, null ones too; None if the row does not exist."""
        until = max(self.deleted, above)
        values = {column.name: self._value(column, until, table, now) for column in table.shown(key)}
        marked = self.marker is not None and self.marker.ts > until and self.marker.lives(now)
        return values if marked or any(value is not None for value in values.values()) else None

    def _value(self, column: ModelColumn, until: int, table: ModelTable, now: int) -> Any:
        until = max(until, table.void(column.name))
        if column.counter:
            return self._counted(column.name, until)
        until = max(until, self.gone.get(column.name, NEVER))
        alive = {path: cell.value for path, cell in self._of(column.name) if cell.ts > until and cell.lives(now)}
        return assembled(column, alive) if column.complex else alive.get("")

    def _counted(self, column: str, until: int) -> int | None:
        tombstone = self.cells.get((column, ""))
        if tombstone is not None and tombstone.ts > until:
            return None
        newest = [
            max(held, key=lambda shard: (shard.clock, shard.total)).total
            for (name, _), shards in self.shards.items()
            if name == column and (held := [shard for shard in shards if shard.ts > until])
        ]
        return sum(newest) if newest else None

    def _of(self, column: str) -> Iterator[tuple[str, Cell]]:
        return ((path, cell) for (name, path), cell in self.cells.items() if name == column)


def _long_expired(cell: Cell, now: int, gc: int) -> bool:
    return cell.expires is not None and cell.expires + gc < now


def _one_context(
    shards: Mapping[tuple[str, str], Iterable[Shard]], until: int, cells: Container[tuple[str, str]]
) -> dict[tuple[str, str], frozenset[Shard]]:
    """A counter's newest shards as one cell, whose timestamp is the newest of them; a tombstone beats them all."""
    contexts: dict[str, dict[str, Shard]] = {}
    for (column, shard), held in shards.items():
        standing = [each for each in held if each.ts > until]
        if standing and (column, "") not in cells:
            newest = max(standing, key=lambda each: (each.clock, each.total, each.ts))
            contexts.setdefault(column, {})[shard] = newest
    made = {}
    for column, newest_of in contexts.items():
        ts = max(each.ts for each in newest_of.values())
        for shard, each in newest_of.items():
            made[column, shard] = frozenset({Shard(ts, each.clock, each.total)})
    return made
