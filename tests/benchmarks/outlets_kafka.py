"""What does the outlet for Kafka take, beside Debezium's connector on one live server?

One real Cassandra server with CDC (`tests/server`) and one real Kafka broker. Live rows one at a time: from the first
sidecar that vouches for a row to the row in a consumer of Kafka, exactly once (a transaction each) and at least once,
and by Debezium's connector, each alone and two beside each other. Then a backlog: rows a second and memory of the whole
process, beside `follow --output json` into a file of nobody and Debezium's.

    python -m tests.benchmarks.outlets_kafka events-32mib.tar.xz --keep
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.measured import ROOT, compile_ahead, environment, figure
from tests.benchmarks.peers import backlog
from tests.benchmarks.peers.readers import FOLLOW, Bench
from tests.benchmarks.peers.runs import VERSIONS, Backlog, Runs, live_rows, make_backlog, missing, servers
from tests.benchmarks.script import Begun, perf_parser, publish

NAME = "outlets_kafka"
QUESTION = "What does the outlet for Kafka take, beside Debezium's connector on one live server?"
TARGETS = {"p50_to_debezium": 1.0}
ALONE = (("outlet",), ("outlet_at_least_once",), ("debezium",))
TOGETHER = ("outlet", "debezium")
READERS = {
    "outlet": "`--to kafka`",
    "outlet_at_least_once": "`--to kafka --at-least-once`",
    "debezium": "Debezium's connector",
    "json": "`--output json`, into nothing",
}
WAYS: Mapping[str, Sequence[str]] = {
    "outlet": ("--create-topics", "--to", "kafka"),
    "outlet_at_least_once": ("--create-topics", "--at-least-once", "--to", "kafka"),
    "json": ("--output", "json"),
}


def run(perf: Path, table: str, repeat: int, rows: int, count: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    compile_ahead()
    with servers(NAME) as (bench, session):
        delays = live_rows(bench, session, repeat, rows, 0.1, (*ALONE, TOGETHER))
        taken = _backlog(bench, session, perf, table, repeat, count) if count else {}
    return begun.result(
        versions=VERSIONS,
        rows=rows,
        figures=list(_figures(delays, taken)),
        runs={"live": delays, "backlog": taken},
    )


def _backlog(bench: Bench, session: Any, perf: Path, table: str, repeat: int, count: int) -> Runs:
    """By reader: what it took, a round after the other."""
    made = make_backlog(bench, session, perf, table, count)
    debezium = backlog.readings(bench, made.folder, made.schema, table, made.rows)["debezium"]
    found: Runs = {}
    for _ in range(repeat):
        for name, words in WAYS.items():
            found.setdefault(name, []).append(_take(bench, made, words))
        found.setdefault("debezium", []).append(debezium().told())
    return found


def _take(bench: Bench, made: Backlog, words: Sequence[str]) -> dict[str, Any]:
    """One process that reads the whole backlog into a topic of its own, or into nothing."""
    number = time.monotonic_ns()
    more = ["--node", "n1", "--consumer", "bench", "--state", str(bench.parent / f"state-{number}"), "--once"]
    if "kafka" in words:
        more += ["--brokers", bench.broker.bootstrap, "--topic", f"backlog-{number}"]
    command = [*FOLLOW, str(made.folder), "--schema", str(made.schema), *more, *words]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}")
    return {
        "rows": made.rows,
        "seconds": round(seconds, 3),
        "rows_per_second": round(made.rows / seconds),
        "cpu_us_a_row": round(1e6 * (usage.ru_utime + usage.ru_stime) / made.rows, 3),
        "rss_mib": round(usage.ru_maxrss / 1024, 1),
    }


def _figures(delays: Runs, taken: Runs) -> Iterator[dict[str, Any]]:
    for case, runs in delays.items():
        name, _, how = case.partition(", ")
        for mark in ("p50", "p99"):
            what = f"{READERS[name]}, {how}: sidecar to consumer of Kafka, {mark}"
            yield figure(what, "ms", _low([each["delay_ms"][mark] for each in runs]))
        missing_rows = sum(each["missing"] for each in runs)
        yield figure(f"{READERS[name]}, {how}: rows that did not come", "rows", {"median": missing_rows}, at_most=0)
    # As Debezium's connector has them, rows come at least once; a transaction is three more questions to the broker.
    for name, how, most in (
        ("outlet_at_least_once", "alone", TARGETS["p50_to_debezium"]),
        ("outlet", "alone", None),
        ("outlet", "together", None),
    ):
        pairs = zip(delays[f"{name}, {how}"], delays[f"debezium, {how}"], strict=True)
        ratios = [ours["delay_ms"]["p50"] / theirs["delay_ms"]["p50"] for ours, theirs in pairs]
        yield figure(f"{READERS[name]}, {how}: p50", "× Debezium's", _low(ratios), at_most=most)
    for name, runs in taken.items():
        speeds = [each["rows_per_second"] for each in runs]
        yield figure(f"{READERS[name]}, backlog", "rows/s", {"median": median(speeds), "best": max(speeds)})
        if "rss_mib" in runs[0]:
            yield figure(f"{READERS[name]}, backlog: memory", "MiB", _low([each["rss_mib"] for each in runs]))


def _low(values: Sequence[float]) -> dict[str, float]:
    return {"median": median(values), "best": min(values)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = perf_parser(NAME, QUESTION, 3)
    parser.add_argument("--rows", type=int, default=300, help="live rows of each run (default: %(default)s)")
    parser.add_argument("--copies", type=int, default=4, help="segments of the backlog; 0: none (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    if reason := missing():
        sys.stderr.write(f"{NAME}: not measured: {reason}\n")
        return 0
    publish(run(chosen.perf, chosen.table, chosen.repeat, chosen.rows, chosen.copies), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
