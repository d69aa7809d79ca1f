"""What a server says of rows, in place of what the state knew of them until then. Asks no server, knows no clock."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tailer.images.chain import Cause, changed_of, op_unless_same, row_image
from tailer.images.facts import Copies, Fact, Facts
from tailer.images.guesses import is_guess, is_unsure
from tailer.images.image import Image
from tailer.images.marks import Marks, united
from tailer.images.packed import Row
from tailer.images.partition import Partition, View
from tailer.images.view import seen
from tailer.rebuild.changes import OWN
from tailer.rebuild.facts import Kind

_OF_MANY = (int(Kind.RANGE_GONE), int(Kind.PARTITION_GONE))
_Cells = dict[tuple[int, str, bytes, bytes, int], Fact]


class ServedRow(NamedTuple):
    """A row as a server shows it, or (of key `OWN`) a static row. `clustering`: the framed values."""

    key: bytes
    clustering: bytes
    facts: Sequence[Fact]


ServedRows = Mapping[bytes, ServedRow]
"""Rows of one partition by their keys."""


class ServedRange(NamedTuple):
    """All that a server has of the tokens above `low` and up to `high`: rows by partition."""

    low: int
    high: int
    partitions: Mapping[bytes, ServedRows]


@dataclass
class EventIds:
    """Ids of events, numbered from `number` on."""

    prefix: str
    number: int = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number += 1
        return f"{self.prefix}{self.number - 1}"

    def pass_over(self, ids: int) -> None:
        """So many were given by somebody else."""
        self.number += ids


@dataclass(frozen=True)
class Answer:
    """How far a server's answer counts. `until`: in µs; all of that time or older is in it, or it is gone.

    `complete`: whether all replicas are followed, so that nothing is missed from here on. `marks`: who vouches for what
    it has. `event_ids`: of the images that come of it.
    """

    until: int
    complete: bool
    marks: Marks
    event_ids: EventIds


def serve(part: Partition, rows: ServedRows, answer: Answer, now_us: int) -> list[Image]:
    """The images of a partition's rows that are others by what a server has of it, which is all."""
    header = part.header
    keys = {row.key for row in part.every_row()} | (rows.keys() - {OWN})
    touched = [header, *(part.row(key) for key in sorted(keys))]
    before = [part.view(row) for row in touched]
    part.covered = answer.complete
    images: list[Image] = []
    for row, view in zip(touched, before, strict=True):
        served = rows.get(row.key)
        if not _is_known(part, row, view, served):
            facts = _replaced(row, served, answer.until, answer.marks, part.at)
            images += _settled(part, row, view, facts, served, answer, now_us)
    return images


def serve_again(
    part: Partition, keys: Collection[bytes], rows: ServedRows, answer: Answer, now_us: int, *, older: bool
) -> list[Image]:
    """The images of rows of which a server was asked again: what was guessed of them is what it says.

    All that is newer than the floor the logs bring; only of what has no name in them the answer counts, once nothing
    is known of it that is newer than the answer. `older`: what is not newer than the floor is the server's, too.
    """
    if part.floor is None:
        return []
    images: list[Image] = []
    for key in sorted(keys):
        row, served = part.row(key), rows.get(key)
        before, facts = part.view(row), dict(row.facts)
        if older:
            told = None if served is None else served._replace(facts=_old(served.facts, part.floor.until))
            facts = _replaced(row, told, part.floor.until, answer.marks, part.at)
            if key == OWN:
                facts |= {fact: copies for fact, copies in row.facts.items() if fact.kind in _OF_MANY}
        _sure(part, facts, served, answer)
        images += _settled(part, row, before, facts, served, answer, now_us)
    return images


def _settled(
    part: Partition, row: Row, before: View, facts: Facts, served: ServedRow | None, answer: Answer, now_us: int
) -> list[Image]:
    if served is not None and not row.facts:
        row.clustering = served.clustering
    part.settle(row, facts)
    after = part.view(row)
    op = op_unless_same(before, after)
    if op is None:
        return []
    changed = changed_of(part, row, before, after, swept=after.text is None)
    times = [answer.until] if served is None else [fact.write_ts for fact in served.facts]
    cause = Cause(event_id=next(answer.event_ids))
    write_ts = max(times, default=answer.until)
    return [row_image(part, row, op, before, after, changed, write_ts, cause, now_us)]


def _is_known(part: Partition, row: Row, before: View, served: ServedRow | None) -> bool:
    """Whether the state says the very same, and knows more of it than a server tells."""
    if served is None or not before.complete or not before.lives:
        return False
    return part.view_of(row, seen(served.facts, part.table.plan, part.at)).text == before.text


def _replaced(row: Row, served: ServedRow | None, until: int, marks: Marks, at: int) -> Facts:
    """Of what is known what is newer, and the served facts; those that are known with their TTL as they are known."""
    left = {fact: copies for fact, copies in row.facts.items() if fact.write_ts > until}
    cells: _Cells = {_cell(fact): fact for fact in row.facts if fact.kind in (Kind.CELL, Kind.LIVE)}
    for fact in served.facts if served is not None else ():
        held = cells.get(_cell(fact), fact)
        copies = row.facts.get(held)
        left[held] = Copies(marks, at) if copies is None else Copies(united((copies.marks, marks)), copies.arrival)
    return left


def _old(facts: Sequence[Fact], until: int) -> Sequence[Fact]:
    return [fact for fact in facts if fact.write_ts <= until or is_guess(fact)]


def _sure(part: Partition, facts: Facts, served: ServedRow | None, answer: Answer) -> None:
    """Put what the server says in place of what was guessed, where that is not sure any more."""
    assert part.floor is not None, "it was asked for what lies above one"
    told = () if served is None else served.facts
    for marker in [fact for fact in facts if fact.kind == Kind.LIVE and is_guess(fact)]:
        if not any(fact.column for fact in told):
            copies = facts.pop(marker)
            if told:
                facts[Fact(int(Kind.LIVE), "", b"", b"", part.floor.until)] = copies
    for name in part.table.plan.guessed:
        of_column = [fact for fact in facts if fact.column == name]
        if not is_unsure(of_column) or any(fact.write_ts > answer.until for fact in of_column):
            continue
        for fact in of_column:
            if fact.path:
                del facts[fact]
        newest = max(fact.write_ts for fact in of_column)
        for fact in told:
            if fact.column == name:
                # Newer than a deletion that is known, and which it has outlived.
                facts[fact._replace(write_ts=max(fact.write_ts, newest))] = Copies(answer.marks, part.at)


def _cell(fact: Fact) -> tuple[int, str, bytes, bytes, int]:
    return fact.kind, fact.column, fact.path, fact.value, fact.write_ts
