"""The facts of one log entry for one partition, merged into its state: the images of what they did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tailer.images.chain import Cause, changed_of, deletion_image, op_of, op_unless_same, row_image
from tailer.images.facts import Copies, Fact, Facts
from tailer.images.image import Image
from tailer.images.marks import Mark, Marks, marked, vouches
from tailer.images.packed import Row
from tailer.images.partition import BEHIND_ROWS, Partition, View
from tailer.images.standing import Standing, standing
from tailer.rebuild.changes import OWN, ROWS, Changed
from tailer.rebuild.facts import Kind

_OF_MANY = (Kind.RANGE_GONE, Kind.PARTITION_GONE)


@dataclass(slots=True)
class _Told:
    """What a unit says of one row, or of the partition as a whole."""

    first: Mapping[str, Any]
    clustering: bytes = b""
    facts: dict[Fact, Mapping[str, Any]] = field(default_factory=dict)
    marks: dict[Fact, Mark] = field(default_factory=dict)


class _Deletions(NamedTuple):
    """Of the header's deletions those that took effect, and the stretches of rows whose cover is another now."""

    effective: list[Fact]
    stretches: list[tuple[bytes, bytes]]


class Merged(NamedTuple):
    """`effects`: the facts that took effect, each with its row's key."""

    images: list[Image]
    effects: list[tuple[bytes, Fact]]


class Unit:
    """One entry's change rows of `part`, one partition. `node`: the number of the node that logged them. `copies`: the
    marks of those who logged the very same."""

    def __init__(
        self,
        part: Partition,
        told: Iterable[tuple[Mapping[str, Any], Changed]],
        node: int,
        now_us: int,
        copies: Marks = (),
    ) -> None:
        self.part = part
        self._now_us = now_us
        self._copies = copies
        self._told: dict[bytes, _Told] = {}
        self._made = Merged([], [])
        for change, made in told:
            if not made.facts:
                continue
            of_row = self._told.get(made.row)
            if of_row is None:
                of_row = self._told[made.row] = _Told(change, made.facts[0].stamp.clustering)
            for each in made.facts:
                fact, mark = Fact.of(each), Mark(node, each.stamp.place)
                of_row.facts.setdefault(fact, change)
                of_row.marks[fact] = max(mark, of_row.marks.get(fact, mark))

    def merge(self) -> Merged:
        """Merge them."""
        part = self.part
        own = self._told.pop(OWN, None)
        told = {key: of_row for key, of_row in self._told.items() if self._is_news(part.row(key), of_row)}
        for key, of_row in told.items():
            self._begin(part.row(key), of_row)
        if own is None or not self._is_news(part.header, own):
            for key in sorted(told):
                row = part.row(key)
                if not self._is_marked(row, told[key]):
                    self._merge_row(row, part.view(row), told[key], ())
            return self._made
        header = part.header
        facts, new = self._added(header.facts, own)
        stands = standing(facts, (), part.table.plan)
        deletions = self._deletions(own, stands, new)
        rows = {row.key: row for stretch in deletions.stretches for row in part.between(*stretch)}
        rows |= {key: part.row(key) for key in told}
        before = {key: part.view(row) for key, row in rows.items()}
        self._merge_header(own, facts, new, deletions)
        for key in sorted(rows):
            self._merge_row(rows[key], before[key], told.get(key), deletions.effective, own)
        return self._made

    def _is_news(self, row: Row, told: _Told) -> bool:
        """Whether there is a fact that the state does not have of these nodes, or only of older places."""
        known = row.facts
        return any(
            fact not in known or not all(vouches(known[fact].marks, each) for each in (mark, *self._copies))
            for fact, mark in told.marks.items()
        )

    def _is_marked(self, row: Row, told: _Told) -> bool:
        """Marks facts of which none is new, where no other fact stands beneath them: nothing else comes of it."""
        known = row.facts
        if len(row.visible) != len(known) or any(fact not in known for fact in told.facts):
            return False
        for fact, mark in told.marks.items():
            known[fact] = known[fact]._replace(marks=self._marked(known[fact].marks, mark))
        row.placed = self.part.at
        return True

    def _added(self, known: Facts, told: _Told | None) -> tuple[Facts, set[Fact]]:
        """What is known and what is told together, and the facts of it that are new."""
        together, new = dict(known), set()
        for fact, mark in told.marks.items() if told is not None else ():
            copies = together.get(fact)
            if copies is None:
                new.add(fact)
                together[fact] = Copies(self._marked((), mark), self.part.at)
            else:
                together[fact] = copies._replace(marks=self._marked(copies.marks, mark))
        return together, new

    def _marked(self, marks: Marks, mark: Mark) -> Marks:
        """With the unit's own mark, and those of its copies."""
        for each in self._copies:
            marks = marked(marks, each)
        return marked(marks, mark)

    def _deletions(self, own: _Told, stands: Standing, new: set[Fact]) -> _Deletions:
        held = self.part.header.facts
        made = _Deletions([], [])
        ranges = [fact for fact in stands.visible if fact.kind == Kind.RANGE_GONE]
        visible = set(stands.visible)
        for fact in own.facts:
            if fact.kind not in _OF_MANY:
                continue
            if fact in stands.kept and stands.kept[fact].marks != (held[fact].marks if fact in held else ()):
                of_range = fact.kind == Kind.RANGE_GONE
                made.stretches.append((fact.path, fact.value) if of_range else (ROWS, BEHIND_ROWS))
            if fact in new and fact in visible and not _within_another(fact, ranges):
                made.effective.append(fact)
        return made

    def _merge_header(self, own: _Told, facts: Facts, new: set[Fact], deletions: _Deletions) -> None:
        part, header = self.part, self.part.header
        before = part.view(header)
        whole = part.is_complete(header)
        totals = _totals(header)
        part.settle(header, facts)
        of_partition = [fact for fact in deletions.effective if fact.kind == Kind.PARTITION_GONE]
        self._flag(header, of_partition)
        for fact in deletions.effective:
            self._made.effects.append((OWN, fact))
            if not whole:
                change = own.facts[fact]
                self._made.images.append(
                    deletion_image(part, fact.kind, change["range"], fact.write_ts, Cause.of(change), self._now_us)
                )
        of_static = [
            fact for fact in header.visible if fact in new and fact.kind not in _OF_MANY and _total(fact) not in totals
        ]
        cause = next((own.facts[fact] for fact in own.facts if fact.kind != Kind.RANGE_GONE), own.first)
        self._image(header, before, part.view(header), of_static, of_partition, cause)

    def _merge_row(
        self, row: Row, before: View, told: _Told | None, deletions: Sequence[Fact], own: _Told | None = None
    ) -> None:
        part = self.part
        facts, new = self._added(row.facts, told)
        totals = _totals(row)
        part.settle(row, facts)
        effective = [fact for fact in row.visible if fact in new and _total(fact) not in totals]
        over = [fact for fact in deletions if _covers(fact, row.key)]
        self._flag(row, [*over, *(fact for fact in effective if fact.kind == Kind.ROW_GONE)])
        causes = [told.first] if told is not None and effective else []
        causes += [own.facts[fact] for fact in over] if own is not None else []
        if causes:
            cause = min(causes, key=lambda change: (change["segment"], change["offset"], change["row"]))
            self._image(row, before, part.view(row), effective, over, cause)

    def _begin(self, row: Row, told: _Told) -> None:
        """Of a row that the state does not have yet: deletions that it has may have taken it before."""
        facts = self.part.table.facts
        if not row.facts:
            above = self.part.deletions(row.key)
            row.clustering = told.clustering
            row.gone = bool(above)
            row.complete = facts.epoch if any(d.write_ts >= facts.complete_since for d in above) else 0

    def _flag(self, row: Row, deletions: Sequence[Fact]) -> None:
        """What deletions of a whole row, or of all rows, tell of it for good."""
        if deletions:
            row.gone = True
            facts = self.part.table.facts
            if any(fact.write_ts >= facts.complete_since for fact in deletions):
                row.complete = facts.epoch

    def _image(
        self,
        row: Row,
        before: View,
        after: View,
        effective: Sequence[Fact],
        over: Sequence[Fact],
        cause: Mapping[str, Any],
    ) -> None:
        """An image where a fact of the row took effect, or what is seen of it differs."""
        self._made.effects.extend((row.key, fact) for fact in effective)
        alive = [fact for fact in effective if fact.expires_at is None or fact.expires_at > self.part.at]
        op = op_of(before, after) if alive else op_unless_same(before, after)
        if op is None:
            return
        swept = bool(over) or any(fact.kind == Kind.ROW_GONE for fact in effective)
        times = [fact.write_ts for fact in (*(alive or effective), *over)]
        self._made.images.append(
            row_image(
                self.part,
                row,
                op,
                before,
                after,
                () if op == "read" else changed_of(self.part, row, before, after, swept=swept),
                max(times),
                Cause.of(cause),
                self._now_us,
            )
        )


def _total(fact: Fact) -> tuple[str, bytes, bytes]:
    return fact.column, fact.path, fact.value


def _totals(row: Row) -> set[tuple[str, bytes, bytes]]:
    """What a counter's shards count now. A repair logs them again, all under the newest time: it says nothing new."""
    return {_total(fact) for fact in row.visible if fact.kind == Kind.SHARD}


def _covers(deletion: Fact, key: bytes) -> bool:
    return deletion.kind == Kind.PARTITION_GONE or deletion.path <= key < deletion.value


def _within_another(fact: Fact, ranges: Sequence[Fact]) -> bool:
    """Whether a range deletion tells nothing that another one does not."""
    return fact.kind == Kind.RANGE_GONE and any(
        other.path <= fact.path and fact.value <= other.value and other.write_ts >= fact.write_ts
        for other in ranges
        if other != fact
    )
