"""The servers of a run's nodes, and which of them hold what of a table. Asks them; reads no table."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable, Mapping, Sequence

from tailer.definitions.outside import server_of
from tailer.errors import SystemFailedError, UsageError
from tailer.options.tail import TailOptions, of_node
from tailer.schema.server import Server, open_session
from tailer.schema.server_place import ServerPlace, place_of
from tailer.snapshot.ranges import HeldRange, held_ranges


def servers_of(options: Mapping[str, TailOptions]) -> dict[str, Server]:
    """By node its own server, of those that name one. UsageError where several nodes share one."""
    found = {name: server_of(of_node(each)) for name, each in options.items()}
    return {name: server for name, server in found.items() if server is not None}


class Nodes:
    """`servers`: the server of each node. `ask` reads their ring, and reads it again for a keyspace created later."""

    def __init__(self, servers: Mapping[str, Server]) -> None:
        self.servers = servers
        self._ids: dict[str, str] = {}
        self._place: ServerPlace | None = None

    def check(self, names: Iterable[str]) -> None:
        """UsageError unless each of these nodes has a server of its own."""
        lacking = [name for name in names if name not in self.servers]
        if lacking:
            raise UsageError(
                "a snapshot is read from the servers of its nodes",
                expected="--server HOST, or NODE=HOST,NODE=HOST for several nodes",
                found=f"none of {', '.join(lacking)}",
            )
        if len(set(self.servers.values())) < len(self.servers):
            raise UsageError(
                "one server for several nodes does not tell which of them hold what",
                expected="server as NODE=HOST,NODE=HOST",
                remedy="Name each node's own server by the node's name.",
            )

    def ask(self) -> None:
        """Of a server that is away its neighbours tell. Raises as `read_server` where none of them answers, or none
        tells of another; UsageError for a ring that is none of Murmur3's tokens."""
        away: dict[str, SystemFailedError] = {}
        places: list[ServerPlace] = []
        for name, server in self.servers.items():
            try:
                with open_session(server) as session:
                    place = place_of(session, server)
            except SystemFailedError as error:
                away[name] = error
                continue
            place.check_tokens(server, "a snapshot goes by Murmur3's tokens")
            places.append(place)
            self._ids[name] = place.own.id
        for name, fault in away.items():
            self._ids[name] = _told(self.servers[name], places, fault)
        self._place = min(places, key=lambda each: each.release) if places else None

    @property
    def asked(self) -> bool:
        """Whether they have been."""
        return self._place is not None

    @property
    def release(self) -> str:
        """Of the servers, such as `5.0.9`: of the oldest one where they differ."""
        return self._known.release

    def has(self, keyspace: str) -> bool:
        """Whether there was a keyspace when they were asked last."""
        return keyspace in self._known.replications

    def ranges(self, keyspace: str) -> list[HeldRange]:
        """The ring, cut where the replicas of a keyspace are others."""
        place = self._known
        return held_ranges(place, place.replications.get(keyspace, {}))

    def holders(self, held: HeldRange) -> list[str]:
        """The names of the nodes of this run that hold a range."""
        return [name for name, id in self._ids.items() if held.nodes is not None and id in held.nodes]

    def follows(self, held: HeldRange) -> bool:
        """Whether all that hold it are of this run."""
        return held.followed(self._ids.values())

    @property
    def _known(self) -> ServerPlace:
        assert self._place is not None, "they were asked"
        return self._place


def range_of(token: int, ranges: Sequence[HeldRange]) -> HeldRange:
    """The one that a token lies in."""
    return next(each for each in ranges if token <= each.high)


def share(ranges: Collection[HeldRange]) -> float:
    """How much of the ring ranges are."""
    return sum(each.high - each.low for each in ranges) / 2**64


def _told(server: Server, places: Sequence[ServerPlace], error: SystemFailedError) -> str:
    """The id of a server that does not answer, as others know it; its error where none does."""
    try:
        addresses = {found[4][0] for found in socket.getaddrinfo(server.host, None)}
    except OSError:
        addresses = {server.host}
    for place in places:
        for address in addresses & place.addresses.keys():
            return place.addresses[str(address)]
    raise error
