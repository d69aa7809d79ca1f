"""How fast is a backlog read, and what does that cost?

The perf segment several times under new ids, each reader with a copy of its own: `cdc-tail follow --once` into a pipe,
`tailer.open(...).read()` typed, and Debezium's connector through Kafka into a consumer; and Cassandra's own
`CommitLogReader` with a handler that only counts, in the live server's warm JVM. Rows per second from the start of the
process to the last row and, where there is an output to watch, from its first row on; processor time for each row.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.benchmarks.measured import ROOT, environment
from tests.benchmarks.peers.debezium import FOR_A_BACKLOG, TOPICS, Debezium
from tests.benchmarks.peers.readers import FOLLOW, Bench

PATIENCE_SECONDS = 60.0
"""With nothing new for that long a reader has given up."""
TYPED = """
import sys, tailer
folder, table, schema = sys.argv[1:]
print(sum(map(len, tailer.open(folder, table=table, schema_file=schema, stopped=True).read())))
"""
WARM_UP = 3


class Took(NamedTuple):
    """One reading: rows, seconds, seconds of processor by process; `running`: the seconds from the first row on."""

    rows: int
    seconds: float
    cpu: dict[str, float]
    running: float | None = None

    def told(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "seconds": round(self.seconds, 3),
            "rows_per_second": round(self.rows / self.seconds),
            **({} if self.running is None else {"rows_per_second_once_it_runs": round(self.rows / self.running)}),
            "cpu_us_a_row": {name: round(1e6 * spent / self.rows, 3) for name, spent in self.cpu.items()},
        }


def readings(bench: Bench, backlog: Path, schema: Path, table: str, expected: int) -> Mapping[str, Callable[[], Took]]:
    """By name: reads the whole backlog once."""
    return {
        "follow": lambda: _follow(bench, backlog, schema),
        "typed": lambda: _typed(backlog, schema, table),
        "cassandra": lambda: _cassandra(bench, backlog),
        "debezium": lambda: _debezium(bench, backlog, table, expected),
    }


def _follow(bench: Bench, backlog: Path, schema: Path) -> Took:
    """JSON lines, counted by the bytes of a pipe."""
    state = bench.parent / f"state-{time.monotonic_ns()}"
    words = [str(backlog), "--schema", str(schema), "--state", str(state), "--once", "--output", "json"]
    with _Measured([*FOLLOW, *words]) as process:
        count, first = 0, 0.0
        while data := os.read(process.output, 1 << 20):
            first = first or time.perf_counter()
            count += data.count(b"\n")
    return process.took(count, first)


def _typed(backlog: Path, schema: Path, table: str) -> Took:
    with _Measured([sys.executable, "-c", TYPED, str(backlog), table, str(schema)]) as process:
        count = int(os.read(process.output, 100))
    return process.took(count)


class _Measured:
    """A process of ours that reads once: its output, and, behind the block, what it took."""

    def __init__(self, command: list[str]) -> None:
        self._began = time.perf_counter()
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.output = self._process.stdout.fileno()

    def __enter__(self) -> _Measured:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdout is not None
        self._process.stdout.read()
        _, status, usage = os.wait4(self._process.pid, 0)
        self._ended = time.perf_counter()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._process.stdout.close()
        if self._process.returncode:
            raise RuntimeError(f"a reader ended with {self._process.returncode}")
        self._cpu = usage.ru_utime + usage.ru_stime

    def took(self, rows: int, first: float | None = None) -> Took:
        running = None if first is None else self._ended - first
        return Took(rows, self._ended - self._began, {"reader": self._cpu}, running)


def _cassandra(bench: Bench, backlog: Path) -> Took:
    """In the server, whose threads for other things idle meanwhile and count with it."""
    server = psutil.Process(bench.node.pid)
    logs = sorted(backlog.glob("CommitLog-*.log"))
    bench.node.time(logs[0], WARM_UP)
    before = sum(server.cpu_times()[:2])
    read = [bench.node.time(log, 1)[0] for log in logs]
    cpu = sum(server.cpu_times()[:2]) - before
    seconds = sum(taken for _, taken in read)
    return Took(sum(count for count, _ in read), seconds, {"server": cpu})


def _debezium(bench: Bench, backlog: Path, table: str, expected: int) -> Took:
    """The connector with a copy of the backlog, which it moves away, until the last message is at the consumer."""
    from confluent_kafka import Consumer, TopicPartition

    here = bench.parent / f"backlog-{time.monotonic_ns()}"
    copy = here / "cdc_raw"
    shutil.copytree(backlog, copy)
    topic = f"{TOPICS}.{table}"
    consumer = Consumer(
        {"bootstrap.servers": bench.broker.bootstrap, "group.id": "backlog", "enable.auto.commit": False}
    )
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
    consumer.assign([TopicPartition(topic, 0, end)])
    connector = Debezium(here / "connector", bench.node, bench.broker, copy, FOR_A_BACKLOG)
    broker = psutil.Process(bench.broker.pid)
    cpu_before = {"broker": sum(broker.cpu_times()[:2]), "consumer": time.process_time()}
    began = heard = time.perf_counter()
    first, count = 0.0, 0
    connector.start()
    try:
        process = psutil.Process(connector.pid)
        while count < expected:
            messages = consumer.consume(10_000, timeout=0.1)
            if messages:
                heard = time.perf_counter()
                first = first or heard
                count += sum(message.error() is None for message in messages)
            elif time.perf_counter() > max(heard, began) + PATIENCE_SECONDS:
                break
        cpu = {
            "connector": sum(process.cpu_times()[:2]),
            "broker": sum(broker.cpu_times()[:2]) - cpu_before["broker"],
            "consumer": time.process_time() - cpu_before["consumer"],
        }
    finally:
        connector.kill()
        consumer.close()
    if not count:
        raise RuntimeError(f"Debezium gave none of {expected} rows:\n{connector.log()[-4000:]}")
    return Took(count, heard - began, cpu, heard - first)
