"""How much later do changes come while a snapshot runs?

One real Cassandra server with a large table, and a small one that is written to all the while, fifty rows a second.
`cdc-tail follow --image after --from snapshot` of both: the time from a write to its image, while the large table is
read, and behind that. The server syncs its log every 200 ms, which is most of it.

    python -m tests.benchmarks.snapshot_delay --repeat 3 --keep                        # about three minutes
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from tailer.schema.server import Session
from tests.benchmarks.measured import ROOT, compile_ahead, environment
from tests.benchmarks.script import Begun, published, script_parser
from tests.benchmarks.snapshot import TABLE, fill
from tests.helpers.jvm.program import running
from tests.oracle.jsontext import loads
from tests.server.harness import Node
from tests.server.library import available

NAME = "snapshot_delay"
QUESTION = "How much later do changes come while a snapshot runs?"
TARGETS = {"delay_while_read": 2.0}

LIVE: Final = "bench.live"
EVERY_SECONDS: Final = 0.02
BEHIND_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 300.0


class Writing:
    """A thread that writes one row after the other, and notes when."""

    def __init__(self, session: Session) -> None:
        self.at: dict[int, float] = {}
        self._session, self._stop = session, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        number = 0
        while not self._stop.wait(EVERY_SECONDS):
            number += 1
            self.at[number] = time.monotonic()
            self._session.execute(f"INSERT INTO {LIVE} (id) VALUES ({number})")

    def __enter__(self) -> Writing:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()


class Following:
    """The command, and when its images came: of the live table by id, and of the large one the first."""

    def __init__(self, node: Node, folder: Path, rows: int) -> None:
        words = ["follow", str(node.cdc_raw), "--server", f"{node.address}:{node.cql_port}", "--image", "after"]
        words += ["--from", "snapshot", "--snapshot-settle", "1", "--consumer", f"c{time.monotonic_ns()}"]
        words += ["--output", "json", "--image-state", str(folder / "images")]
        self.came: dict[int, float] = {}
        self.began = self.ended = 0.0
        self._rows = rows
        self._process: Any = subprocess.Popen(
            [sys.executable, "-c", "from tailer.cli.app import run; run()", *words],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=(folder / "said").open("wb"),
        )
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        read = 0
        for line in self._process.stdout:
            now = time.monotonic()
            if b'"table":"live"' in line:
                self.came.setdefault(int(loads(line)["partition_key"]["id"]), now)
            else:
                read += 1
                self.began, self.ended = self.began or now, now if read == self._rows else self.ended

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._thread.join()


def _round(node: Node, rows: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="cdc-tail-snapshot-delay-") as parent, node.session() as session:
        session.execute(f"TRUNCATE {LIVE}")
        with Writing(session) as writing:
            time.sleep(2)
            following = Following(node, Path(parent), rows)
            try:
                deadline = time.monotonic() + PATIENCE_SECONDS
                while not following.ended:
                    if time.monotonic() > deadline:
                        raise RuntimeError((Path(parent) / "said").read_text())
                    time.sleep(0.1)
                time.sleep(BEHIND_SECONDS)
            finally:
                following.close()
    delays = {id: following.came[id] - at for id, at in writing.at.items() if id in following.came}
    begin, end = following.began, following.ended
    read = [delays[id] for id, at in writing.at.items() if id in delays and begin <= at <= end]
    behind = [delays[id] for id, at in writing.at.items() if id in delays and at > end + 1]
    return {"seconds": round(end - begin, 1), "while_read": _told(read), "behind": _told(behind)}


def _told(delays: Sequence[float]) -> dict[str, float]:
    p99 = quantiles(delays, n=100)[98]
    return {"changes": len(delays), "p50_ms": round(1000 * median(delays), 1), "p99_ms": round(1000 * p99, 1)}


def run(repeat: int, rows: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat)
    compile_ahead()
    with tempfile.TemporaryDirectory(prefix="cdc-tail-bench-") as parent:
        folder = Path(parent) / "node"
        folder.mkdir()
        with running(Node(folder)) as node:
            fill(node, rows)
            with node.session() as session:
                session.execute(f"CREATE TABLE {LIVE} (id int PRIMARY KEY) WITH cdc = true")
            rounds = [_round(node, rows) for _ in range(repeat)]
    whiles, behinds = (median(each[name]["p50_ms"] for each in rounds) for name in ("while_read", "behind"))
    ratios = {"delay_while_read": round(whiles / behinds, 2)}
    met = {"delay_while_read": ratios["delay_while_read"] <= TARGETS["delay_while_read"]}
    return begun.result(rows=rows, table=TABLE, ratios=ratios, met=met, rounds=rounds)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION, repeat=3)
    parser.add_argument("--rows", type=int, default=200_000, help="of the large table (default: %(default)s)")
    if reason := available():
        sys.stderr.write(f"{NAME}: not measured: {reason}\n")
        return 0
    return published(parser, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
