"""The ring cut into ranges: whole, without a gap, and by who holds what."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.options.token_range import TokenRange
from tailer.schema.extras import Origin
from tailer.schema.replicas import replicas, ring_of
from tailer.schema.ring import MURMUR3, TOKEN_MAX, TOKEN_MIN, Host
from tailer.schema.server_place import ServerPlace
from tailer.snapshot.ranges import HeldRange, Range, cut, held_ranges, joined, within, without

SIMPLE = {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "2"}
A, B, C, D = (Host(name, "dc1", (at, at + 5), rack) for at, (name, rack) in enumerate(["ar", "br", "cs", "ds"]))
TOKENS = st.integers(TOKEN_MIN, TOKEN_MAX)
RANGES = st.tuples(TOKENS, TOKENS).map(lambda both: (min(both), max(both))).filter(lambda both: both[0] < both[1])


def test_simple_strategy_takes_the_next_owners_clockwise() -> None:
    ring = ring_of([A, B, C])
    assert replicas(ring, SIMPLE, 1) == {"b", "c"}
    assert replicas(ring, SIMPLE, 2) == {"c", "a"}
    assert replicas(ring, SIMPLE, 8) == {"a", "b"}
    assert replicas(ring, {**SIMPLE, "replication_factor": "9"}, 0) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("factor", "token", "found"),
    [
        ("2", 0, {"a", "c"}),
        ("2", 1, {"b", "c"}),
        ("3", 0, {"a", "b", "c"}),
        ("1", 3, {"d"}),
        ("4", 2, {"a", "b", "c", "d"}),
    ],
)
def test_a_data_centre_spreads_over_its_racks(factor: str, token: int, found: set[str]) -> None:
    """A second node of a rack only as often as there are fewer racks than replicas."""
    replication = {"class": "NetworkTopologyStrategy", "dc1": factor, "dc2": "3"}
    assert replicas(ring_of([A, B, C, D]), replication, token) == found


def test_each_data_centre_has_its_own() -> None:
    far = Host("z", "dc2", (3,), "r")
    replication = {"class": "NetworkTopologyStrategy", "dc1": "1", "dc2": "1"}
    assert replicas(ring_of([A, B, far]), replication, 1) == {"b", "z"}


def test_of_another_strategy_nobody_can_tell() -> None:
    assert replicas(ring_of([A]), {"class": "com.example.Mine"}, 0) is None
    assert not HeldRange(0, 1, None).followed(["a"])


def test_the_ring_is_cut_where_its_replicas_are_others() -> None:
    place = ServerPlace(Origin("c", "dc1", "r"), MURMUR3, A, (B, C), {})
    found = held_ranges(place, {**SIMPLE, "replication_factor": "1"})
    assert [(each.low, each.high) for each in found][:3] == [(TOKEN_MIN, 0), (0, 1), (1, 2)]
    assert found[-1] == HeldRange(7, TOKEN_MAX, frozenset("a"))
    assert held_ranges(place, {**SIMPLE, "replication_factor": "3"}) == [
        HeldRange(TOKEN_MIN, TOKEN_MAX, frozenset("abc"))
    ]


@given(RANGES, st.integers(1, 100))
def test_a_cut_leaves_nothing_out(whole: Range, parts: int) -> None:
    found = cut([HeldRange(*whole, frozenset("a"))], parts)
    assert (found[0].low, found[-1].high) == whole
    assert all(one.high == other.low for one, other in pairwise(found))
    assert all(each.low < each.high and each.high - each.low <= (TOKEN_MAX - TOKEN_MIN) // parts + 1 for each in found)


@given(RANGES, st.lists(RANGES, max_size=6), st.lists(TOKENS, max_size=20))
def test_what_is_left_is_what_is_not_done(whole: Range, some: list[Range], tokens: list[int]) -> None:
    done: list[Range] = []
    for each in some:
        done = joined(done, each)
    assert done == sorted(done)
    assert all(one[1] < other[0] for one, other in pairwise(done))
    left = without(whole, done)
    edges = [edge + step for each in (*some, whole) for edge in each for step in (0, 1)]
    for token in (*tokens, *edges):
        is_left = lies(token, [whole]) and not lies(token, some)
        assert lies(token, left) == is_left, token
        assert lies(token, done) == lies(token, some), token


def lies(token: int, ranges: list[Range]) -> bool:
    return any(low < token <= high for low, high in ranges)


def test_of_a_range_of_tokens_both_ends_are_in_it() -> None:
    assert within([(0, 10), (10, 20)], TokenRange(5, 12)) == [(4, 10), (10, 12)]
    assert within([(TOKEN_MIN, 0)], TokenRange(TOKEN_MIN, TOKEN_MIN + 1)) == [(TOKEN_MIN, TOKEN_MIN + 1)]
    assert within([(0, 10)], None) == [(0, 10)]
