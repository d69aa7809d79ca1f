"""What do many nodes in one query cost?

The source's side of a query over log folders that the tests' log writer makes, one for each node, called as Spark calls
it: `latest` again and again, and for each batch `partitions`, `report` and `commit`. Three questions. How long after
its sidecar was written is a row of one node in an offset? How much of a core does the source use while nothing happens?
How much processor time does planning one batch take in which every node has rows, and its commit beside it?

    python -m tests.benchmarks.many_nodes --repeat 3 --keep
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tailer.options.to_spark import parse_options
from tailer.spark.offsets import Json
from tailer.spark.planner import Planner
from tests.benchmarks.measured import medians
from tests.benchmarks.script import Begun, published, script_parser
from tests.helpers.log_writer import LogFolder, SegmentWriter, create_payload, insert_payload, live, simple_table
from tests.helpers.log_writer import segment_of as segment

NAME = "many_nodes"
QUESTION = "What do many nodes in one query cost?"
TARGETS = {"noticed_p50_ms": 20.0, "idle_percent": 2.0, "plan_cpu_seconds": 0.1}
TABLE = simple_table("ks", "t")
ID = 1_700_000_000_001
WAIT_MILLIS = "500"


class Node:
    """A node's log: one segment that grows by a row. A server's own writes to it are heard of by nobody."""

    def __init__(self, folder: Path) -> None:
        self._log = LogFolder(folder)
        self._writer: SegmentWriter = segment(ID, [[create_payload(TABLE), insert_payload(TABLE, 0, "v", 0)]])
        self._file = self._log.put(self._writer, live(self._writer)).open("ab", buffering=0)
        self._rows = 0

    def close(self) -> None:
        self._file.close()

    def add(self) -> None:
        """One more row, in a section of its own, which nobody vouches for."""
        self._rows += 1
        before = len(self._writer.data)
        self._writer.section([insert_payload(TABLE, self._rows, "v", self._rows)])
        self._file.write(self._writer.data[before:])

    def show(self) -> float:
        """The sidecar says so; since when, just before."""
        began = time.monotonic()
        self._log.sidecar(self._writer, live(self._writer))
        return began


class Query:
    """The source as a query has it."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._end: Json = planner.initial()

    def batch(self, until: float = float("inf")) -> bool:
        """One micro-batch: whether one came."""
        while time.monotonic() < until:
            end = self._planner.latest(self._end, None)
            if end != self._end:
                self.finish(end)
                return True
        return False

    def offset(self) -> tuple[Json, float]:
        """The next offset, and when it came."""
        while (end := self._planner.latest(self._end, None)) == self._end:
            pass
        return end, time.monotonic()

    def finish(self, end: Json) -> None:
        """What Spark asks for between two offsets."""
        self.plan(end)
        self.commit(end)

    def plan(self, end: Json) -> None:
        self._planner.partitions(self._end, end)
        self._planner.report(end)

    def commit(self, end: Json) -> None:
        self._planner.commit(end)
        self._end = end


@contextmanager
def query(nodes: int) -> Iterator[tuple[list[Node], Query]]:
    """A query over so many nodes, with nothing left to read."""
    with tempfile.TemporaryDirectory(prefix="cdc-tail-nodes-") as parent:
        folders = {f"n{number:03}": Path(parent) / f"n{number:03}" / "cdc_raw" for number in range(nodes)}
        logs = [Node(folder) for folder in folders.values()]
        path = ",".join(f"{name}={folder}" for name, folder in folders.items())
        planner = Planner(parse_options({"path": path, "waitMillis": WAIT_MILLIS, "tickSeconds": "0"}))
        try:
            source = Query(planner)
            while source.batch(time.monotonic() + 2):
                pass
            yield logs, source
        finally:
            planner.close()
            for log in logs:
                log.close()


def noticed(logs: Sequence[Node], source: Query, rows: int) -> list[float]:
    """Milliseconds from the sidecar of one node, each time another, to the offset that has it."""
    took = []
    for number in range(rows):
        log = logs[number * 7 % len(logs)]
        log.add()
        shown: list[float] = []
        timer = threading.Timer(0.05 + number % 10 / 100, lambda log=log, shown=shown: shown.append(log.show()))
        timer.start()
        end, came = source.offset()
        timer.join()
        took.append(1000 * (came - shown[0]))
        source.finish(end)
    return took


def idle(source: Query, seconds: float) -> float:
    """Percent of a core."""
    used, began = time.process_time(), time.monotonic()
    source.batch(began + seconds)
    return 100 * (time.process_time() - used) / (time.monotonic() - began)


class Planned(NamedTuple):
    """Seconds of processor for a batch in which every node has a row: to its jobs, and to its commit, which writes each
    node's consumer to its disk."""

    plan: float
    commit: float


def planned(logs: Sequence[Node], source: Query, batches: int) -> list[Planned]:
    """So many batches."""
    took = []
    for _ in range(batches):
        for log in logs:
            log.add()
            log.show()
        began = time.process_time()
        end, _ = source.offset()
        source.plan(end)
        made = time.process_time()
        source.commit(end)
        took.append(Planned(made - began, time.process_time() - made))
        while source.batch(time.monotonic() + 0.6):
            pass
    return took


def measure(nodes: int, rows: int, seconds: float, batches: int) -> dict[str, float]:
    """One round."""
    with query(nodes) as (logs, source):
        times = noticed(logs, source, rows)
        still = idle(source, seconds)
        made = planned(logs, source, batches)
        return {
            "noticed_p50_ms": round(statistics.median(times), 2),
            "noticed_max_ms": round(max(times), 2),
            "idle_percent": round(still, 2),
            "plan_cpu_seconds": round(statistics.median(each.plan for each in made), 4),
            "commit_cpu_seconds": round(statistics.median(each.commit for each in made), 4),
        }


def run(nodes: int, rows: int, seconds: float, batches: int, repeat: int) -> dict[str, Any]:
    """The rounds, their medians, and which targets they meet."""
    begun = Begun(NAME, QUESTION, TARGETS, repeat)
    runs = [{"cost": measure(nodes, rows, seconds, batches)} for _ in range(repeat)]
    middle = medians(runs)["cost"]
    met = {name: middle[name] <= limit for name, limit in TARGETS.items()}
    return begun.result(nodes=nodes, cores=os.cpu_count(), runs=runs, medians=middle, met=met)


def main(words: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION, repeat=3)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=30.0, help="of doing nothing")
    parser.add_argument("--batches", type=int, default=8)
    return published(parser, run, words)


if __name__ == "__main__":
    raise SystemExit(main())
