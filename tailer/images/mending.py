"""Rows of which `compare` found that the state is wrong: a server's response replaces all that is known of them.

A server keeps writes void under deletions that SELECT does not show, such as one with a timestamp of the future. What
the response lacks is therefore put under a deletion of the same time: a copy of it that another node's log has does not
bring it back.
"""

from __future__ import annotations

from collections.abc import Collection

from tailer.images.facts import TOMBSTONES, Copies, Fact, Facts
from tailer.images.image import Image
from tailer.images.marks import united
from tailer.images.merged_tables import SECOND
from tailer.images.packed import Row
from tailer.images.partition import Partition
from tailer.images.served import Answer, ServedRow, ServedRows, is_known, settled
from tailer.rebuild.changes import OWN
from tailer.rebuild.facts import Kind


def is_older(part: Partition, keys: Collection[bytes], answer: Answer) -> bool:
    """Whether something of the rows was merged since the response counts."""
    read = answer.until // SECOND
    return any(copies.arrival > read for key in keys for copies in part.row(key).facts.values())


def mend(part: Partition, keys: Collection[bytes], rows: ServedRows, answer: Answer, now_us: int) -> list[Image]:
    """The images of rows that are others by a server's response, which is all there is of them."""
    images: list[Image] = []
    for key in sorted(keys):
        row, served = part.row(key), rows.get(key)
        before = part.view(row)
        if is_known(part, row, before, served):
            continue
        facts = _replaced(part, row, served, answer)
        row.gone = row.gone or served is None
        images += settled(part, row, before, facts, served, answer, now_us)
    return images


def _replaced(part: Partition, row: Row, served: ServedRow | None, answer: Answer) -> Facts:
    told = () if served is None else served.facts
    columns = {fact.column for fact in told}
    oldest = min((fact.write_ts for fact in told), default=None)
    left: Facts = {
        fact: copies
        for fact, copies in row.facts.items()
        if fact.kind in TOMBSTONES
        and fact.column not in columns - {""}
        and (row.key == OWN or fact.column or oldest is None or fact.write_ts < oldest)
    }
    for fact in told:
        held = row.facts.get(fact)
        left[fact] = Copies(answer.marks if held is None else united((held.marks, answer.marks)), part.at)
    _void(part, row, left, answer, whole=served is None and row.key != OWN)
    return left


def _void(part: Partition, row: Row, left: Facts, answer: Answer, *, whole: bool) -> None:
    """Put what is gone under a deletion of its own time."""
    gone: dict[str, int] = {}
    for fact in row.facts:
        if fact.kind not in TOMBSTONES and fact not in left:
            name = "" if whole else fact.column
            gone[name] = max(fact.write_ts, gone.get(name, fact.write_ts))
    there = {fact.column for fact in left if fact.kind not in TOMBSTONES}
    for name, time in gone.items():
        if whole:
            kind = Kind.ROW_GONE
        elif not name or name in there or name not in part.table.plan.columns:
            continue
        else:
            kind = Kind.COLUMN_GONE if part.table.plan.columns[name].type.complex else Kind.CELL_GONE
        left[Fact(int(kind), name, b"", b"", time)] = Copies(answer.marks, part.at)
