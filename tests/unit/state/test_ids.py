"""Ids as ranges against sets of numbers, and what a change of many of them costs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailer.state.ids import Ids, deltas_of, ranges_of

NUMBERS = st.integers(0, 30)
SETS = st.sets(NUMBERS)


def of(numbers: set[int]) -> Ids:
    """By hand: the ranges of neighbours."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return Ids(ranges)


@given(SETS, SETS, NUMBERS, st.integers(0, 10))
def test_they_are_what_sets_are(one: set[int], two: set[int], at: int, length: int) -> None:
    mine, between = of(one), set(range(at, at + length + 1))
    assert (set(mine), len(mine), bool(mine)) == (one, len(one), bool(one))
    assert [number in mine for number in range(32)] == [number in one for number in range(32)]
    assert Ids.of(one) == mine
    assert mine.with_ids(two) == of(one | two)
    assert mine.with_ranges([(at, at + length)]) == of(one | between)
    assert mine.without(of(two).ranges) == mine.minus(of(two)) == of(one - two)
    assert mine.from_id(at) == of({number for number in one if number >= at})
    assert mine.below(at) == of({number for number in one if number < at})
    assert list(mine.above(at)) == sorted(number for number in one if number > at)
    assert mine.has_all(at, at + length) == (between <= one)
    assert mine.first_not_in(at) == min(set(range(at, 99)) - one)


def test_what_changes_nothing_is_the_same_object() -> None:
    """So that who keeps it need not compare what is remembered of years."""
    held = Ids([(3, 4), (7, 7)])
    assert held.with_ids([]) is held.without([(5, 6)]) is held.from_id(3) is held.below(8) is held
    assert not held.minus(held)


@given(SETS)
def test_as_deltas(one: set[int]) -> None:
    ranges = of(one).ranges
    assert tuple(ranges_of(deltas_of(ranges))) == ranges
    assert deltas_of([(100, 102), (105, 105)]) == (100, 2, 3, 0)


def test_neighbours_alone_share_a_range() -> None:
    assert Ids.of([1, 2, 4]).ranges == ((1, 2), (4, 4))
    assert Ids([(1, 2), (4, 4)]).with_ids([3]).ranges == ((1, 4),)
