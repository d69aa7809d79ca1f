"""Do two cores read two spans in half the time, and how much memory does a span take?

The two halves of the perf segment in two processes, one on each core, both warm, again and again for a second or two:
their rates alone, one after the other, and together from a barrier on. JSON lines go to /dev/null, as no third core is
there to read a pipe. Beside them `zlib.crc32`, which needs nothing but a core: what the machine itself gives.

Then the peak of a fresh process that reads one span: the whole segment as it was recorded, the first 4 MiB of it (from
that much on a reader loads the compiled code), its sections in LZ4, and all of it as one LZ4 section.

    python -m tests.benchmarks.two_spans PERF_ARCHIVE --keep
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, NamedTuple

from tailer.jit.ready import WORTH_BYTES, expect
from tailer.limits import MIB
from tailer.reading.reader import Reader
from tailer.sinks.json_lines import JsonLinesSink
from tests.benchmarks.decoding import (
    FORM_NAMES,
    FORMS,
    Decoding,
    Form,
    Work,
    copy_of,
    decode,
    payloads_of,
    rewritten,
    takes,
    warm_up,
    works,
)
from tests.benchmarks.measured import figure, high, peak_mib, pin
from tests.benchmarks.script import Begun, perf_parser, published

NAME = "two_spans"
QUESTION = "Do two cores read two spans in half the time, and how much memory does a span take?"
TARGETS = {"two_to_one": 1.8, "peak_per_byte": 4.0, "peak_mib_besides": 150.0}
CASES = (*FORMS, "crc32")
WHOLE = 1 << 40

_SPAWN = multiprocessing.get_context("spawn")


class Rate(NamedTuple):
    """Bytes a second, and a second of CPU: a machine that others work on too changes the latter less."""

    wall: float
    cpu: float


class Worker:
    """A process on a core of its own that reads one half of the segment whenever it is told to."""

    def __init__(self, number: int, halves: Mapping[Form, Work], together: Barrier) -> None:
        self._ours, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(theirs, number, halves, together))
        self._process.start()
        theirs.close()

    def tell(self, case: str, seconds: float, *, together: bool) -> None:
        self._ours.send((case, seconds, together))

    def rate(self) -> Rate:
        """Of what was told last."""
        found: Rate = self._ours.recv()
        return found

    def end(self) -> None:
        self._ours.close()
        self._process.join()


def _serve(told: Connection, number: int, halves: Mapping[Form, Work], together: Barrier) -> None:
    """The worker's process: cases by name, until nobody tells any more."""
    pin(number)
    expect(WORTH_BYTES)
    with Path(os.devnull).open("wb") as null:
        pipe = JsonLinesSink(null)
        cases: dict[str, Callable[[], float]] = {}
        for form, half in halves.items():
            cases[form] = Decoding(half, takes(form, pipe))
        half = halves["arrow"]
        data = half.log.read_bytes()[half.task.span.start : half.task.span.end]
        cases["crc32"] = lambda: float(zlib.crc32(data))
        for case in cases.values():
            case()
        while True:
            try:
                name, seconds, waits = told.recv()
            except EOFError:
                return
            if waits:
                together.wait()
            told.send(_again(cases[name], len(data), seconds))


def _again(case: Callable[[], float], size: int, seconds: float) -> Rate:
    """The case, which reads that many bytes, again and again for that many seconds."""
    started, cpu_started = time.perf_counter(), time.process_time()
    done = 0
    while time.perf_counter() - started < seconds:
        case()
        done += size
    return Rate(done / (time.perf_counter() - started), done / (time.process_time() - cpu_started))


@contextmanager
def _workers(folder: Path, table: str) -> Iterator[tuple[Worker, Worker]]:
    whole = works(folder, None)[-1].size
    halves = {form: works(folder, table if form == "typed" else None, -(-whole // 2))[-2:] for form in FORMS}
    together = _SPAWN.Barrier(2)
    made = [Worker(number, {form: both[number] for form, both in halves.items()}, together) for number in (0, 1)]
    try:
        yield made[0], made[1]
    finally:
        for worker in made:
            worker.end()


def two_to_one(folder: Path, table: str, rounds: int, seconds: float) -> dict[str, list[dict[str, float]]]:
    """By case, a round each, MB/s: one process (the mean of both, each alone) and two together; also by CPU."""
    found: dict[str, list[dict[str, float]]] = {case: [] for case in CASES}
    with _workers(folder, table) as both:
        for _, case in itertools.product(range(rounds), CASES):
            alone = []
            for worker in both:
                worker.tell(case, seconds, together=False)
                alone.append(worker.rate())
            for worker in both:
                worker.tell(case, seconds, together=True)
            two = [worker.rate() for worker in both]
            one_wall, one_cpu = (sum(rates) / 2e6 for rates in zip(*alone, strict=True))
            two_wall, two_cpu = (sum(rates) / 1e6 for rates in zip(*two, strict=True))
            made = {"one": one_wall, "two": two_wall, "one_cpu": one_cpu, "two_cpu": two_cpu}
            found[case].append({name: round(rate, 2) for name, rate in made.items()})
    return found


def peaks(spans: Mapping[str, tuple[Path, int]], table: str) -> dict[str, dict[str, float]]:
    """By span (the first of the last segment, cut at so many bytes) and form: MiB at the most of a fresh process that
    reads it, and its plain MiB."""
    found: dict[str, dict[str, float]] = {}
    for name, (folder, budget) in spans.items():
        for form in FORMS:
            last = works(folder, None)[-1].task.span.segment
            cut = works(folder, table if form == "typed" else None, budget)
            work = next(work for work in cut if work.task.span.segment == last)
            ours, theirs = _SPAWN.Pipe(duplex=False)
            process = _SPAWN.Process(target=_peak, args=(theirs, work, form))
            process.start()
            theirs.close()
            found[f"{name}, {FORM_NAMES[form]}"] = {"peak_mib": ours.recv(), "span_mib": work.size / 2**20}
            process.join()
    return found


def _peak(out: Connection, work: Work, form: Form) -> None:
    """The fresh process, and its own high-water mark."""
    with Path(os.devnull).open("wb") as null:
        decode(work, Reader(), takes(form, JsonLinesSink(null)))
    out.send(peak_mib())


def run(perf: Path, table: str, repeat: int, seconds: float) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    compiled = warm_up()
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        plain = copy_of(perf, parent)
        sections = list(payloads_of(works(plain, None)[-1]))
        spans = {
            "plain": (plain, WHOLE),
            "4 MiB of it": (plain, 4 * MIB),
            "LZ4": (rewritten(plain, parent / "lz4", sections), WHOLE),
            "one LZ4 section": (rewritten(plain, parent / "one", [[*itertools.chain(*sections)]]), WHOLE),
        }
        rates = two_to_one(plain, table, repeat, seconds)
        memory = peaks(spans, table)
    return begun.result(
        compiled=compiled,
        seconds_each=seconds,
        memory=memory,
        figures=[*_rate_figures(rates), *_peak_figures(memory)],
        runs=rates,
    )


def _rate_figures(rates: Mapping[str, Sequence[Mapping[str, float]]]) -> Iterator[dict[str, Any]]:
    for case, found in rates.items():
        name = FORM_NAMES.get(case, "`zlib.crc32`, for comparison")
        for least, two, one, unit in (
            (TARGETS["two_to_one"], "two", "one", "× one"),
            (None, "two_cpu", "one_cpu", "× one, by CPU time"),
        ):
            ratios = [each[two] / each[one] for each in found]
            yield figure(f"two processes: {name}", unit, high(ratios), at_least=least if case in FORM_NAMES else None)


def _peak_figures(memory: Mapping[str, Mapping[str, float]]) -> Iterator[dict[str, Any]]:
    for name, found in memory.items():
        most = TARGETS["peak_per_byte"] * found["span_mib"] + TARGETS["peak_mib_besides"]
        yield figure(f"peak memory: {name}", "MiB", {"median": found["peak_mib"]}, at_most=round(most))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = perf_parser(NAME, QUESTION, 5)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each rate (default: %(default)s)")
    return published(parser, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
