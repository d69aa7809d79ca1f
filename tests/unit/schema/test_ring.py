"""Which tokens a node is the first replica of: rings by hand, and against a walk round a ring, token by token."""

from __future__ import annotations

from bisect import bisect_left

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tailer.schema.ring import ALL_TOKENS, TOKEN_MAX, TOKEN_MIN, Host, Primaries, owned, primaries

SIMPLE = {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "2"}


def topology(**factors: str) -> dict[str, str]:
    return {"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", **factors}


def told(found: Primaries, keyspace: str, *tokens: int) -> list[bool] | None:
    held = found.holds(keyspace, np.array(tokens, np.int64))
    return None if held is None else held.tolist()


A, B, C = Host("a", "dc1", (0,)), Host("b", "dc1", (100,)), Host("c", "dc2", (200,))


def test_a_range_ends_at_its_owners_token_and_the_lowest_goes_over_the_end() -> None:
    # Ring: a at 0, b at 100, c at 200. b has (0, 100], c (100, 200], a what is above 200 and up to 0.
    assert owned(B, (A, B, C)) == ((0, 100),)
    assert owned(C, (A, B, C)) == ((100, 200),)
    assert owned(A, (A, B, C)) == ((TOKEN_MIN, 0), (200, TOKEN_MAX))


def test_tokens_at_the_edges() -> None:
    found = primaries(B, (A, C), {"ks": SIMPLE})
    assert told(found, "ks", TOKEN_MIN + 1, 0, 1, 100, 101, TOKEN_MAX) == [False, False, True, True, False, False]
    first = primaries(A, (B, C), {"ks": SIMPLE})
    assert told(first, "ks", TOKEN_MIN + 1, 0, 1, 200, 201, TOKEN_MAX) == [True, True, False, False, True, True]


def test_a_simple_strategy_goes_round_all_data_centres_a_topology_stays_in_ones_own() -> None:
    # Without c, a follows b: (100, 200] and all above is a's.
    found = primaries(A, (B, C), {"all": SIMPLE, "near": topology(dc1="2", dc2="1")})
    assert told(found, "all", 150, 250, -5) == [False, True, True]
    assert told(found, "near", 150, 250, -5, 50) == [True, True, True, False]
    # Alone in its data centre it is the first replica there of everything.
    assert told(primaries(C, (A, B), {"near": topology(dc1="2", dc2="1")}), "near", -5, 50, 250) == [True] * 3


def test_strategies_that_replicate_elsewhere_or_nowhere() -> None:
    keyspaces = {
        "far": topology(dc2="3"),
        "none": topology(dc1="0", dc2="3"),
        "transient": topology(dc1="3/1"),
        "local": {"class": "org.apache.cassandra.locator.LocalStrategy"},
        "odd": {"class": "com.example.OurStrategy", "dc1": "3"},
    }
    found = primaries(B, (A, C), keyspaces)
    assert told(found, "far", 50) == told(found, "none", 50) == [False]
    assert told(found, "transient", 50, 150) == [True, False]
    assert told(found, "local", 50, 150) == [True, True]
    assert told(found, "odd", 50) is told(found, "unheard", 50) is None
    # What several keyspaces share is there once.
    assert len(found.ranges) == 3


def test_neighbours_are_one_range_and_a_lone_node_has_all() -> None:
    vnodes = Host("v", "dc1", (10, 20, 30, 50))
    assert owned(vnodes, (vnodes, Host("w", "dc1", (40,)))) == ((TOKEN_MIN, 30), (40, TOKEN_MAX))
    assert owned(A, (A,)) == ALL_TOKENS
    assert owned(Host("x", "dc1", ()), (A,)) == ()


def test_it_travels() -> None:
    found = primaries(A, (B, C), {"ks": SIMPLE})
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=Primaries) == found
    assert msgspec.json.decode(msgspec.json.encode(found), type=Primaries) == found


TOKENS = st.integers(TOKEN_MIN + 1, TOKEN_MAX) | st.sampled_from([TOKEN_MIN + 1, -1, 0, 1, TOKEN_MAX])


@given(
    st.lists(TOKENS, min_size=1, max_size=24, unique=True),
    st.integers(1, 5),
    st.lists(TOKENS, min_size=1, max_size=12),
)
def test_every_token_has_one_first_replica_and_it_is_the_next_on_the_ring(
    ring: list[int], hosts: int, tokens: list[int]
) -> None:
    made = [Host(str(number), f"dc{number % 2}", tuple(ring[number::hosts])) for number in range(min(hosts, len(ring)))]
    owner = {token: host.id for host in made for token in host.tokens}
    for dc in (None, "dc0", "dc1"):
        near = [host for host in made if dc in (None, host.dc)]
        if not near:
            continue
        replication = SIMPLE if dc is None else topology(dc0="1", dc1="1")
        on_ring = sorted(token for host in near for token in host.tokens)
        found = {
            host.id: told(primaries(host, [o for o in made if o is not host], {"ks": replication}), "ks", *tokens)
            for host in near
        }
        for number, token in enumerate([*tokens]):
            wanted = owner[on_ring[bisect_left(on_ring, token) % len(on_ring)]]
            assert [id for id, flags in found.items() if flags is not None and flags[number]] == [wanted]
