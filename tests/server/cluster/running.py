"""A cluster with its schema, a reader of all its nodes and a workload, put together for a test."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.server.cluster.arrivals import Arrivals, arrivals
from tests.server.cluster.check import Copies, differences
from tests.server.cluster.cluster import Cluster
from tests.server.cluster.ledger import Ledger
from tests.server.cluster.readers import Reader
from tests.server.cluster.schema import create
from tests.server.cluster.workload import Workload

CATCH_UP_SECONDS = 120.0
QUIET_SECONDS = 5.0
"""Where no row came for so long, all are there: a commit log is synced several times in it, and batches are shorter."""


@dataclass
class Run:
    """All that runs. `workload` writes through every first node; node 1 and those of `lasting` are never killed."""

    cluster: Cluster
    reader: Reader
    arrivals: Arrivals
    ledger: Ledger
    workload: Workload

    def copies(self) -> Copies:
        """Of all acknowledged writes, by the rows so far."""
        return self.arrivals.found().copies(self.ledger.acknowledged())

    def await_rows(self) -> Copies:
        """Returns when every acknowledged write is in the rows, with each copy of it, or it takes too long.

        Nobody may write meanwhile.
        """
        self.cluster.sync()
        deadline = time.monotonic() + CATCH_UP_SECONDS
        while (self.copies().missing or not self._quiet()) and not self.reader.failures:
            if time.monotonic() > deadline:
                break
            time.sleep(0.5)
        return self.copies()

    def _quiet(self) -> bool:
        came = self.arrivals.came
        return not came or time.time() - came[-1] > QUIET_SECONDS

    def differences(self) -> dict[str, set[str]]:
        """Of current state and SELECT at ALL, behind `await_rows`."""
        return differences(self.cluster, list(self.arrivals.rows))


@contextmanager
def running(cluster: Cluster, reader: Reader, work: Path, lasting: set[int]) -> Iterator[Run]:
    """It runs as long as the block lasts; behind it no process is left."""
    ledger = Ledger(work / "ledger.jsonl")
    with cluster:
        cluster.start()
        try:
            reader.start(list(cluster.nodes.values()))
            with arrivals(reader) as seen:
                _create(cluster)
                with Workload(cluster, ledger, coordinators=set(cluster.nodes), lasting=lasting) as workload:
                    yield Run(cluster, reader, seen, ledger, workload)
        finally:
            reader.stop()
            ledger.close()


def _create(cluster: Cluster) -> None:
    with cluster.nodes[1].session() as session:
        for statement in create():
            session.execute(statement)
