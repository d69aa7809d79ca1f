"""Ids of segments as sorted ranges: looked up by bisection, changed by making others. Values only.

There may be a hundred thousand ranges after years, so they are numbers in two arrays and no objects each. Not numpy's:
`clean` and `status` run every few minutes and do not load it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress, islice, repeat
from operator import add, gt, sub
from typing import Final

Range = tuple[int, int]
"""First and last id, both included."""

_BEYOND: Final = 2**64 - 1
"""No id is that high: a file's name has room for 19 digits."""

_AT_ONCE: Final = 8192
"""So many numbers are objects at a time while they are put into an array."""


class Ids(Collection[int]):
    """Ids kept as ranges, ascending and apart: neighbours share one, and an id that was never there is never in one."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        """Of ranges that are ascending and apart already; of others see `with_ranges`."""
        both = _array(chain.from_iterable(ranges))
        self._firsts, self._lasts = both[::2], both[1::2]

    @classmethod
    def of(cls, ids: Iterable[int]) -> Ids:
        return NO_IDS.with_ids(ids)

    @classmethod
    def from_deltas(cls, deltas: Sequence[int]) -> Ids:
        """What `deltas` gives. ValueError for what it never gives, TypeError for what are no whole numbers."""
        lowest = ((deltas[:1], 0), (deltas[1::2], 0), (deltas[2::2], 2))
        if len(deltas) % 2 or any(min(steps, default=low) < low for steps, low in lowest):
            raise ValueError("these are no ranges of ids, ascending and apart")
        try:
            both = _array(accumulate(deltas))
        except OverflowError as error:
            raise ValueError("an id is beyond 64 bits") from error
        return _of(both[::2], both[1::2])

    def deltas(self) -> list[int]:
        """As text has them, some bytes a range: in turn how far its first id is from the last one before, and its last
        from its first.
        """
        both = list(chain.from_iterable(self._pairs()))
        return list(map(sub, both, chain((0,), both)))

    @property
    def ranges(self) -> tuple[Range, ...]:
        """All of them, made when asked for."""
        return tuple(self._pairs())

    @property
    def firsts(self) -> Sequence[int]:
        """Where the ranges begin."""
        return self._firsts

    @property
    def lasts(self) -> Sequence[int]:
        """Where they end."""
        return self._lasts

    def __contains__(self, segment: object) -> bool:
        assert isinstance(segment, int)
        return self.has_all(segment, segment)

    def __iter__(self) -> Iterator[int]:
        return (segment for first, last in self._pairs() for segment in range(first, last + 1))

    def __len__(self) -> int:
        return sum(self._lasts) - sum(self._firsts) + len(self._firsts)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Ids) and self._firsts == other._firsts and self._lasts == other._lasts
        )

    def __hash__(self) -> int:
        return hash((len(self._firsts), *self._firsts[-1:], *self._lasts[-1:]))

    def __repr__(self) -> str:
        return f"Ids({self.ranges!r})"

    def above(self, segment: int) -> Iterator[int]:
        """The ids beyond one, ascending."""
        return iter(self.from_id(segment + 1))

    def from_id(self, segment: int) -> Ids:
        """Those that are not below one."""
        return _of(*self._within(segment, _BEYOND)) if self and self._firsts[0] < segment else self

    def below(self, segment: int) -> Ids:
        """Those that are below one."""
        return _of(*self._within(0, segment)) if self and self._lasts[-1] >= segment else self

    def has_all(self, first: int, last: int) -> bool:
        """Whether every id from `first` to `last` is among these."""
        at = bisect_right(self._firsts, first) - 1
        return at >= 0 and last <= self._lasts[at]

    def first_not_in(self, segment: int) -> int:
        """The lowest id from `segment` on that is not among these."""
        at = bisect_right(self._firsts, segment) - 1
        return self._lasts[at] + 1 if at >= 0 and segment <= self._lasts[at] else segment

    def with_ids(self, more: Iterable[int]) -> Ids:
        """These and more."""
        added = sorted(more)
        return self._with(added, added)

    def with_ranges(self, more: Iterable[Range]) -> Ids:
        """These and those of other ranges, in any order."""
        added = list(more)
        return self._with(sorted(first for first, _ in added), sorted(last for _, last in added))

    def plus(self, other: Ids) -> Ids:
        """These and the other ones."""
        return self._with(other._firsts, other._lasts) if self and self is not other else other

    def without(self, gone: Iterable[Range]) -> Ids:
        """These but for those of other ranges, in any order."""
        return self.minus(NO_IDS.with_ranges(gone))

    def minus(self, other: Ids) -> Ids:
        """These but for the other ones."""
        if self is other:
            return NO_IDS
        # What both have alike at their ends is most often nearly everything.
        begin, end = _shared(self, other)
        mine = _of(*self._slice(begin, len(self._firsts) - end)) if begin or end else self
        firsts, lasts, edge = array("Q"), array("Q"), 0
        for first, last in (*zip(*other._slice(begin, len(other._firsts) - end), strict=True), (_BEYOND, _BEYOND)):
            kept = mine._within(edge, first)
            firsts += kept[0]
            lasts += kept[1]
            edge = last + 1
        left = _of(firsts, lasts)
        return mine if left == mine else left

    def _with(self, firsts: Sequence[int], lasts: Sequence[int]) -> Ids:
        """These and those of ranges whose first and whose last ids are given, each ascending."""
        if not firsts:
            return self
        # What is below the first of them stays as it is: most often that is nearly everything.
        at = bisect_left(self._lasts, firsts[0] - 1)
        begins, ends = sorted([*self._firsts[at:], *firsts]), sorted([*self._lasts[at:], *lasts])
        # As many ranges have ended as have begun: there is none that goes on to the next.
        apart = list(map(gt, begins[1:], map(add, ends, repeat(1))))
        begun, ended = chain(begins[:1], compress(begins[1:], apart)), chain(compress(ends, apart), ends[-1:])
        return _of(self._firsts[:at] + _array(begun), self._lasts[:at] + _array(ended))

    def _within(self, first: int, behind: int) -> tuple[array[int], array[int]]:
        """Those from an id on that are below another, higher one."""
        firsts, lasts = self._slice(bisect_left(self._lasts, first), bisect_left(self._firsts, behind))
        if firsts:
            firsts[0], lasts[-1] = max(firsts[0], first), min(lasts[-1], behind - 1)
        return firsts, lasts

    def _slice(self, begin: int, end: int) -> tuple[array[int], array[int]]:
        return self._firsts[begin:end], self._lasts[begin:end]

    def _pairs(self) -> Iterator[Range]:
        return zip(self._firsts, self._lasts, strict=True)


def _of(firsts: array[int], lasts: array[int]) -> Ids:
    """Nobody else may have the arrays. None at all are always the same object, which records leave out."""
    if not firsts:
        return NO_IDS
    made = Ids.__new__(Ids)
    made._firsts, made._lasts = firsts, lasts
    return made


def _array(numbers: Iterable[int]) -> array[int]:
    made, left = array("Q"), iter(numbers)
    while some := list(islice(left, _AT_ONCE)):
        made.fromlist(some)
    return made


def _shared(one: Ids, two: Ids) -> tuple[int, int]:
    """How many ranges are the same at the beginning, and behind these at the end."""
    pairs = ((one._firsts, two._firsts), (one._lasts, two._lasts))
    most = min(len(one._firsts), len(two._firsts))
    begin = min(_alike(mine, other, most) for mine, other in pairs)
    left = most - begin
    end = min(_alike(mine[: -left - 1 : -1], other[: -left - 1 : -1], left) for mine, other in pairs)
    return begin, end


def _alike(one: array[int], two: array[int], most: int) -> int:
    """How many of the first numbers, `most` at most, are the same."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            most = middle - 1
    return low


NO_IDS: Final = Ids()
