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
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.copied_log import copies
from tests.benchmarks.measured import ROOT, compile_ahead, facts, figure, perf_parser, publish, result, unpacked
from tests.benchmarks.peers import backlog, debezium, live
from tests.benchmarks.peers.__main__ import KEYSPACE, SETTINGS, TABLE, missing
from tests.benchmarks.peers.readers import FOLLOW, Bench
from tests.helpers import kafka_broker
from tests.server import harness, library

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

Runs = dict[str, list[dict[str, Any]]]


def run(perf: Path, table: str, repeat: int, rows: int, count: int) -> dict[str, Any]:
    before = facts()
    compile_ahead()
    with ExitStack() as ends:
        parent = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="cdc-tail-outlets-")))
        node = harness.Node(parent / "node", SETTINGS, heap="2g")
        broker = kafka_broker.Broker(parent / "kafka")
        for program in (node, broker):
            ends.callback(program.kill)
            program.start()
        bench = Bench(node, broker, parent, KEYSPACE, TABLE)
        session = ends.enter_context(node.session())
        delays = _live(bench, session, repeat, rows)
        taken = _backlog(bench, session, perf, table, repeat, count) if count else {}
    return result(
        NAME,
        QUESTION,
        before,
        perf,
        repeat,
        TARGETS,
        versions={"cassandra": library.VERSION, "kafka": kafka_broker.VERSION, "debezium": debezium.VERSION},
        rows=rows,
        figures=list(_figures(delays, taken)),
        runs={"live": delays, "backlog": taken},
    )


def _live(bench: Bench, session: Any, repeat: int, rows: int) -> Runs:
    """By who ran, and beside whom."""
    session.execute(
        f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    )
    session.execute(f"CREATE TABLE {KEYSPACE}.{TABLE} (seq int PRIMARY KEY, body text) WITH cdc = true")
    bench.make_topic()
    out = bench.parent / "sidecars.txt"
    with live.sidecars(bench, out):
        writer = live.Writer(session, bench)
        writer.write(1)
        ran = [
            ("alone" if len(names) == 1 else "together", live.run(bench, writer, names, rows, 0.1, seed))
            for seed in range(repeat)
            for names in (*ALONE, TOGETHER)
        ]
        where = live.places(bench, bench.parent)
    promised = live.read_sidecars(out)
    found: Runs = {}
    for how, each in ran:
        for name, told in live.delays(each, where, promised).items():
            found.setdefault(f"{name}, {how}", []).append(told)
    return found


def _backlog(bench: Bench, session: Any, perf: Path, table: str, repeat: int, count: int) -> Runs:
    """By reader: what it took, a round after the other."""
    plain = unpacked(perf, bench.parent / "perf")
    folder = bench.parent / "backlog" / "cdc_raw"
    copies(plain, folder, count)
    schema = plain / "schema.cql"
    for statement in schema.read_text().split(";"):
        if statement.strip():
            session.execute(statement)
    bench.make_topic(table)
    expected = sum(bench.node.time(log, 1)[0][0] for log in folder.glob("CommitLog-*.log"))
    found: Runs = {}
    for _ in range(repeat):
        for name, words in WAYS.items():
            found.setdefault(name, []).append(_take(bench, folder, schema, words, expected))
        read = backlog.readings(bench, folder, schema, table, expected)["debezium"]
        found.setdefault("debezium", []).append(read().told())
    return found


def _take(bench: Bench, folder: Path, schema: Path, words: Sequence[str], rows: int) -> dict[str, Any]:
    """One process that reads the whole backlog into a topic of its own, or into nothing."""
    number = time.monotonic_ns()
    more = ["--node", "n1", "--consumer", "bench", "--state", str(bench.parent / f"state-{number}"), "--once"]
    if "kafka" in words:
        more += ["--brokers", bench.broker.bootstrap, "--topic", f"backlog-{number}"]
    command = [*FOLLOW, str(folder), "--schema", str(schema), *more, *words]
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return {
        "rows": rows,
        "seconds": round(seconds, 3),
        "rows_per_second": round(rows / seconds),
        "cpu_us_a_row": round(1e6 * cpu / rows, 3),
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
    ratios = [
        ours["delay_ms"]["p50"] / theirs["delay_ms"]["p50"]
        for ours, theirs in zip(delays["outlet, together"], delays["debezium, together"], strict=True)
    ]
    yield figure("`--to kafka`, together: p50", "× Debezium's", _low(ratios), at_most=1.0)
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
