"""Ids as ranges against sets of numbers, and what a change of many of them costs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.state.ids import NO_IDS, Ids

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
    assert mine.with_ids(two) == mine.plus(of(two)) == of(one | two)
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
    assert held.with_ids([]) is held.without([(5, 6)]) is held.from_id(3) is held.below(8) is held.plus(NO_IDS) is held
    assert NO_IDS.plus(held) is held.plus(held) is held


def test_nothing_left_is_always_the_same_object() -> None:
    """Records leave it out by that."""
    held = Ids([(3, 4)])
    assert (
        held.minus(held) is held.without([(1, 9)]) is held.from_id(5) is held.below(3) is Ids.from_deltas([]) is NO_IDS
    )


@given(SETS)
def test_as_deltas(one: set[int]) -> None:
    assert Ids.from_deltas(of(one).deltas()) == of(one)


def test_as_deltas_by_hand() -> None:
    assert Ids([(100, 102), (105, 105)]).deltas() == [100, 2, 3, 0]
    assert Ids.from_deltas([100, 2, 3, 0]).ranges == ((100, 102), (105, 105))


@pytest.mark.parametrize(
    "deltas",
    [
        [1],
        [1, 0, 5],
        [-1, 0],
        [5, -1],
        [5, 1, -3, 0],
        [5, 1, 0, 0],
        [5, 1, 1, 0],
        [2**64, 0],
        [2**63, 0, 2**63, 0],
        [1.0, 0],
        ["1", "0"],
        [[1, 0]],
        [None, None],
        "12",
        7,
        {"1": 0},
    ],
)
def test_what_are_no_deltas(deltas: Any) -> None:
    """Odd, below 0, falling, ranges that overlap or touch, beyond 64 bits, no whole numbers."""
    with pytest.raises((ValueError, TypeError)):
        Ids.from_deltas(deltas)


def test_any_number_that_a_file_s_name_may_have() -> None:
    high = 10**19 - 1
    held = Ids.of([3, high])
    assert high in held
    assert Ids.from_deltas(held.deltas()) == held
    assert held.from_id(4) == Ids.of([high]) == held.minus(Ids.of([3]))
    assert held.below(high).with_ids([high]) == held


RANGES = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 9)), max_size=60)


@given(RANGES, RANGES, RANGES)
def test_many_that_are_mostly_alike(
    shared: list[tuple[int, int]], one: list[tuple[int, int]], two: list[tuple[int, int]]
) -> None:
    """What a step changes of what there is, in whatever order and over whatever was there."""

    def ranges(each: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(first, first + more) for first, more in each]

    def numbers(each: list[tuple[int, int]]) -> set[int]:
        return {number for first, last in ranges(each) for number in range(first, last + 1)}

    mine, other = (NO_IDS.with_ranges(ranges(shared)).with_ranges(ranges(each)) for each in (one, two))
    mine_set, other_set = numbers(shared) | numbers(one), numbers(shared) | numbers(two)
    assert mine == of(mine_set)
    assert mine.minus(other) == of(mine_set - other_set)
    assert mine.without(ranges(two)) == of(mine_set - numbers(two))
    assert mine.plus(other) == other.plus(mine) == of(mine_set | other_set)
    assert mine.minus(other).plus(other).minus(other.minus(mine)) == mine
    assert hash(mine.minus(NO_IDS)) == hash(of(mine_set))


def test_neighbours_alone_share_a_range() -> None:
    assert Ids.of([1, 2, 4]).ranges == ((1, 2), (4, 4))
    assert Ids([(1, 2), (4, 4)]).with_ids([3]).ranges == ((1, 4),)
