"""Positions that users name (`earliest`, `latest`, `segment:offset`, a node's JSON): where a tail begins and ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from tailer.errors import CdcError, LossError, UsageError
from tailer.framing.section import NoSection
from tailer.limits import OFFSET_MAX
from tailer.options.amounts import lacks_zone, moment_of
from tailer.options.kinds import without_zone
from tailer.planning.appeared import NONE_APPEARED, AppearedSegments, began_at, behind, in_order, with_taken
from tailer.planning.plan import ReachSegment
from tailer.position import Position, Span
from tailer.segments.segments import Segments
from tailer.segments.view import View
from tailer.state.ids import NO_IDS, Ids
from tailer.state.offset import WITH_SNAPSHOT, Memory, NodeOffset, decode_node_offset
from tailer.state.segment_times import SegmentTimes
from tailer.typed_decode import convert
from tailer.versions import UNDECODABLE, Versioned, check_version


@dataclass(frozen=True, slots=True)
class NamedPosition:
    """Where a tail begins, and what its planner knows there."""

    offset: NodeOffset
    memory: Memory
    whole: bool = False
    """All that is there is read: whoever begins so is told what may be missing before."""

    how: str = ""
    """Of a time: by what the place was found, in words."""


WRITTEN_SLACK: Final = 60.0
"""Seconds by which a segment may have been written later than its files say: a mapped file's time lags behind."""

TICK_SECONDS: Final = 0.02
"""A file's time is that of the system's last tick, somewhat before it was written."""

_LAST: Final = 2**63
"""No segment has a higher id."""

Written = Callable[[int], float | None]
"""When a segment was last written, in seconds since the epoch; None where that is not over."""

Times = Callable[[int], SegmentTimes | None]
"""What the state keeps of a segment's sidecar; None where it keeps nothing."""

Unread = Callable[[int, Collection[int]], Ids]
"""(segment, late segments) -> captured segments beyond that one, or late, that `clean` took away."""


def _nothing(segment: int, late: Collection[int]) -> Ids:
    return NO_IDS


def _no_times(segment: int) -> None:
    return None


def lowest_named(text: str, node: str) -> int:
    """The lowest segment that a tail which begins there may read."""
    if text == "latest":
        return _LAST
    if is_json(text):
        offset = offset_of_json(text, node)
        return min([offset.s, *(segment for segment, _ in offset.p)])
    position = Position.parse(text)
    return 0 if position is None else position.segment


def named_position(
    text: str,
    view: View,
    reach: ReachSegment,
    node: str = "local",
    unread: Unread = _nothing,
    written: Written | None = None,
    times: Times = _no_times,
    now: float | None = None,
    appeared: AppearedSegments = NONE_APPEARED,
) -> NamedPosition:
    """The offset that a user's text names in the folder as it is now. UsageError for other texts, LossError if gone.

    What was cleaned beyond a position that was named outright counts as seen there: the planner tells that it is lost.
    `written`: for who takes a time too; `times`: what is known better than by that. `now`: no later time is taken.
    `appeared`: segments that appeared below others, which come behind these.
    """
    memory = Memory(start=oldest_log(view), highest=max(view, default=0))
    if text == "earliest":
        return NamedPosition(NodeOffset(), memory, whole=True)
    if text == "latest":
        return _at_end(view, memory, reach)
    named = partial(_named, view, memory, unread, appeared)
    if is_json(text):
        return named(offset_of_json(text, node))
    if written is not None and (since := moment_of(text)) is not None:
        _check_past(text, since, now)
        order = [segment for segment in in_order(view, appeared) if view[segment].log]
        first = _since(since, order, written, times)
        if first is None:
            latest = _at_end(view, memory, reach)
            return replace(latest, how=_how(text, latest.offset.position, first))
        found = named(_offset_at(first.at, view, reach, appeared))
        return replace(found, whole=first.at == Position(order[0], 0), how=_how(text, first.at, first))
    position = _position_of(text, or_time=written is not None)
    check_there(position, view)
    return named(_offset_at(position, view, reach, appeared))


def _position_of(text: str, *, or_time: bool) -> Position:
    """UsageError for another text."""
    position = Position.parse(text)
    if position is None and or_time and lacks_zone(text):
        raise without_zone(text)
    if position is None:
        raise UsageError(
            "position",
            expected=f"segment:offset, earliest, latest{', a time' if or_time else ''}, or a node's JSON of an offset",
            found=repr(text),
        )
    return position


def oldest_log(view: View) -> int:
    """The lowest segment that can be read, 0 where there is none."""
    return min((segment for segment, seen in view.items() if seen.log), default=0)


def standing(offset: NodeOffset, view: View) -> NodeOffset:
    """Where a tail stands that begins at a named offset: before a segment without sidecar, never in it.

    Such a segment may go without ever having held a change, and nobody has lost anything by that.
    """
    here = view.get(offset.s)
    if offset.done or here is None or here.sidecar or here.finished == "stopped":
        return offset
    return msgspec.structs.replace(offset, s=offset.s - 1, o=0, done=True)


def clip(spans: Sequence[Span], until: Position | None, reached: Position) -> tuple[list[Span], bool]:
    """The spans before `until` (exclusive), and whether it was reached."""
    if until is None:
        return list(spans), False
    kept = [span for span in spans if span.segment < until.segment]
    for span in spans:
        if span.segment == until.segment and span.lower < until.offset:
            kept.append(replace(span, upper=min(span.upper, until.offset)))
    return kept, reached >= until


class _Since(NamedTuple):
    """Where something that became durable at a time may stand first. `by_sidecars`: it is a section's edge."""

    at: Position
    by_sidecars: bool


def _since(seconds: float, order: Sequence[int], written: Written, times: Times) -> _Since | None:
    """The first place that may hold something written at a time or later; None where none does.

    Segments are finished out of order, so the first of their `order` counts, whatever lies between.
    """
    for segment in order:
        known = times(segment)
        if known is not None and known.done is not None:
            last: float | None = known.done + TICK_SECONDS
        else:
            last = None if (files := written(segment)) is None else files + WRITTEN_SLACK
        if last is None or last >= seconds:
            offset = 0 if known is None else known.before(seconds - TICK_SECONDS)
            return _Since(Position(segment, offset), known is not None)
    return None


def _how(text: str, at: Position, first: _Since | None) -> str:
    if first is None:
        return f"nothing was written since {text}, by the times of the files: begins at the end, {at}"
    if first.by_sidecars:
        by = "the first section that was durable then or later is here or behind it, by the times kept of sidecars"
    else:
        by = "the first segment that was last written then or later, by the times of its files"
    return f"begins at {at} for {text}: {by}"


def _check_past(text: str, seconds: float, now: float | None) -> None:
    """UsageError for a time to come: what is written until then would be passed by, or not, as it happens."""
    if now is not None and seconds > now + WRITTEN_SLACK:
        raise UsageError(
            "the time to begin at is still to come",
            expected=f"{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H:%M:%SZ} or earlier",
            found=text,
            remedy="To begin with what comes from now on: latest.",
        )


def _named(view: View, memory: Memory, unread: Unread, appeared: AppearedSegments, offset: NodeOffset) -> NamedPosition:
    if offset.s == 0:
        return NamedPosition(offset, memory)
    coming = behind(offset, appeared)
    seen = unread(offset.s, [*(segment for segment, _ in offset.p), *coming])
    memory = msgspec.structs.replace(memory, seen=seen)
    offset = with_taken(offset, coming, memory)
    return NamedPosition(offset, began_at(view, offset, memory, appeared))


def _at_end(view: View, memory: Memory, reach: ReachSegment) -> NamedPosition:
    latest = _latest(view, reach)
    return NamedPosition(latest, began_at(view, latest, memory))


def _latest(view: View, reach: ReachSegment) -> NodeOffset:
    """Behind everything that is durable now; what was not finished below goes on where it stands."""
    promised = [segment for segment in sorted(view) if view[segment].promised and view[segment].log]
    if not promised:
        return NodeOffset(p=tuple((segment, 0) for segment in sorted(view) if view[segment].log))
    ends: dict[int, tuple[int, bool]] = {}
    for segment in promised:
        if (closed := view[segment].closed) is not None:
            ends[segment] = closed, True
            continue
        found = reach(segment, 0, OFFSET_MAX)
        if found.error is not None:
            raise found.error
        ends[segment] = found.end, found.done
    last = promised[-1]
    late = [(s, ends[s][0]) for s in promised[:-1] if not ends[s][1]]
    late += [(s, 0) for s in view if s < last and view[s].log and not view[s].sidecar]
    return NodeOffset(0, last, *ends[last], tuple(sorted(late)))


def _offset_at(position: Position, view: View, reach: ReachSegment, appeared: AppearedSegments) -> NodeOffset:
    """The offset of a place in a segment. One that appeared below others is a late segment of who has read these."""
    known = appeared.get(position.segment)
    if known is None:
        return NodeOffset(0, position.segment, position.offset, False)
    before = {segment: seen for segment, seen in view.items() if segment <= known.behind and segment not in appeared}
    offset = _latest(before, reach)
    if not offset.s:
        offset = msgspec.structs.replace(offset, s=known.behind, o=0, done=True)
    late = tuple(sorted({**dict(offset.p), position.segment: position.offset}.items()))
    return msgspec.structs.replace(offset, p=late)


def check_there(position: Position, view: View) -> None:
    """LossError, or UsageError where nothing lies behind it either, if the position's segment is not there."""
    here = view.get(position.segment)
    if here is not None and here.log:
        return
    if any(segment > position.segment for segment in view):
        raise LossError(
            f"Changes are lost: segment {position.segment} is gone; the first position not read is {position}",
            at=position,
            remedy="Begin at `earliest`, which is what is still there.",
        )
    raise UsageError("no such segment", at=position, remedy="`cdc-tail inspect DIR` lists the segments that are there.")


def check_within(offset: NodeOffset, segments: Segments) -> None:
    """UsageError for a place in a segment behind what is written of it: what comes there would be passed by."""
    named = [] if offset.done else [offset.position]
    for position in (*named, *(Position(*late) for late in offset.p)):
        _check_within(position, segments)


def _check_within(position: Position, segments: Segments) -> None:
    try:
        with segments.opened(position.segment) as file:
            if file.header() is None:
                return
            edge, at = file.place(position.offset)
            found = next(file.sections(edge, at)) if edge < position.offset else None
    except (FileNotFoundError, CdcError):
        # Reported where its rows are wanted.
        return
    if isinstance(found, NoSection) and found.why.clean:
        raise UsageError(
            "the position lies behind the end of its segment",
            at=position,
            expected=f"{edge} at most",
            found=position.offset,
            remedy="Offsets are logical: those that rows have, and that `cdc-tail inspect FILE` shows.",
        )


def is_json(text: str) -> bool:
    """Whether a position's text can be nothing but an offset's JSON."""
    return text.lstrip().startswith("{")


def offset_of_json(text: str, node: str) -> NodeOffset:
    """A node's offset of its JSON, or of JSON that has several nodes'. UsageError for other texts."""
    try:
        data: Any = msgspec.json.decode(text)
        if isinstance(data, dict) and "nodes" in data:
            check_version(convert(data, Versioned).v, WITH_SNAPSHOT, "the offset")
            data = data["nodes"][node]
        elif isinstance(data, dict) and node in data:
            data = data[node]
        return decode_node_offset(data, may_lack=("j", "done", "p"))
    except (*UNDECODABLE, KeyError, TypeError) as error:
        raise UsageError(
            f"the offset's JSON is not understood: {error}",
            expected='{"j":0,"s":segment,"o":offset,"done":false,"p":[]}',
            found=text[:200],
        ) from error
