"""Which tokens a node is the first replica of, keyspace by keyspace: of a ring and how keyspaces are replicated.

The replicas of a row stand clockwise on the ring: first the owner of the first ring token that is the row's or higher.
With `SimpleStrategy` that owner is the first replica, in whichever data centre (`SimpleStrategy.
calculateNaturalReplicas`). With `NetworkTopologyStrategy` each data centre has a first replica of its own, the owner of
the first such token **of that data centre**: its rack cannot matter yet (`NetworkTopologyStrategy.
DatacenterEndpoints.addEndpointAndCheckIfDone`). What is told here is that of the node's own data centre.

Murmur3 tokens. Pure: values in, values out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from tailer.limits import whole_number

MURMUR3: Final = "org.apache.cassandra.dht.Murmur3Partitioner"
TOKEN_MIN: Final = -(2**63)
TOKEN_MAX: Final = 2**63 - 1

_PACKAGE: Final = "org.apache.cassandra.locator."

TokenRange = tuple[int, int]
"""Tokens above the first and up to the second."""

ALL_TOKENS: Final[tuple[TokenRange, ...]] = ((TOKEN_MIN, TOKEN_MAX),)
"""No key has the lowest token: the partitioner gives it the highest instead."""


class Host(NamedTuple):
    """A node of the ring."""

    id: str
    dc: str
    tokens: tuple[int, ...]
    rack: str = ""


class Primaries(msgspec.Struct, frozen=True, dict=True):
    """What one node is the first replica of. `ranges`: ascending and apart; `keyspaces`: which of them is a keyspace's.

    A keyspace that is not named is one of which nobody can tell.
    """

    keyspaces: Mapping[str, int] = {}
    ranges: tuple[tuple[TokenRange, ...], ...] = ()

    def holds(self, keyspace: str, tokens: Any) -> Any:
        """Which of these tokens (an array of int64) the node is the first replica of; None: that cannot be told."""
        import numpy as np

        number = self.keyspaces.get(keyspace)
        if number is None:
            return None
        lows, highs = self._edges[number]
        if not len(highs):
            return np.zeros(len(tokens), np.bool_)
        at = np.searchsorted(highs, tokens)
        # Behind the last range there is none, whatever the last one begins with.
        return (at < len(highs)) & (lows[np.minimum(at, len(highs) - 1)] < tokens)

    @cached_property
    def _edges(self) -> list[tuple[Any, Any]]:
        import numpy as np

        return [
            (np.array([low for low, _ in ranges], np.int64), np.array([high for _, high in ranges], np.int64))
            for ranges in self.ranges
        ]


def primaries(own: Host, others: Iterable[Host], replications: Mapping[str, Mapping[str, str]]) -> Primaries:
    """What `own` is the first replica of. `replications`: `system_schema.keyspaces`' by keyspace.

    Keyspaces of another strategy than Cassandra's own two and `LocalStrategy` are left out.
    """
    hosts = (own, *others)
    near = [host for host in hosts if host.dc == own.dc]
    keyspaces: dict[str, int] = {}
    found: list[tuple[TokenRange, ...]] = []
    for keyspace, replication in sorted(replications.items()):
        match simple_class(replication):
            case "LocalStrategy":
                ranges = ALL_TOKENS
            case "SimpleStrategy":
                ranges = owned(own, hosts)
            case "NetworkTopologyStrategy":
                ranges = owned(own, near) if replica_count(replication.get(own.dc)) else ()
            case _:
                continue
        if ranges not in found:
            found.append(ranges)
        keyspaces[keyspace] = found.index(ranges)
    return Primaries(keyspaces, tuple(found))


def owned(own: Host, hosts: Sequence[Host]) -> tuple[TokenRange, ...]:
    """The ranges that end at tokens of `own`, on the ring of these hosts; the one over its end is two."""
    ring = sorted((token, host is own) for host in hosts for token in host.tokens)
    if not ring or all(ours for _, ours in ring):
        return ALL_TOKENS if ring else ()
    ranges: list[TokenRange] = []
    before = TOKEN_MIN
    for token, ours in ring:
        if ours and token > before:
            ranges.append((before, token))
        before = token
    # Above the last token of the ring the first one's owner goes on.
    if ring[0][1] and before < TOKEN_MAX:
        ranges.append((before, TOKEN_MAX))
    return _joined(ranges)


def _joined(ranges: Iterable[TokenRange]) -> tuple[TokenRange, ...]:
    """Neighbours as one."""
    joined: list[TokenRange] = []
    for low, high in ranges:
        if joined and joined[-1][1] == low:
            joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return tuple(joined)


def simple_class(replication: Mapping[str, str]) -> str:
    """The name of a strategy's class, without the package that is Cassandra's."""
    return replication.get("class", "").removeprefix(_PACKAGE)


def replica_count(factor: str | None) -> int:
    """Of `3`, and of `3/1`, one of which is transient."""
    return whole_number((factor or "0").partition("/")[0]) or 0
