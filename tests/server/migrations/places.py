"""Where a history runs: one node, or three that keep every row three times. Knows no history and no consumer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Protocol

from tests.helpers.jvm.program import free_ports
from tests.server.cluster import cluster as clusters
from tests.server.harness import Node

SETTINGS = {"commitlog_sync_period": "100ms", "materialized_views_enabled": True}
QUICK = "-XX:TieredStopAtLevel=1"
HEADER_MOST = 200
"""Bytes of a segment's header, at most."""
STUCK_VIEW = '"this.viewMetadata" is null'
"""In the server's log: it refuses each write, and each hint, of a table whose view it failed to build and to drop."""


class Place(Protocol):
    """`path`: the log as consumers take it. `servers`: as `--server` takes them."""

    replication: int

    @property
    def path(self) -> str: ...

    @property
    def servers(self) -> str: ...

    def start(self) -> None: ...

    def disturb(self, rng: Random, title: str) -> str | None:
        """Before a step: a node may go down or come back. What was done."""
        ...

    def settle(self) -> None:
        """Behind the last step: all nodes are up, and have what they missed, in their logs too."""
        ...

    def session(self) -> Any:
        """A context manager that gives a CQL session."""
        ...

    def written(self) -> int:
        """The newest segment that the node which sessions go through has written to."""
        ...

    def kept(self) -> set[int]:
        """The segments that this node has left for consumers."""
        ...

    def kill(self) -> None: ...


class OneNode:
    replication = 1

    def __init__(self, folder: Path, version: str, network: str) -> None:
        address = f"{network}.1"
        self._node = Node(
            folder, SETTINGS, version=version, heap="512m", options=[QUICK], address=address,
            ports=free_ports(address, 2),
        )  # fmt: skip

    @property
    def path(self) -> str:
        return str(self._node.cdc_raw)

    @property
    def servers(self) -> str:
        return f"{self._node.address}:{self._node.cql_port}"

    def start(self) -> None:
        self._node.start()

    def disturb(self, rng: Random, title: str) -> str | None:
        return None

    def settle(self) -> None:
        self._node.sync()

    @contextmanager
    def session(self) -> Iterator[Any]:
        with self._node.session() as session:
            yield session

    def written(self) -> int:
        return written(self._node)

    def kept(self) -> set[int]:
        return kept(self._node)

    def kill(self) -> None:
        self._node.kill()


class ThreeNodes:
    """Node 1 stays up, for sessions go through it; each of the others is killed or stopped for some steps.

    All are up in steps that give a column another type, under the same id of the table. A node that was down meanwhile
    never takes the schema again: "Column mismatch" of `TableMetadata.validateCompatibility`, which compares what it has
    with what the others have by now. It takes no hints either, for they have columns that it does not know. Nor are
    there hints left then: the server would write them into the new table, with keys and values of other types.
    """

    replication = 3
    down_steps = (3, 8)
    all_up = ("add column again other type", "create again same id", "create again other key", "keyspace again")

    def __init__(self, folder: Path, version: str, network: str) -> None:
        if version != "5.0":
            raise ValueError(f"three nodes run 5.0, not {version}")
        clusters.NETWORK = network
        self._cluster = clusters.Cluster(folder, settings=SETTINGS)
        self._down: tuple[int, int] | None = None
        """Which node, and for how many steps more."""
        self._next = 2

    @property
    def path(self) -> str:
        return ",".join(f"{node.name}={node.cdc_raw}" for node in self._cluster.nodes.values())

    @property
    def servers(self) -> str:
        return ",".join(f"{node.name}={node.address}:{node.cql_port}" for node in self._cluster.nodes.values())

    def start(self) -> None:
        self._cluster.start()

    def disturb(self, rng: Random, title: str) -> str | None:
        needs_all = any(kind in title for kind in self.all_up)
        if self._down is not None:
            number, steps = self._down
            self._down = (number, steps - 1)
            if steps > 0 and not needs_all:
                return None
            self._down = None
            self._cluster.nodes[number].start_again()
            self._cluster.await_all_up()
            self._cluster.await_one_schema()
            if needs_all:
                self._await_no_hints()
            return f"n{number} is up again"
        if needs_all:
            self._await_no_hints()
        if needs_all or rng.random() > 0.15:
            return None
        number, self._next = self._next, 5 - self._next
        self._down = (number, rng.randint(*self.down_steps))
        if rng.random() < 0.5:
            self._cluster.nodes[number].kill()
            return f"n{number} is killed"
        self._cluster.nodes[number].stop()
        return f"n{number} is stopped"

    def settle(self) -> None:
        if self._down is not None:
            self._cluster.nodes[self._down[0]].start_again()
            self._down = None
        self._cluster.await_all_up()
        self._cluster.await_one_schema()
        self._await_no_hints()
        self._cluster.sync()

    def _await_no_hints(self) -> None:
        """A node that has kept a view behind its DROP takes no writes of the table until it is started again."""
        try:
            self._cluster.await_no_hints()
        except AssertionError:
            stuck = [node for node in self._cluster.nodes.values() if STUCK_VIEW in node.log()]
            if not stuck:
                raise
            for node in stuck:
                node.stop()
                node.start_again()
            self._cluster.await_all_up()
            self._cluster.await_no_hints()

    @contextmanager
    def session(self) -> Iterator[Any]:
        with self._cluster.session() as session:
            yield session

    def written(self) -> int:
        return written(self._cluster.nodes[1])

    def kept(self) -> set[int]:
        return kept(self._cluster.nodes[1])

    def kill(self) -> None:
        self._cluster.__exit__()


def written(node: Node) -> int:
    """A segment that is made ahead has a header and zeros."""
    found = sorted(_segments(node.commitlog).items(), reverse=True)
    return next(segment for segment, file in found if len(file.read_bytes().rstrip(b"\0")) > HEADER_MOST)


def kept(node: Node) -> set[int]:
    """Those with a sidecar: without one nobody reads a segment."""
    return {id for id, file in _segments(node.cdc_raw).items() if file.with_name(f"{file.stem}_cdc.idx").exists()}


def _segments(folder: Path) -> dict[int, Path]:
    return {int(file.stem.rpartition("-")[2]): file for file in folder.glob("CommitLog-*.log")}


def place(nodes: int, folder: Path, version: str, network: str) -> Place:
    return (OneNode if nodes == 1 else ThreeNodes)(folder, version, network)
