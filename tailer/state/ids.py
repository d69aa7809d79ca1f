"""Ids of segments as sorted ranges: looked up by bisection, changed by making others. Values only."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate, compress, count
from operator import ne

Range = tuple[int, int]
"""First and last id, both included."""


Deltas = tuple[int, ...]
"""Ranges as text has them, some bytes each: in turn how far the first id is from the last one before, and the last from
the first."""


def deltas_of(ranges: Iterable[Range]) -> Deltas:
    before = 0
    made: list[int] = []
    for first, last in ranges:
        made += (first - before, last - first)
        before = last
    return tuple(made)


def ranges_of(deltas: Deltas) -> Iterator[Range]:
    steps = iter(accumulate(deltas))
    return zip(steps, steps, strict=True)


class Ids(Collection[int]):
    """Ids kept as ranges, ascending and apart. What stays the same is shared: a change costs by what changes."""

    __slots__ = ("ranges",)

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        self.ranges: tuple[Range, ...] = tuple(ranges)

    @classmethod
    def of(cls, ids: Iterable[int]) -> Ids:
        return cls().with_ids(ids)

    def __contains__(self, segment: object) -> bool:
        assert isinstance(segment, int)
        at = bisect_right(self.ranges, segment, key=_first) - 1
        return at >= 0 and segment <= self.ranges[at][1]

    def __iter__(self) -> Iterator[int]:
        return (segment for first, last in self.ranges for segment in range(first, last + 1))

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Ids) and self.ranges == other.ranges)

    def __hash__(self) -> int:
        return hash(self.ranges)

    def __repr__(self) -> str:
        return f"Ids({self.ranges!r})"

    def above(self, segment: int) -> Iterator[int]:
        """The ids beyond one, ascending."""
        for first, last in self.ranges[bisect_left(self.ranges, segment + 1, key=_last) :]:
            yield from range(max(first, segment + 1), last + 1)

    def from_id(self, segment: int) -> Ids:
        """Those that are not below one."""
        at = bisect_left(self.ranges, segment, key=_last)
        if at == 0 and (not self.ranges or self.ranges[0][0] >= segment):
            return self
        kept = self.ranges[at:]
        return Ids(((max(kept[0][0], segment), kept[0][1]), *kept[1:]) if kept else ())

    def below(self, segment: int) -> Ids:
        """Those that are below one."""
        at = bisect_left(self.ranges, segment, key=_first)
        if at == len(self.ranges) and (at == 0 or self.ranges[-1][1] < segment):
            return self
        kept = self.ranges[:at]
        return Ids((*kept[:-1], (kept[-1][0], min(kept[-1][1], segment - 1))) if kept else ())

    def has_all(self, first: int, last: int) -> bool:
        """Whether every id from `first` to `last` is among these."""
        at = bisect_right(self.ranges, first, key=_first) - 1
        return at >= 0 and last <= self.ranges[at][1]

    def first_not_in(self, segment: int) -> int:
        """The lowest id from `segment` on that is not among these."""
        at = bisect_right(self.ranges, segment, key=_first) - 1
        return self.ranges[at][1] + 1 if at >= 0 and segment <= self.ranges[at][1] else segment

    def with_ids(self, more: Iterable[int]) -> Ids:
        """These and more. Only neighbours share a range: an id that was never there is never in one."""
        return self.with_ranges((segment, segment) for segment in more)

    def with_ranges(self, more: Iterable[Range]) -> Ids:
        """These and those of other ranges, in any order."""
        added = sorted(more)
        if not added:
            return self
        # What is below the first of them stays as it is: most often that is nearly everything.
        at = max(bisect_left(self.ranges, added[0][0] - 1, key=_last), 0)
        merged: list[Range] = []
        for first, last in sorted([*self.ranges[at:], *added]):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return Ids((*self.ranges[:at], *merged))

    def without(self, gone: Iterable[Range]) -> Ids:
        """These but for those of other ranges."""
        ranges = self.ranges
        for first, last in gone:
            begin, end = bisect_left(ranges, first, key=_last), bisect_right(ranges, last, key=_first)
            if begin < end:
                left = [(ranges[begin][0], first - 1), (last + 1, ranges[end - 1][1])]
                ranges = (*ranges[:begin], *(each for each in left if each[0] <= each[1]), *ranges[end:])
        return self if ranges is self.ranges else Ids(ranges)

    def minus(self, other: Ids) -> Ids:
        """These but for the other ones."""
        if self is other:
            return Ids()
        begin, end = _shared(self.ranges, other.ranges)
        mine = Ids(self.ranges[begin : len(self.ranges) - end])
        return mine.without(other.ranges[begin : len(other.ranges) - end])


def _shared(one: tuple[Range, ...], two: tuple[Range, ...]) -> tuple[int, int]:
    """How many ranges are the same at the beginning, and behind these at the end."""
    most = min(len(one), len(two))
    begin = next(compress(count(), map(ne, one, two)), most)
    end = next(compress(count(), map(ne, reversed(one), reversed(two))), most)
    return begin, min(end, most - begin)


def _first(held: Range) -> int:
    return held[0]


def _last(held: Range) -> int:
    return held[1]
