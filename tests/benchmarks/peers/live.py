"""How long is a row on its way from the server's sidecar to a consumer, and what does that cost?

Rows are written one at a time to a live server, with random gaps. A row's moment is when the first sidecar was closed
whose number reaches beyond the row's mutation; where that lies in the log the server's own reader says (`Node.dump`).
Each reader runs alone and then all of them beside each other; CPU is told while rows come and while nothing does.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.measured import ROOT, percentiles
from tests.benchmarks.peers.readers import READERS, Arrived, Bench, Consumer, Reader

WARM_UP_ROWS = 2000, 50
"""Before those that count: so many as fast as they come, for JVMs compile what runs often, then so many as later."""
GAP_SECONDS = (0.020, 0.060)
LINGER_SECONDS = 2.0
BODY = "x" * 100


class Writer:
    """Writes numbered rows; the numbers go on over all runs."""

    def __init__(self, session: Any, bench: Bench) -> None:
        self._session = session
        self._insert = session.prepare(f"INSERT INTO {bench.keyspace}.{bench.table} (seq, body) VALUES (?, ?)")
        self.written = 0

    def write(self, rows: int, gaps: random.Random | None = None) -> range:
        """The numbers of the rows written; `gaps`: a random time behind each."""
        first = self.written
        for number in range(first, first + rows):
            self._session.execute(self._insert, (number, BODY))
            if gaps is not None:
                time.sleep(gaps.uniform(*GAP_SECONDS))
        self.written += rows
        return range(first, self.written)


class Sidecars(NamedTuple):
    """When each sidecar was closed, by segment: numbers that rise, and the moments they belong to."""

    numbers: dict[int, list[int]]
    moments: dict[int, list[float]]

    def moment(self, segment: int, end: int) -> float:
        """When it was promised that the log is durable up to `end`."""
        numbers = self.numbers[segment]
        return self.moments[segment][bisect_left(numbers, end)]


@contextmanager
def sidecars(bench: Bench, out: Path) -> Iterator[None]:
    """Notes every sidecar into a file while the block lasts."""
    command = [sys.executable, "-m", "tests.benchmarks.peers.sidecars", str(bench.node.cdc_raw)]
    with out.open("wb") as lines, subprocess.Popen(command, cwd=ROOT, stdout=lines) as process:
        while b"ready" not in out.read_bytes():
            if process.poll() is not None:
                raise RuntimeError("nobody watches the sidecars")
            time.sleep(0.02)
        try:
            yield
        finally:
            process.terminate()


def read_sidecars(out: Path) -> Sidecars:
    found = Sidecars({}, {})
    for line in out.read_text().splitlines()[1:]:
        seconds, segment, number = line.split()
        numbers = found.numbers.setdefault(int(segment), [])
        if int(number) > (numbers[-1] if numbers else 0):
            numbers.append(int(number))
            found.moments.setdefault(int(segment), []).append(float(seconds))
    return found


def places(bench: Bench, work: Path) -> dict[int, tuple[int, int]]:
    """Segment and end of the mutation that wrote each row, as the server's reader sees them."""
    bench.node.sync()
    found: dict[int, tuple[int, int]] = {}
    for log in sorted(bench.node.cdc_raw.glob("CommitLog-*.log")):
        bench.node.dump(log, work / "dump.jsonl")
        for text in (work / "dump.jsonl").read_text("utf-8").splitlines():
            line = json.loads(text)
            for update in line.get("updates", ()):
                if (update["keyspace"], update["table"]) == (bench.keyspace, bench.table):
                    found[update["key"]["seq"]] = line["segment"], line["end"]
    return found


class Ran(NamedTuple):
    """One run of some readers: the rows that counted, when they came, and processor time in percent of a core."""

    numbers: range
    arrived: dict[str, dict[int, Arrived]]
    busy: dict[str, dict[str, float]]
    idle: dict[str, dict[str, float]]


def run(bench: Bench, writer: Writer, names: Sequence[str], rows: int, idle_seconds: float, seed: int) -> Ran:
    """Some readers beside each other."""
    gaps = random.Random(seed)
    consumers: dict[str, Consumer] = {}
    with ExitStack() as ends:
        readers: dict[str, Reader] = {}
        for name in names:
            here = bench.parent / f"{writer.written}-{'-'.join(names)}" / name
            here.mkdir(parents=True)
            readers[name] = ends.enter_context(READERS[name](bench, here))
            consumers[name] = readers[name].consumer
        fast, slow = WARM_UP_ROWS
        writer.write(fast)
        writer.write(slow, gaps)
        with _spent(readers) as busy:
            numbers = writer.write(rows, gaps)
        time.sleep(LINGER_SECONDS)
        with _spent(readers) as idle:
            time.sleep(idle_seconds)
    return Ran(numbers, {name: consumer.rows() for name, consumer in consumers.items()}, busy, idle)


@contextmanager
def _spent(readers: Mapping[str, Reader]) -> Iterator[dict[str, dict[str, float]]]:
    """Percent of a core that each process of each reader takes in the block; filled in at its end."""
    found: dict[str, dict[str, float]] = {}
    before = {name: reader.cpu() for name, reader in readers.items()}
    began = time.monotonic()
    yield found
    passed = time.monotonic() - began
    for name, reader in readers.items():
        spent = reader.cpu()
        found[name] = {part: round(100 * (spent[part] - before[name][part]) / passed, 2) for part in spent}


def delays(ran: Ran, where: Mapping[int, tuple[int, int]], promised: Sidecars) -> dict[str, Any]:
    """By reader: milliseconds from the sidecar to the consumer, rows that never came, CPU; for Kafka also to the send.

    Kafka's own timestamp has whole milliseconds and is of the clock of the day.
    """
    of_the_day = time.time() - time.perf_counter()
    told: dict[str, Any] = {}
    for name, arrived in ran.arrived.items():
        came = [number for number in ran.numbers if number in arrived]
        moments = [promised.moment(*where[number]) for number in came]
        waits = [arrived[number].seconds - moment for number, moment in zip(came, moments, strict=True)]
        sent = [arrived[number].sent for number in came]
        told[name] = {
            "delay_ms": percentiles(waits),
            "missing": len(ran.numbers) - len(came),
            "cpu_percent": ran.busy[name],
            "idle_cpu_percent": ran.idle[name],
        }
        if all(moment is not None for moment in sent):
            sends = [one / 1000 - of_the_day - moment for one, moment in zip(sent, moments, strict=True)]
            told[name]["until_sent_ms"] = percentiles(sends)
    return told
