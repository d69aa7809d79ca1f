"""Ranges of numbers, ascending and apart, in two arrays: looked up by bisection, never changed. Values only.

Not numpy's arrays: `clean` and `status` run every few minutes and do not load it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress, repeat
from operator import add, gt, sub
from typing import Final

Range = tuple[int, int]
"""First and last number, both included."""

BEYOND: Final = 2**64 - 1
"""No number is that high: a file's name has room for 19 digits."""


class Ranges:
    """Neighbours share a range: a number that was never there is never in one. Who has the arrays leaves them alone."""

    __slots__ = ("firsts", "lasts")

    def __init__(self, firsts: Iterable[int] = (), lasts: Iterable[int] = ()) -> None:
        self.firsts = firsts if isinstance(firsts, array) else array("Q", list(firsts))
        self.lasts = lasts if isinstance(lasts, array) else array("Q", list(lasts))

    @classmethod
    def from_deltas(cls, deltas: Sequence[int]) -> Ranges:
        """What `deltas` gives. ValueError for what it never gives, TypeError for what are no whole numbers."""
        lowest = ((deltas[:1], 0), (deltas[1::2], 0), (deltas[2::2], 2))
        if len(deltas) % 2 or any(min(steps, default=low) < low for steps, low in lowest):
            raise ValueError("these are no ranges of ids, ascending and apart")
        try:
            both = array("Q", list(accumulate(deltas)))
        except OverflowError as error:
            raise ValueError("an id is beyond 64 bits") from error
        return cls(both[::2], both[1::2])

    def deltas(self) -> Iterator[int]:
        """In turn how far a range's first number is from the last one before (from 0), and its last from its first."""
        both = list(chain.from_iterable(self.pairs()))
        return map(sub, both, chain((0,), both))

    def pairs(self) -> Iterator[Range]:
        return zip(self.firsts, self.lasts, strict=True)

    def __len__(self) -> int:
        """How many ranges there are."""
        return len(self.firsts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranges) and self.firsts == other.firsts and self.lasts == other.lasts

    __hash__ = None  # type: ignore[assignment]

    def slice(self, begin: int, end: int) -> Ranges:
        """Some of the ranges, by their places."""
        return Ranges(self.firsts[begin:end], self.lasts[begin:end])

    def within(self, first: int = 0, behind: int = BEYOND) -> Ranges:
        """What is from one number on and below another, higher one."""
        found = self.slice(bisect_left(self.lasts, first), bisect_left(self.firsts, behind))
        if found:
            found.firsts[0], found.lasts[-1] = max(found.firsts[0], first), min(found.lasts[-1], behind - 1)
        return found

    def has_all(self, first: int, last: int) -> bool:
        at = bisect_right(self.firsts, first) - 1
        return at >= 0 and last <= self.lasts[at]

    def first_not_in(self, number: int) -> int:
        """The lowest number from `number` on that is in none of these."""
        at = bisect_right(self.firsts, number) - 1
        return self.lasts[at] + 1 if at >= 0 and number <= self.lasts[at] else number

    def plus(self, firsts: Sequence[int], lasts: Sequence[int]) -> Ranges:
        """These and ranges whose first and whose last numbers are given, each ascending."""
        begins, ends = sorted([*self.firsts, *firsts]), sorted([*self.lasts, *lasts])
        # As many ranges have ended as have begun: there is none that goes on to the next.
        apart = list(map(gt, begins[1:], map(add, ends, repeat(1))))
        begun, ended = chain(begins[:1], compress(begins[1:], apart)), chain(compress(ends, apart), ends[-1:])
        return Ranges(begun, ended)

    def minus(self, other: Ranges) -> Ranges:
        """These but for other ones."""
        left, edge = Ranges(), 0
        for first, last in chain(other.pairs(), ((BEYOND, BEYOND),)):
            kept = self.within(edge, first)
            left.firsts += kept.firsts
            left.lasts += kept.lasts
            edge = last + 1
        return left
