"""What reads a cluster's change rows, as the tests of a cluster see it: one `Reader`, whatever it is made of.

`Followers` is one `cdc-tail follow` for each node, beside it; `SparkReader` (`spark_reader.py`) one query over all of
them, elsewhere. Knows the nodes' folders, and not what is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from tailer.errors import SystemFailedError
from tailer.position import Position
from tests.server.cluster.cluster import ClusterNode
from tests.server.cluster.imaging import Imaging
from tests.server.cluster.spark_reader import SparkReader
from tests.server.followers import CommandFollower


class Reader(Protocol):
    """Reads all nodes from their logs' beginning, from `start` to `stop`. `failures`: what must not have happened.

    What is told of nodes and links is for readers that have something to do then: a process on each node that serves
    its log, a link to it. One that has nothing of the kind returns at once. Rows are asked for all the while, in
    another thread.
    """

    @property
    def failures(self) -> list[str]: ...

    def start(self, nodes: Sequence[ClusterNode]) -> None: ...

    def rows_so_far(self, after: int = 0) -> list[str]:
        """All rows given so far, but for the first `after`, as `--output json` writes them. They only become more."""
        ...

    def stop(self) -> None: ...

    def add(self, node: ClusterNode) -> None:
        """A node is about to join; its log folder is there, and empty."""
        ...

    def remove(self, node: ClusterNode) -> None:
        """A node has left for good, and its log is at its end: returns when all of it was read and it is given up."""
        ...

    def kill_server(self, node: ClusterNode) -> None:
        """What serves the node's log is killed, and Cassandra is not."""
        ...

    def restart_server(self, node: ClusterNode) -> None: ...

    def slow(self, node: ClusterNode, bytes_a_second: float | None) -> None:
        """The link to the node lets so much through; None: as much as there is."""
        ...

    def full(self, node: ClusterNode, is_full: bool) -> None:
        """Nothing can be written to the node's disk any more, a reader's position neither; False: there is room."""
        ...


class NodeFollower(CommandFollower):
    """`cdc-tail follow` of one node's folder, under the node's name."""

    def __init__(self, node: ClusterNode) -> None:
        super().__init__(node.name, interrupted=False)
        self._may_fail = False

    def full(self, is_full: bool) -> None:
        """Where its position cannot be written it ends, and is started again when that can be."""
        self._may_fail = is_full
        if not is_full and not self.running:
            self._run()

    def arguments(self, cdc_raw: Path, work: Path) -> list[str]:
        return ["follow", str(cdc_raw), "--output", "json", "--consumer", "f", "--node", self.name]

    def _failed(self, how: str, code: int) -> None:
        if not (self._may_fail and code == SystemFailedError.code):
            super()._failed(how, code)


class Followers:
    """A process for each node; their rows in the order in which they were looked at."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._all: list[NodeFollower] = []
        self._taken: dict[str, int] = {}
        self._rows: list[str] = []

    @property
    def failures(self) -> list[str]:
        return [told for follower in self._all for told in follower.failures]

    def start(self, nodes: Sequence[ClusterNode]) -> None:
        for node in nodes:
            self.add(node)

    def rows_so_far(self, after: int = 0) -> list[str]:
        for follower in list(self._all):
            rows, taken = follower.rows(), self._taken.get(follower.name, 0)
            self._rows += rows[taken:]
            self._taken[follower.name] = len(rows)
        return self._rows[after:]

    def stop(self) -> None:
        for follower in self._all:
            follower.stop()

    def add(self, node: ClusterNode) -> None:
        follower = NodeFollower(node)
        follower.start(node.cdc_raw, self._work)
        self._all.append(follower)

    def remove(self, node: ClusterNode) -> None:
        self._of(node).read_out()

    def kill_server(self, node: ClusterNode) -> None:
        """There is none: a folder is read."""

    def restart_server(self, node: ClusterNode) -> None:
        """As there is none to be killed."""

    def slow(self, node: ClusterNode, bytes_a_second: float | None) -> None:
        """There is no link."""

    def full(self, node: ClusterNode, is_full: bool) -> None:
        self._of(node).full(is_full)

    def _of(self, node: ClusterNode) -> NodeFollower:
        (follower,) = (each for each in self._all if each.name == node.name)
        return follower


class WithImages:
    """A `Reader`, and what makes images of the same nodes, which is told of them too."""

    def __init__(self, reader: Reader, imaging: Imaging) -> None:
        self._reader = reader
        self._imaging = imaging

    @property
    def failures(self) -> list[str]:
        return [*self._reader.failures, *self._imaging.failures]

    def start(self, nodes: Sequence[ClusterNode]) -> None:
        self._reader.start(nodes)
        self._imaging.follow(nodes)

    def rows_so_far(self, after: int = 0) -> list[str]:
        return self._reader.rows_so_far(after)

    def stop(self) -> None:
        self._imaging.stop()
        self._reader.stop()

    def add(self, node: ClusterNode) -> None:
        self._reader.add(node)
        self._imaging.add(node)

    def remove(self, node: ClusterNode) -> None:
        self._reader.remove(node)
        rows = [row for row in map(json.loads, self._reader.rows_so_far()) if row["node"] == node.name]
        self._imaging.remove(node, max(Position(row["segment"], row["offset"]) for row in rows))

    def kill_server(self, node: ClusterNode) -> None:
        self._reader.kill_server(node)

    def restart_server(self, node: ClusterNode) -> None:
        self._reader.restart_server(node)

    def slow(self, node: ClusterNode, bytes_a_second: float | None) -> None:
        self._reader.slow(node, bytes_a_second)

    def full(self, node: ClusterNode, is_full: bool) -> None:
        self._reader.full(node, is_full)


READERS: dict[str, Callable[[Path], Reader]] = {"followers": Followers, "spark": SparkReader}
"""What reads a cluster, made in a folder of its own; the tests are run with each."""
