"""Where a plan passes ids of segments that are not there. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from tailer.position import Position, Span
from tailer.segments.view import View, ids_of
from tailer.state.offset import NodeOffset


def gaps(view: View, offset: NodeOffset, spans: Iterable[Span]) -> Iterator[Position]:
    """The beginnings of segments that a plan reads behind missing ones, as it leaves `offset`.

    A server removes a segment without captured changes unread, and its ids go on from the clock when it starts again:
    in either case the log may have lost schema changes there.
    """
    before, ids = offset.s, ids_of(view)
    for segment in sorted({span.segment for span in spans if span.segment > before}):
        between = ids[bisect_right(ids, before) : bisect_left(ids, segment)]
        if before and segment - before - 1 > sum(view[id].log for id in between):
            yield Position(segment, 0)
        before = segment
