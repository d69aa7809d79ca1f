"""Which nodes of a ring hold a token: of the ring and how a keyspace is replicated.

`SimpleStrategy.calculateNaturalReplicas`: the owners of the ring tokens from the token on, clockwise, until there are
enough. `NetworkTopologyStrategy.DatacenterEndpoints.addEndpointAndCheckIfDone`: in each data centre likewise, and a
node in a rack that has one already only as often as there are fewer racks than replicas.

Pure: values in, values out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from tailer.schema.ring import Host, replica_count, simple_class

Ring = Sequence[tuple[int, Host]]
"""Tokens with their owners, ascending."""


def ring_of(hosts: Iterable[Host]) -> Ring:
    return sorted((token, host) for host in hosts for token in host.tokens)


def replicas(ring: Ring, replication: Mapping[str, str], token: int) -> frozenset[str] | None:
    """The ids of the nodes that hold a token; None for a strategy of which nobody can tell.

    `replication`: the keyspace's of `system_schema.keyspaces`.
    """
    at = bisect_left(ring, token, key=lambda each: each[0])
    clockwise = [host for _, host in (*ring[at:], *ring[:at])]
    match simple_class(replication):
        case "SimpleStrategy":
            found = list(dict.fromkeys(clockwise))[: replica_count(replication.get("replication_factor"))]
        case "NetworkTopologyStrategy":
            found = [host for dc in {host.dc for host in clockwise} for host in _of_dc(clockwise, dc, replication)]
        case "LocalStrategy":
            found = []
        case _:
            return None
    return frozenset(host.id for host in found)


def _of_dc(clockwise: Iterable[Host], dc: str, replication: Mapping[str, str]) -> list[Host]:
    hosts = list(dict.fromkeys(host for host in clockwise if host.dc == dc))
    wanted = replica_count(replication.get(dc))
    repeats = wanted - len({host.rack for host in hosts})
    found: list[Host] = []
    racks: set[str] = set()
    for host in hosts:
        if len(found) == min(wanted, len(hosts)):
            break
        if host.rack in racks:
            if repeats <= 0:
                continue
            repeats -= 1
        racks.add(host.rack)
        found.append(host)
    return found
