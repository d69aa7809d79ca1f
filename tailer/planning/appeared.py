"""Segments that appear below where a consumer began: what is known of them, and what becomes of each. Pure.

Nothing that a file has tells an old segment, which a restarted server linked again or somebody restored, from a new one
whose id went back with the server's clock: a link renews the time of change, a copy has a new inode, and other times
come from the clock that was wrong. A segment whose durable end was seen to grow is new. Any other is for a person to
say. None is passed over, and none is judged by a time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import msgspec

from tailer.errors import ACCEPT, LossError
from tailer.position import Position
from tailer.segments.view import SegmentView, View, ids_of
from tailer.state.ids import NO_IDS, Ids
from tailer.state.journal_records import (
    LOG,
    AnyRecord,
    AppearedRecord,
    LearntRecord,
    OwnAppearedRecord,
    SchemaRecord,
    TimesRecord,
)
from tailer.state.offset import Memory, NodeOffset

_SHOWN: Final = 5
"""Segments that a sentence names."""


@dataclass(frozen=True, slots=True)
class Appeared:
    """What the state knows of a segment that appeared. `behind`: the highest one that could be read then, or the number
    before its own, where the state had met it before: it keeps its place.

    `end`: the first durable end that its sidecar promised, 0 while it promised none; None if it was finished when it
    was first seen.
    """

    behind: int
    end: int | None

    def grew(self, seen: SegmentView) -> bool:
        """Whether its durable end was seen to grow."""
        return bool(self.end) and max(seen.end, seen.published) > (self.end or 0)


AppearedSegments = Mapping[int, Appeared]

NONE_APPEARED: Final[AppearedSegments] = MappingProxyType({})


def appeared_in(records: Iterable[AnyRecord]) -> dict[int, Appeared]:
    """What records say: of a segment the first place, and the first end that is not 0."""
    found: dict[int, Appeared] = {}
    for record in records:
        if not isinstance(record, AppearedRecord):
            continue
        known = found.get(record.segment)
        if known is None:
            found[record.segment] = Appeared(record.behind, record.end)
        elif known.end == 0:
            found[record.segment] = Appeared(known.behind, record.end)
    return found


def met_before(offset: NodeOffset, records: Iterable[AnyRecord]) -> frozenset[int]:
    """The segments that the state had met before a consumer looked last: the changes of one that was not in the folder
    then are older than what the consumer has read. `offset`: where the consumer stands."""
    if not offset.j:
        return frozenset()
    found = (_met_in(record) for record in records if record.n <= offset.j)
    return frozenset(segment for segment in found if segment is not None)


def _met_in(record: AnyRecord) -> int | None:
    """The segment that somebody had read when a record was made."""
    if isinstance(record, LearntRecord):
        return record.of.segment
    if isinstance(record, TimesRecord):
        return record.segment
    return record.at.segment if isinstance(record, SchemaRecord) and record.source == LOG else None


def in_its_place(segment: int) -> int:
    """What `behind` is of a segment that keeps its place."""
    return segment - 1


def taken_over(
    view: View, segments: Iterable[int], records: Sequence[AnyRecord], consumer: str | None, offset: NodeOffset
) -> list[AppearedRecord]:
    """What a consumer has to know of segments that appeared and of which it has no record: what others saw of them
    first, else what is there now."""
    own = appeared_in(r for r in records if isinstance(r, AppearedRecord) and r.consumer == consumer)
    told = appeared_in(_of_all(records))
    met = met_before(offset, records)
    found = []
    for segment in sorted(set(segments) - own.keys()):
        known = told.get(segment) or Appeared(_highest(view, segment), None)
        if segment in met:
            known = Appeared(in_its_place(segment), known.end)
        found.append(AppearedRecord(consumer=consumer, segment=segment, behind=known.behind, end=known.end))
    return found


def taken_over_all(view: View, records: Sequence[AnyRecord], consumer: str | None) -> list[AppearedRecord]:
    """See `taken_over`: of every segment in the folder that has a record of any consumer."""
    there = [segment for segment in out_of_order(appeared_in(_of_all(records))) if segment in view]
    return taken_over(view, there, records, consumer, NodeOffset())


def _of_all(records: Iterable[AnyRecord]) -> Iterator[AnyRecord]:
    """Without what counts for the consumer alone that saw a segment appear."""
    return (record for record in records if not isinstance(record, OwnAppearedRecord))


def known_to(records: Iterable[AnyRecord], taken: Iterable[AppearedRecord], consumer: str | None) -> AppearedSegments:
    """By its records, and by those that it takes over, what a consumer knows of segments that do not come in the order
    of their ids."""
    own = [each for each in records if isinstance(each, AppearedRecord) and each.consumer == consumer]
    return out_of_order(appeared_in([*own, *taken]))


def out_of_order(appeared: AppearedSegments) -> AppearedSegments:
    """Those that do not come in the order of their ids: the state had not met them before."""
    return {segment: known for segment, known in appeared.items() if known.behind != in_its_place(segment)}


@dataclass(frozen=True, slots=True)
class Judged:
    """What a look shows of segments below where a consumer began.

    `memory`: with those that are new among its holes. `seen`: what is to be journaled. `undecided`: they may still be
    seen to grow. `unexplained`: nothing more will tell what they are. `gone`: they were to be read, or decided.
    """

    memory: Memory
    seen: tuple[AppearedRecord, ...] = ()
    undecided: tuple[int, ...] = ()
    unexplained: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()


def begun(view: View, offset: NodeOffset, memory: Memory, appeared: AppearedSegments = NONE_APPEARED) -> Memory:
    """The memory with where its consumer began, and which segments there were below.

    A consumer that reads all there is begins at the lowest segment that did not appear below others: those that did are
    read behind them. An earlier version did not say where a consumer began: what it read is behind its start.
    """
    if memory.begun:
        return memory
    there = [segment for segment in ids_of(view) if view[segment].log]
    first = next((segment for segment in there if segment not in appeared), None)
    if first is None:
        return memory
    if offset.s == 0:
        late = Ids.of(segment for segment in there if segment in appeared)
        # What was the lowest one when the consumer began may be gone by now: that is told as a loss. What has come
        # below it since is due: nothing was read yet.
        start = memory.start if memory.start not in (0, *appeared) else first
        holes = memory.holes.plus(late)
        return msgspec.structs.replace(memory, begun=min(start, first), start=start, holes=holes, explained=late)
    return began_at(view, offset, memory, appeared, first=memory.start)


def began_at(
    view: View, offset: NodeOffset, memory: Memory, appeared: AppearedSegments = NONE_APPEARED, *, first: int = 0
) -> Memory:
    """The memory of a consumer that begins at an offset: what there is below is its history, but for segments that
    appeared behind that offset. They come in their turn.

    `first`: a lower segment in which it began already.
    """
    at = min(first or offset.s, offset.s)
    late = Ids.of(segment for segment in behind(offset, appeared) if segment in view and view[segment].log)
    below = Ids.of({*(segment for segment in ids_of(view) if segment < at), *late, *(s for s in appeared if s < at)})
    holes, explained = memory.holes.plus(late), memory.explained.plus(below)
    return msgspec.structs.replace(memory, begun=at, holes=holes, explained=explained)


def behind(offset: NodeOffset, appeared: AppearedSegments) -> list[int]:
    """Segments with lower ids whose rows come behind an offset, as they appeared later. Not those that it names.

    Of one that appeared where the offset stands nothing tells whether it was read since: it comes once more.
    """
    named = dict(offset.p)
    return sorted(
        segment for segment, known in appeared.items() if segment < offset.s <= known.behind and segment not in named
    )


def with_taken(offset: NodeOffset, coming: Iterable[int], memory: Memory) -> NodeOffset:
    """The offset with what `clean` took of the segments that come behind it: the planner says that these are lost, as
    it does of late segments."""
    taken = [(segment, 0) for segment in coming if segment in memory.seen]
    return msgspec.structs.replace(offset, p=tuple(sorted([*offset.p, *taken]))) if taken else offset


def in_order(view: View, appeared: AppearedSegments) -> list[int]:
    """The segments of a folder in the order in which the state first saw them."""
    return sorted(
        view, key=lambda segment: (appeared[segment].behind, segment) if segment in appeared else (segment, 0)
    )


def judge(
    view: View, offset: NodeOffset, memory: Memory, appeared: AppearedSegments, *, settled: bool, taken: Ids = NO_IDS
) -> Judged:
    """What becomes of the segments below where a consumer began. `settled`: no later look will show more of them.
    `taken`: what `clean --force` took from this consumer."""
    late = {segment for segment, _ in offset.p}
    new: list[int] = []
    seen: list[AppearedRecord] = []
    undecided: list[int] = []
    unexplained: list[int] = []
    for segment in _below(view, memory, late):
        here, known = view[segment], appeared.get(segment)
        if known is not None and known.grew(here):
            new.append(segment)
            continue
        open_still = here.finished is None
        if known is None or (known.end == 0 and open_still and here.end):
            end = here.end if open_still else None
            seen.append(AppearedRecord(segment=segment, behind=_highest(view, segment), end=end))
        (undecided if open_still and not settled else unexplained).append(segment)
    if new:
        ids = Ids.of(new)
        holes, explained = memory.holes.plus(ids), memory.explained.plus(ids)
        memory = msgspec.structs.replace(memory, holes=holes, explained=explained)
    gone = tuple(sorted(_gone(view, memory, late, appeared, taken)))
    return Judged(memory, tuple(seen), tuple(undecided), tuple(unexplained), gone)


def _gone(view: View, memory: Memory, late: Collection[int], appeared: AppearedSegments, taken: Ids) -> Iterator[int]:
    """Segments that appeared, were neither read nor explained, and are not in the folder any more.

    A segment without a durable end in any idx file held no captured change: the server itself removes such a link.
    """
    for segment in {*appeared, *taken.below(memory.begun)}:
        known = appeared.get(segment)
        promised = known is None or known.end != 0
        awaited = segment in memory.holes or (promised and segment not in memory.explained)
        if awaited and segment not in late and memory.lost_below <= segment < memory.begun:
            seen = view.get(segment)
            if seen is None or not (seen.log or (seen.cleaned and segment not in taken)):
                yield segment


def accepted(memory: Memory, segments: Iterable[int]) -> Memory:
    """The memory of a consumer to which these segments are history."""
    ids = Ids.of(segments)
    return msgspec.structs.replace(memory, holes=memory.holes.minus(ids), explained=memory.explained.plus(ids))


def to_deliver(memory: Memory, segments: Iterable[int]) -> Memory:
    """The memory of a consumer that is to be given these segments, late."""
    ids = Ids.of(segments)
    return msgspec.structs.replace(memory, holes=memory.holes.plus(ids), explained=memory.explained.plus(ids))


def unexplained_error(segments: Collection[int], facts: str = "") -> LossError:
    """`facts`: what there is to know of the first of them."""
    first = min(segments)
    names = ", ".join(map(str, sorted(segments)[:_SHOWN]))
    more = f" and {len(segments) - _SHOWN} more" if len(segments) > _SHOWN else ""
    which = f"segment {names} has" if len(segments) == 1 else f"segments {names}{more} have"
    what = f"{which} appeared below where this consumer began, and nothing tells whether the changes are old or new"
    return LossError(f"{what}{facts}", at=Position(first, 0))


def gone_error(segments: Collection[int]) -> LossError:
    first = min(segments)
    what = f"segment {first}, which has appeared below where this consumer began and was to be read, is gone"
    return LossError(
        f"Changes are lost: {what}; the first position not read is {Position(first, 0)}",
        at=Position(first, 0),
        remedy=ACCEPT,
    )


def waits_behind(segment: int, offset: NodeOffset, view: View, appeared: AppearedSegments) -> bool:
    """Whether a segment that appeared is still to come behind others: they were there before it."""
    known = appeared.get(segment)
    if known is None or offset.s > known.behind:
        return False
    if offset.s and not offset.done:
        return True
    ids = ids_of(view)
    between = ids[bisect_left(ids, offset.s + 1) : bisect_left(ids, known.behind + 1)]
    return any(view[each].promised and view[each].log and each not in appeared for each in between)


def _below(view: View, memory: Memory, late: Collection[int]) -> Iterator[int]:
    """Segments below where the consumer began that are not explained."""
    ids = ids_of(view)
    explained = _set_of(memory.explained)
    for segment in ids[: bisect_left(ids, memory.begun)]:
        if segment not in explained:
            here = view[segment]
            known = segment in memory.holes or segment in late or segment < memory.lost_below
            if here.log and not (known or here.cleaned):
                yield segment


@lru_cache(maxsize=64)
def _set_of(ids: Ids) -> frozenset[int]:
    """To ask for many: there may be thousands of segments below where a consumer began, and each look asks for all."""
    return frozenset(ids)


def _highest(view: View, segment: int) -> int:
    """The highest segment that may hold rows and is there beside the one that appeared."""
    return max((each for each in ids_of(view) if each > segment and view[each].promised), default=segment)
