"""Where the log has segments that nobody reads: they are not there, or hold no captured change. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tailer.position import Position, Span
from tailer.segments.view import View, ids_of


def gaps(view: View, begin: Position, spans: Iterable[Span]) -> Iterator[Position]:
    """The beginnings of segments that are read behind such ones, where reading goes on from `begin`.

    A server removes a segment without captured changes, and until then has no sidecar for it; its ids go on from the
    clock when it starts again. In either case the log may have lost schema changes there.
    """
    before, ids = begin.segment, ids_of(view)
    for segment in sorted({span.segment for span in spans if span.segment > before}):
        if before and _lacks(view, ids, before, segment):
            yield Position(segment, 0)
        before = segment


def has_gap(view: View, begin: Position) -> bool:
    """Whether there is one between a position and the last segment that can be read."""
    if not begin.segment:
        return False
    # From the end: there the next one is near, however far the position lies behind.
    readable = (id for id in reversed(ids_of(view)) if id >= begin.segment and _is_readable(view, id))
    above = next(readable, begin.segment)
    for id in chain(readable, [begin.segment]):
        if id < above - 1:
            return True
        above = id
    return False


def _lacks(view: View, ids: Sequence[int], before: int, segment: int) -> bool:
    """Whether one between two segments cannot be read."""
    between = ids[bisect_right(ids, before) : bisect_left(ids, segment)]
    return segment - before - 1 > sum(_is_readable(view, id) for id in between)


def _is_readable(view: View, segment: int) -> bool:
    return view[segment].log and view[segment].promised
