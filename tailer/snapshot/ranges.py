"""The ranges of tokens that a table is read by: cut where its replicas are others, and where they are large. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tailer.options.token_range import TokenRange
from tailer.schema.replicas import replicas, ring_of
from tailer.schema.ring import TOKEN_MAX, TOKEN_MIN
from tailer.schema.server_place import ServerPlace

Range = tuple[int, int]
"""Tokens above the first and up to the second."""

_TOKENS: Final = TOKEN_MAX - TOKEN_MIN


class HeldRange(NamedTuple):
    """`nodes`: the ids of those that hold it; None where nobody can tell."""

    low: int
    high: int
    nodes: frozenset[str] | None

    def followed(self, nodes: Collection[str]) -> bool:
        """Whether whoever holds it is one of these."""
        return self.nodes is not None and self.nodes <= set(nodes)


def ring_ranges(place: ServerPlace) -> list[Range]:
    """The ring cut at every token that a node has: what is between has the same replicas."""
    tokens = sorted({token for host in (place.own, *place.others) for token in host.tokens} - {TOKEN_MIN, TOKEN_MAX})
    edges = [TOKEN_MIN, *tokens, TOKEN_MAX]
    return list(pairwise(edges))


def held_ranges(place: ServerPlace, replication: Mapping[str, str]) -> list[HeldRange]:
    """The ring cut where the replicas of a keyspace are others."""
    ring = ring_of((place.own, *place.others))
    found: list[HeldRange] = []
    for low, high in ring_ranges(place):
        nodes = replicas(ring, replication, high)
        if found and found[-1].nodes == nodes:
            found[-1] = found[-1]._replace(high=high)
        else:
            found.append(HeldRange(low, high, nodes))
    return found


def cut(ranges: Iterable[HeldRange], parts: int) -> list[HeldRange]:
    """The same in pieces, none of which has more than one in so many parts of the ring."""
    most = max(_TOKENS // parts, 1)
    found = []
    for held in ranges:
        count = -(-(held.high - held.low) // most)
        edges = [held.low + (held.high - held.low) * at // count for at in range(count + 1)]
        found += [held._replace(low=low, high=high) for low, high in pairwise(edges)]
    return found


def within(ranges: Iterable[Range], tokens: TokenRange | None) -> list[Range]:
    """The parts of ranges that some tokens lie in, both ends of which are in it; None: all."""
    if tokens is None:
        return list(ranges)
    return _parts(ranges, tokens.first - 1 if tokens.first > TOKEN_MIN else TOKEN_MIN, tokens.last)


def without(wanted: Range, done: Iterable[Range]) -> list[Range]:
    """What of a range is not in others."""
    left = [wanted]
    for low, high in done:
        left = [*_parts(left, TOKEN_MIN, low), *_parts(left, high, TOKEN_MAX)]
    return left


def joined(done: Sequence[Range], more: Range) -> list[Range]:
    """With one more, neighbours as one."""
    found: list[Range] = []
    for low, high in sorted([*done, more]):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _parts(ranges: Iterable[Range], above: int, upto: int) -> list[Range]:
    cuts = [(max(low, above), min(high, upto)) for low, high in ranges]
    return [(low, high) for low, high in cuts if low < high]
