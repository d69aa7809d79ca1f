"""Several real Cassandra nodes on this machine: one data centre, two racks, loopback addresses 127.0.77.N.

Nodes are killed, come back, join and leave; each is a `Node` with its own JVM, folder and commit log. Knows no workload
and no reader.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailer.position import Position
from tests.helpers.jvm.program import free_ports
from tests.server.cluster.awaited import awaited
from tests.server.cql import cql_session
from tests.server.harness import CommandFailed, Node

NETWORK = "127.0.77"
MOST_NODES = 9
TOKENS = 4
HEAP = "640m"
WAIT_SECONDS = 600
LOOK_SECONDS = 0.1
TOPOLOGY_SECONDS = 300
"""The longest that a repair, a bootstrap or a decommission may take."""
REPAIRS = 3
"""How often a repair is begun before it counts as failed."""

# Compiled by the quick compiler alone: three JVMs share two cores, and none lives long enough for the other. A node
# among others waits for gossip, but for less than on a network.
_JVM = (
    "-XX:TieredStopAtLevel=1",
    "-Xss512k",
    "-Dcassandra.ring_delay_ms=4000",
    "-Dcassandra.skip_wait_for_gossip_to_settle=-1",
    "-Dcassandra.gossip_settle_min_wait_ms=1000",
    "-Dcassandra.gossip_settle_interval_ms=300",
    "-Dcassandra.consistent.rangemovement=false",
)
_SETTINGS: Mapping[str, object] = {
    "num_tokens": TOKENS,
    "endpoint_snitch": "GossipingPropertyFileSnitch",
    "hints_flush_period": "1000ms",
    "dynamic_snitch": False,
    "concurrent_reads": 4,
    "concurrent_writes": 8,
    "native_transport_max_threads": 8,
    "key_cache_size": "4MiB",
    "counter_cache_size": "4MiB",
    "memtable_heap_space": "64MiB",
    "memtable_offheap_space": "64MiB",
    "file_cache_size": "32MiB",
    "networking_cache_size": "32MiB",
    "read_request_timeout": "10s",
    "range_request_timeout": "30s",
    "write_request_timeout": "3s",
}
"""Small, patient where a starved machine makes it wait, and the same on every node."""


class ClusterNode(Node):
    """Node `number`; node 1 is the seed. Racks take turns: r1 has the odd numbers, r2 the even ones."""

    def __init__(
        self, root: Path, number: int, ports: Sequence[int], settings: Mapping[str, object], logs: Path | None
    ) -> None:
        self.number = number
        self.name = f"n{number}"
        seeds = [{"seeds": f"{address_of(1)}:{ports[1]}"}]
        provider = {"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": seeds}
        super().__init__(
            root / self.name,
            {**_SETTINGS, "seed_provider": [provider], **settings},
            heap=HEAP,
            options=_JVM,
            address=address_of(number),
            ports=ports,
            logs=logs,
        )
        rack = f"dc=dc1\nrack=r{2 - number % 2}\n"
        (self.folder / "conf" / "cassandra-rackdc.properties").write_text(rack)

    def end(self) -> Position:
        """The last segment that has a sidecar, and how far that says it is durable."""
        sidecars = self.cdc_raw.glob("*_cdc.idx")
        found = {int(file.name.removesuffix("_cdc.idx").rpartition("-")[2]): file for file in sidecars}
        last = max(found)
        return Position(last, int(found[last].read_text().split()[0]))

    def repair(self, keyspace: str) -> None:
        """A full repair of every range of the keyspace. Begun again where it fails, as operators do: a busy node that
        answers too late fails it ("Got negative replies")."""
        for _ in range(REPAIRS):
            status, *text = self.command("repair", keyspace, seconds=TOPOLOGY_SECONDS)
            if status == "COMPLETED":
                return
            time.sleep(10)
        raise CommandFailed(f"repair of {keyspace} on {self.name}, {REPAIRS} times: {status} {' '.join(text)}")

    def decommission(self) -> None:
        """It gives its data to the others and leaves; its process goes on until it is stopped."""
        self.command("decommission", seconds=TOPOLOGY_SECONDS)

    def hand_off(self, on: bool) -> None:
        """Whether it keeps hints for nodes that are away."""
        self.command("handoff", str(on).lower())

    def log(self, behind: int = 0) -> str:
        """What the server has logged, from WARN on, behind so many bytes."""
        return self._log.read_bytes()[behind:].decode(errors="replace")

    @property
    def logged(self) -> int:
        """Bytes of its log."""
        return self._log.stat().st_size if self._log.exists() else 0

    @property
    def _log(self) -> Path:
        return self.folder / "system.log"

    @property
    def hinted(self) -> int:
        """Of how many nodes it has hints on its disk."""
        return int(self.command("hinted")[0])

    @property
    def live(self) -> set[str]:
        """Addresses of the nodes that it sees up, itself among them."""
        return {address.rpartition(":")[0] for address in self.command("live")}


class Cluster:
    """Nodes 1 to `count`, not started yet. A context manager: behind it no process is left.

    `settings`: cassandra.yaml keys of all nodes, `cdc_on_repair_enabled` say. `logs`: for some nodes, by number, the
    folder of their commit log and `cdc_raw` (on a small disk).
    """

    def __init__(
        self,
        root: Path,
        count: int = 3,
        *,
        settings: Mapping[str, object] | None = None,
        logs: Mapping[int, Path] | None = None,
    ) -> None:
        self.root = root
        self.nodes: dict[int, ClusterNode] = {}
        self._ports = free_ports(address_of(1), 2)
        self._settings = dict(settings or {})
        self._logs = dict(logs or {})
        self._first = count
        for number in range(1, count + 1):
            self.add(number)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            node.kill()

    def add(self, number: int) -> ClusterNode:
        """A node more, which bootstraps when it is started if it is none of the first ones."""
        settings = {**self._settings, **self._tokens(number)}
        made = ClusterNode(self.root, number, self._ports, settings, self._logs.get(number))
        made.cdc_raw.mkdir(parents=True, exist_ok=True)
        self.nodes[number] = made
        return made

    def start(self) -> None:
        """All nodes; returns when each sees each."""
        first, *rest = self.nodes.values()
        first.start()
        with ThreadPoolExecutor(max(1, len(rest))) as starting:
            list(starting.map(lambda node: node.start(), rest))
        self.await_all_up()

    def leave(self, number: int) -> ClusterNode:
        """The node gives its data away and ends; it is none of the cluster's any more."""
        node = self.nodes[number]
        node.decommission()
        node.stop()
        del self.nodes[number]
        return node

    def await_all_up(self) -> None:
        """Returns when every node sees every node up."""
        addresses = {node.address for node in self.nodes.values()}
        for node in self.nodes.values():
            awaited(
                lambda node=node: node.live >= addresses, f"{node.name} sees all nodes up", WAIT_SECONDS, LOOK_SECONDS
            )

    def await_one_schema(self) -> None:
        """Returns when every node has the schema of the others. One that was down takes it when it is up again."""
        texts = [f"SELECT schema_version FROM system.{table}" for table in ("local", "peers")]
        with self.nodes[1].session() as session:
            awaited(
                lambda: len({row[0] for text in texts for row in session.execute(text)}) == 1,
                "all nodes have one schema", WAIT_SECONDS, LOOK_SECONDS,
            )  # fmt: skip

    def await_no_hints(self) -> None:
        """Returns when no node keeps hints. Those in memory reach the disk, and count, within a second."""
        time.sleep(1.5)
        for node in self.nodes.values():
            awaited(
                lambda node=node: node.hinted == 0, f"{node.name} has handed its hints over", WAIT_SECONDS, LOOK_SECONDS
            )

    def sync(self) -> None:
        """Returns when what was written so far is under a marker on every node."""
        for node in self.nodes.values():
            node.sync()

    @contextmanager
    def session(self) -> Iterator[Any]:
        """A CQL session with all nodes, later ones too."""
        addresses = [node.address for node in self.nodes.values() if node.running]
        later = [address_of(number) for number in range(1, MOST_NODES + 1)]
        with cql_session(addresses, self.nodes[1].cql_port, later) as session:
            yield session

    def query(self, cql: str, level: str = "ALL", through: int = 1) -> list[str]:
        """The first column of each row; of `SELECT JSON` that is the row as JSON."""
        with self.nodes[through].session() as session:
            return [row[0] for row in session.execute(at_level(cql, level), timeout=TOPOLOGY_SECONDS)]

    def _tokens(self, number: int) -> dict[str, object]:
        """The first nodes share the ring evenly and have nothing to fetch; later ones choose, and bootstrap."""
        if number > self._first:
            return {"auto_bootstrap": True}
        step = 2**64 // (TOKENS * self._first)
        mine = [-(2**63) + 7 + step * (self._first * turn + number - 1) for turn in range(TOKENS)]
        return {"auto_bootstrap": False, "initial_token": ",".join(map(str, mine))}


def address_of(number: int) -> str:
    """Where node `number` listens."""
    return f"{NETWORK}.{number}"


def at_level(cql: str, level: str) -> Any:
    """A statement with its consistency level, by its name."""
    from cassandra import ConsistencyLevel
    from cassandra.query import SimpleStatement

    return SimpleStatement(cql, consistency_level=ConsistencyLevel.name_to_value[level])
