"""What of a partition may be forgotten: tombstones and expired values that nothing older can come behind any more.

Nothing that is seen changes by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from tailer.images.facts import NO_TIME, Copies, Fact, Facts
from tailer.images.marks import united
from tailer.images.packed import Row
from tailer.images.partition import Partition, View
from tailer.images.standing import outweighed_by
from tailer.rebuild.facts import Kind

LEAST_SECONDS: Final = 3 * 3600
"""What is dead is kept so long in any case: hints are."""


class Forgotten(msgspec.Struct):
    """How much was forgotten. `done`: all partitions of all tables were looked at since this began anew."""

    facts: int = 0
    rows: int = 0
    partitions: int = 0
    done: bool = False


def late_sentence(facts: int) -> str:
    """What people are told of facts that took effect although what is older than they was forgotten."""
    return f"{facts} facts came that are older than what was forgotten: rows that were deleted may be there again."


def forget_in(part: Partition, before: int, told: Forgotten) -> None:
    """Forget what came before second `before` and is dead, and what stands dead beneath it.

    Nothing of a partition in which something has expired that nobody was told of: it would never be told.
    """
    if part.due():
        return
    header = part.header
    old = _old(header.facts, before, part.at)
    rows = list(part.every_row())
    views = {row.key: part.view(row) for row in rows}
    static = part.view(header)
    of_many = [fact for fact in old if fact.kind in (Kind.RANGE_GONE, Kind.PARTITION_GONE)]
    _leave(part, header, old, (), static, told)
    for row in rows:
        over = [fact for fact in of_many if fact.kind == Kind.PARTITION_GONE or fact.path <= row.key < fact.value]
        _leave(part, row, _old(row.facts, before, part.at), over, views[row.key], told)
        told.rows += not row.facts
    # A header goes by which seq goes on: not while what comes next could be given the same one.
    if not header.facts and not any(row.facts for row in rows) and header.seq < before * 1_000_000:
        header.seq = 0
        told.partitions += 1


def _old(facts: Facts, before: int, at: int) -> Facts:
    return {
        fact: copies
        for fact, copies in facts.items()
        if fact.write_ts > NO_TIME and fact.dead(at) and max(copies.arrival, fact.expires_at or 0) < before
    }


def _leave(part: Partition, row: Row, old: Facts, over: Iterable[Fact], before: View, told: Forgotten) -> None:
    """Leave `old` facts out, and what they and the deletions `over` the row outweigh."""
    if before.guessed:
        # What makes a guess unsure is all that tells so, until a server has answered.
        return
    until = max((fact.write_ts for fact in over), default=NO_TIME - 1)
    beneath = outweighed_by(old, row.facts, part.table.plan)
    left = {
        fact: copies
        for fact, copies in row.facts.items()
        if fact not in old and fact not in beneath and fact.write_ts > until
    }
    gone = len(row.facts) - len(left)
    if not gone:
        return
    told.facts += gone
    if before.text is None:
        if all(fact.write_ts == NO_TIME for fact in left):
            left = {}
    elif not before.complete:
        left |= _null(part, row.facts, left, before)
    # That it was there, and ended, must stay known without its marker; of a deletion it is known anyway.
    row.gone = row.gone or any(fact.kind == Kind.LIVE for fact in old)
    part.settle(row, left)


def _null(part: Partition, facts: Facts, left: Facts, before: View) -> Facts:
    """Of the columns that are known to be null that this is known, where no fact says so any more."""
    known = {fact.column for fact in left}
    made = {}
    for name, value in before.values.items():
        if value is None and name not in known:
            copies = [facts[fact] for fact in facts if fact.column == name]
            marks = united(each.marks for each in copies)
            kind = Kind.COLUMN_GONE if part.table.plan.columns[name].type.complex else Kind.CELL_GONE
            fact = Fact(int(kind), name, b"", b"", NO_TIME)
            made[fact] = Copies(marks, min(each.arrival for each in copies))
    return made
