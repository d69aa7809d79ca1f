"""Ids as ranges against sets of numbers, and what a change of many of them costs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tailer.state.ids
from tailer.errors import RefusedError
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


def test_as_text_by_hand() -> None:
    """In turn from the last id before to the first, and from the first to the last."""
    assert Ids([(100, 102), (105, 105)]).texts() == ["100 2 3 0"]
    for held in (Ids.from_texts(["100 2 3 0"]), Ids.from_texts(["100 2", "105 0"]), Ids.from_deltas([100, 2, 3, 0])):
        assert held.ranges == ((100, 102), (105, 105))
        assert held == Ids([(100, 102), (105, 105)])


@pytest.mark.parametrize(
    "deltas",
    [[1], [1, 0, 5], [-1, 0], [5, -1], [5, 1, -3, 0], [5, 1, 0, 0], [5, 1, 1, 0], [2**64, 0], [2**63, 0, 2**63, 0]],
)
def test_what_are_no_deltas(deltas: list[int]) -> None:
    """Odd, below 0, falling, ranges that overlap or touch, beyond 64 bits."""
    with pytest.raises(ValueError, match=r"ascending and apart|64 bits"):
        Ids.from_deltas(deltas)


def test_any_number_that_a_file_s_name_may_have() -> None:
    high = 10**19 - 1
    held = Ids.of([3, high])
    assert high in held
    assert Ids.from_texts(held.texts()) == held
    assert held.from_id(4) == Ids.of([high]) == held.minus(Ids.of([3]))
    assert held.below(high).with_ids([high]) == held


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    """So that few ranges have many blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tailer.state.ids, "BLOCK_RANGES", 3)
        yield


RANGES = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 9)).map(lambda each: (each[0], sum(each))), max_size=40)


def numbers(ranges: list[tuple[int, int]]) -> set[int]:
    return {number for first, last in ranges for number in range(first, last + 1)}


@given(RANGES, RANGES, RANGES, st.integers(0, 320), st.booleans())
def test_many_that_are_mostly_alike(
    shared: list[tuple[int, int]], one: list[tuple[int, int]], two: list[tuple[int, int]], at: int, fresh: bool
) -> None:
    """What a step changes of what there is, in whatever order and over whatever was there; `fresh`: as it is read."""
    base = NO_IDS.with_ranges(shared)
    base = Ids.from_texts(base.texts()) if fresh else base
    mine, other = base.with_ranges(one), base.with_ranges(two)
    mine_set, other_set = numbers(shared) | numbers(one), numbers(shared) | numbers(two)
    assert (mine, mine.size) == (of(mine_set), len(of(mine_set).ranges))
    assert mine.minus(other) == of(mine_set - other_set)
    assert mine.without(two) == of(mine_set - numbers(two))
    assert mine.plus(other) == other.plus(mine) == of(mine_set | other_set)
    assert mine.minus(other).plus(other).minus(other.minus(mine)) == mine
    assert mine.from_id(at) == of({number for number in mine_set if number >= at})
    assert mine.below(at) == of({number for number in mine_set if number < at})
    assert mine.below(at).plus(mine.from_id(at)) == mine
    assert mine.has_all(at, at + 3) == ({at, at + 1, at + 2, at + 3} <= mine_set)
    assert mine.first_not_in(at) == min(set(range(at, 999)) - mine_set)
    assert [number in mine for number in range(320)] == [number in mine_set for number in range(320)]
    assert hash(mine.minus(NO_IDS)) == hash(of(mine_set))
    assert (mine == other) == (mine_set == other_set)


def test_what_is_not_looked_into_stays_as_it_was_read() -> None:
    """A start costs by the newest, however many there are: of the others not even what is impossible is seen."""
    held = Ids.from_texts(["3 2 1 0", "100 5", "200 0"])
    assert 200 in held
    assert 100 not in held.from_id(150)
    grown = held.with_ids([300])
    assert grown.minus(held) == Ids.of([300])
    assert grown.texts()[0] == "3 2 1 0"
    with pytest.raises(RefusedError):
        _ = 4 in grown


def test_neighbours_alone_share_a_range() -> None:
    assert Ids.of([1, 2, 4]).ranges == ((1, 2), (4, 4))
    assert Ids([(1, 2), (4, 4)]).with_ids([3]).ranges == ((1, 4),)
