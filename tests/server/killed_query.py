"""The query of `spark_attempts`, killed in every way that there is and begun again, and what its attempts had.

Chooses no table, and compares nothing.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tailer.snapshot.progress import Snapshot
from tailer.snapshot.spool import Spool, read_piece, spool_folder
from tailer.state.consumers import consumer_path, read_consumer
from tailer.state.log_folder import state_folder
from tests.helpers import repeated
from tests.oracle.jsontext import loads
from tests.server.cluster.awaited import awaited
from tests.server.cluster.spark_command import Checkpoint
from tests.server.harness import Node
from tests.server.spark_attempts import IMAGES, ROWS
from tests.spark.soak.killed import PATIENCE_SECONDS, Driver, events

CONSUMER: Final = "killed"
WAYS: Final = ("driver, written", "worker", "server", "planner", "driver, planned", "driver")
"""What is killed: the driver with its JVM at any time, or just when a batch is planned, or written and not committed;
one of its Python processes; the server."""
LATE_SECONDS: Final = 2.0
AWAY_SECONDS: Final = 3.0

Row = dict[str, Any]


class KilledQuery:
    """Over the log of one node, in a folder of its own. `done`: what was killed how often, while the snapshot was under
    way. `seen`: how far that was then."""

    def __init__(self, node: Node, work: Path, chance: random.Random, **options: str) -> None:
        self._node, self._chance = node, chance
        self.out, self.checkpoint, self.log = work / "out", Checkpoint(work / "checkpoint"), work / "query.stderr"
        self._pieces = work / "pieces"
        self._pieces.mkdir()
        self._state = state_folder(node.cdc_raw)
        given = {"path": str(node.cdc_raw), "consumer": CONSUMER, "startingOffsets": "snapshot", "tickSeconds": "1"}
        given |= {"includeSchemaChanges": "true", "server": f"{node.address}:{node.cql_port}", **options}
        self._words = ["-m", "tests.server.spark_attempts", json.dumps(given)]
        self._words += [str(self.checkpoint.folder), str(self.out)]
        self._driver: Driver | None = None
        self._images: dict[str, list[Row]] = {}
        self.done: Counter[str] = Counter()
        self.seen: list[dict[str, Snapshot]] = []

    # --- life ---

    def run(self) -> Driver:
        """It runs when this returns. AssertionError where it has ended without a reason of ours."""
        if self._driver is not None and self._driver.ended:
            assert repeated.MESSAGE.search(self.said()), self.said()
            repeated.told.append("a snapshot by Spark, killed")
            self.end()
        if self._driver is None:
            self._driver = Driver(self._words, self.log)
        return self._driver

    def end(self) -> None:
        """The driver, its JVM and workers at once."""
        if self._driver is not None:
            self._driver.kill()
            self._driver = None

    def run_until(self, holds: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Returns when it holds, with the query running."""

        def held() -> bool:
            self.run()
            return holds()

        awaited(held, what, seconds, 0.1)

    def kill(self, way: str, before_server: Callable[[], None]) -> None:
        """Once more of the snapshot was read than there was; then as soon or as late as chance has it."""
        before = self.rows()
        self.run_until(lambda: self.rows() > before, "more is read")
        time.sleep(self._chance.uniform(0, LATE_SECONDS))
        if way == "server":
            before_server()
            self._kill_server()
        elif way in ("worker", "planner"):
            self._kill_process(way)
        else:
            self._kill_driver(way)
        self.done[way] += 1
        self.seen.append(self.snapshots())
        self._keep_pieces()

    def _kill_driver(self, way: str) -> None:
        moments = {"driver, planned": self.checkpoint.folder / "offsets", "driver, written": self.out / IMAGES}
        if way in moments:
            with events(moments[way], lambda: not self.run().ended) as following:
                following()
        self.end()

    def _kill_process(self, way: str) -> None:
        """One after the other, until the query has lost one that it had work for."""
        driver = self.run()

        def ends() -> bool:
            if not driver.ended:
                (driver.kill_worker if way == "worker" else driver.kill_planner)(self._chance)
            return driver.ended

        awaited(ends, f"it ends without its {way}", PATIENCE_SECONDS, 0.2)
        self.end()

    def _kill_server(self) -> None:
        self._node.kill()
        time.sleep(self._chance.uniform(0, AWAY_SECONDS))
        self._node.start_again()

    def _keep_pieces(self) -> None:
        for path in self.spool().folder.glob("piece-*.arrow"):
            # One that the query has taken by now is none that waits.
            with suppress(FileExistsError, FileNotFoundError):
                os.link(path, self._pieces / path.name)

    # --- what there is ---

    def spool(self) -> Spool:
        return Spool(spool_folder(self._state, CONSUMER))

    def snapshots(self) -> dict[str, Snapshot]:
        """Of each table, by its id as digits, how far it is."""
        now = self.spool().now
        return {} if now is None else dict(now.tables)

    def rows(self) -> int:
        """How many were read."""
        return sum(each.rows for each in self.snapshots().values())

    def position(self) -> int:
        """In which segment the consumer stands."""
        (node,) = read_consumer(consumer_path(self._state, CONSUMER), CONSUMER).nodes.values()
        return node.offset.s

    def is_taken(self) -> bool:
        """Whether all of the snapshot is committed."""
        return self.checkpoint.newest().get("snap", {}).get("end", False) is True

    def images(self) -> list[Row]:
        """Of all attempts, in the order of their batches."""
        for file in (self.out / IMAGES).glob("*.jsonl"):
            if file.name not in self._images:
                self._images[file.name] = [loads(line) for line in file.read_text().splitlines()]
        return [image for name in sorted(self._images, key=batch_of) for image in self._images[name]]

    def attempts(self) -> dict[str, list[Row]]:
        """By file, the change rows that a task had."""
        files = (self.out / ROWS).glob("*.arrow")
        return {file.name: read_piece(file.read_bytes()).to_pylist() for file in sorted(files, key=batch_of)}

    def pieces(self) -> list[Row]:
        """The rows of the pieces that stood in the spool when something was killed."""
        files = self._pieces.glob("*.arrow")
        return [row for file in files for row in read_piece(file.read_bytes()).to_pylist()]

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]


def batch_of(file: Path | str) -> int:
    return int(Path(file).name.partition("-")[0])


def once_each(attempts: dict[str, list[Row]]) -> tuple[dict[str, Row], list[tuple[int, str]]]:
    """Each row by its event, and what came again: micro-batch and event. AssertionError where one came otherwise, or in
    two micro-batches."""
    rows: dict[str, Row] = {}
    batches: dict[str, int] = {}
    again: list[tuple[int, str]] = []
    for name, had in attempts.items():
        batch = batch_of(name)
        for row in had:
            event = row["event_id"]
            if event in rows:
                assert (rows[event], batches[event]) == (row, batch)
                again.append((batch, event))
            rows[event], batches[event] = row, batch
    return rows, again
