"""A TRUNCATE of one node: its marks before a place go, and what of a partition nobody vouches for any more."""

from __future__ import annotations

from tailer.images.chain import Cause, changed_of, op_unless_same, row_image
from tailer.images.facts import Copies, Facts
from tailer.images.image import Image
from tailer.images.marks import truncated
from tailer.images.packed import Row
from tailer.images.partition import Partition, View
from tailer.rebuild.facts import Kind, Place

_OF_ALL = (Kind.ROW_GONE, Kind.PARTITION_GONE)


def truncate(part: Partition, node: int, before_place: Place, write_ts: int, cause: Cause, now_us: int) -> list[Image]:
    """The images of the rows that go, or show an older value again."""
    rows = list(part.every_row())
    before = {row.key: part.view(row) for row in rows}
    header = part.header
    was_static = part.view(header)
    deletions = {row.key: part.deletions(row.key) for row in rows}
    images = _settled(part, header, _without(header.facts, node, before_place), was_static, write_ts, cause, now_us)
    for row in rows:
        facts = _without(row.facts, node, before_place)
        fewer = len(part.deletions(row.key)) < len(deletions[row.key])
        images += _settled(part, row, facts, before[row.key], write_ts, cause, now_us, fewer=fewer)
    return images


def _settled(
    part: Partition,
    row: Row,
    facts: Facts,
    before: View,
    write_ts: int,
    cause: Cause,
    now_us: int,
    *,
    fewer: bool = False,
) -> list[Image]:
    if fewer or any(fact.kind in _OF_ALL and fact not in facts for fact in row.facts):
        _flag_anew(part, row, facts)
    part.settle(row, facts)
    after = part.view(row)
    op = op_unless_same(before, after)
    if op is None:
        return []
    changed = changed_of(part, row, before, after)
    return [row_image(part, row, op, before, after, changed, write_ts, cause, now_us)]


def _flag_anew(part: Partition, row: Row, facts: Facts) -> None:
    """What the deletions that are left tell of a row for good."""
    times = [fact.write_ts for fact in facts if fact.kind in _OF_ALL]
    times += [deletion.write_ts for deletion in part.deletions(row.key)]
    known = part.table.facts
    row.gone = bool(times)
    row.complete = known.epoch if any(time >= known.complete_since for time in times) else 0


def _without(facts: Facts, node: int, before: Place) -> Facts:
    left = {fact: truncated(copies.marks, node, before) for fact, copies in facts.items()}
    return {fact: Copies(marks, facts[fact].arrival) for fact, marks in left.items() if marks}
