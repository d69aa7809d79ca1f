"""What a live server says of where it stands: cluster, data centre and rack, the ring, how keyspaces are replicated.

Of its `system.local`, `system.peers` and `system_schema.keyspaces`: what this node knows, which is what it writes by.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from tailer.errors import SystemFailedError, UsageError
from tailer.schema.extras import Origin
from tailer.schema.ring import MURMUR3, Host, Primaries, primaries
from tailer.schema.server import READINGS, TIMEOUT_SECONDS, Server, Session, open_session

_LOCAL = "SELECT cluster_name, data_center, rack, host_id, partitioner, tokens, release_version FROM system.local"
_PEERS = "SELECT host_id, data_center, tokens, rack, peer, rpc_address FROM system.peers"
_KEYSPACES = "SELECT keyspace_name, replication FROM system_schema.keyspaces"


class ServerPlace(NamedTuple):
    """One node as it sees itself, and the others. `release`: its own, such as `5.0.9`. `addresses`: of the others, each
    with the id of whose it is."""

    origin: Origin
    partitioner: str
    own: Host
    others: tuple[Host, ...]
    replications: Mapping[str, Mapping[str, str]]
    release: str = ""
    addresses: Mapping[str, str] = MappingProxyType({})

    def check_tokens(self, server: object, what: str) -> None:
        """UsageError, which says `what` goes by tokens, for a partitioner that is not Murmur3's."""
        if self.partitioner != MURMUR3:
            raise UsageError(what, file=str(server), expected=MURMUR3, found=self.partitioner)

    def primaries(self, server: object) -> Primaries:
        """What it is the first replica of. UsageError for a partitioner by whose tokens rows are not told apart."""
        if self.partitioner != MURMUR3:
            raise UsageError(
                "which replica a row's first one is cannot be told on this server: a row's token is Murmur3's",
                file=str(server),
                expected=MURMUR3,
                found=self.partitioner,
                remedy="Leave out replicas=primary and withPrimary (--replicas, --with-primary).",
            )
        return primaries(self.own, self.others, self.replications)


def read_place(server: Server) -> ServerPlace:
    """What the server says now. Raises as `read_server` does."""
    with open_session(server) as session:
        return place_of(session, server)


def place_of(session: Session, server: object) -> ServerPlace:
    """The same over a session that is open. SystemFailedError where it does not know itself yet.

    Its tables are read one after the other: until two readings in succession are equal, so that all are of one moment.
    """
    before = _read_place_once(session, server)
    for _ in range(READINGS):
        found = _read_place_once(session, server)
        if found == before:
            return found
        before = found
    raise SystemFailedError(
        "what the server says of its ring changed each time while it was read",
        file=str(server),
        expected="two equal readings in succession",
        found=f"none of {READINGS + 1}",
        remedy="Ask again when no node joins or leaves.",
    )


def _read_place_once(session: Session, server: object) -> ServerPlace:
    local = next(iter(session.execute(_LOCAL, timeout=TIMEOUT_SECONDS)), None)
    if local is None or None in tuple(local):
        raise SystemFailedError(
            "the server does not say where it stands", file=str(server), remedy="Ask it again when it has joined."
        )
    cluster, dc, rack, id, partitioner, tokens, release = local
    murmur3 = partitioner == MURMUR3
    peers = [tuple(row) for row in session.execute(_PEERS, timeout=TIMEOUT_SECONDS)]
    keyspaces = session.execute(_KEYSPACES, timeout=TIMEOUT_SECONDS)
    return ServerPlace(
        Origin(cluster, dc, rack),
        partitioner,
        Host(str(id), dc, _tokens(tokens) if murmur3 else (), rack),
        # One without tokens has not joined; nor has one whose data centre nobody knows yet.
        tuple(Host(str(id), dc, _tokens(ts), rack or "") for id, dc, ts, rack, *_ in peers if id and dc and ts)
        if murmur3
        else (),
        {name: dict(replication) for name, replication in map(tuple, keyspaces)},
        release,
        {str(address): str(id) for id, *_, peer, rpc in peers if id for address in (peer, rpc) if address},
    )


def _tokens(texts: object) -> tuple[int, ...]:
    return tuple(sorted(map(int, texts)))  # type: ignore[call-overload]  # a set of texts, whatever the driver's is
