"""A stream is killed so and so often at the moments that matter; then it runs to the end, and its rows are counted."""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.spark.soak.killed import MADE, Stream, events
from tests.spark.soak.workload import Row, Writer, row

TIMES = int(os.environ.get("CDC_TAIL_SOAK", "1"))

MOMENTS = ("sink", "worker", "offsets", "commits", "any", "start", "data")
"""Behind a file that appears there (offsets: planned; data, sink: written, not committed; commits), or at any time."""


@dataclass(frozen=True)
class Case:
    """A stream: its arguments, its checkpoint, and where files appear when a batch is written and when it is whole.

    `whole`: what happens to a file there then. `first`: the number of the moment at which it is killed first.
    """

    arguments: tuple[str, ...]
    checkpoint: Path
    data: Path
    sink: Path
    whole: int = MADE
    first: int = 0


def soak(case: Case, log: Path, times: int, chance: random.Random) -> Counter[str]:
    """Run the stream and kill it, so many times; what was done how often."""
    done: Counter[str] = Counter()
    for number in range(times):
        moment = MOMENTS[(case.first + number) % len(MOMENTS)]
        with Stream(case.arguments, log) as stream:
            kill_at(moment, case, stream, chance, done)
    return done


def kill_at(moment: str, case: Case, stream: Stream, chance: random.Random, done: Counter[str]) -> None:
    """Wait for the moment; leaving the stream's context is what kills it."""
    folders = {"offsets": case.checkpoint / "offsets", "commits": case.checkpoint / "commits"}
    folder = {**folders, "data": case.data, "sink": case.sink}.get(moment, folders["commits"])
    done[moment] += 1
    if moment == "start":
        time.sleep(chance.uniform(0, 12))
        return
    kinds = case.whole if moment == "sink" else MADE
    with events(folder, lambda: not stream.ended, kinds) as following:
        for _ in range(chance.randint(1, 6)):
            following()
        if moment == "any":
            time.sleep(chance.uniform(0, 2))
        if moment != "worker":
            return
        while not stream.kill_worker(chance):
            following()
        # The task is tried again, or the query ends with an error, and the next run goes on.
        try:
            for _ in range(3):
                following()
        except AssertionError:
            assert stream.ended
            done["ended by a killed worker"] += 1


def finish(case: Case, log: Path) -> None:
    """What is left, in a run that ends by itself."""
    with Stream((*case.arguments, "--once"), log) as stream:
        assert stream.wait() == 0, log.read_text("utf-8", "replace")[-4000:]


def check(count: int, found: list[Row]) -> None:
    """Each row of the workload, once."""
    times = Counter(found)
    lost = [number for number in range(count) if times[row(number)] == 0]
    twice = [one for one, often in times.items() if often > 1]
    others = times.keys() - set(map(row, range(count)))
    assert (len(lost), len(twice), len(others)) == (0, 0, 0), (lost[:3], twice[:3], list(others)[:3])


def run(case: Case, tmp_path: Path, rows: Callable[[], list[Row]]) -> None:
    log = tmp_path / "stream.log"
    chance = random.Random(TIMES)
    started = time.monotonic()
    with Writer(tmp_path / "log") as writer:
        done = soak(case, log, TIMES, chance)
        count = writer.stop()
    finish(case, log)
    check(count, rows())
    told = ", ".join(f"{name} {often}" for name, often in done.items())
    sys.stdout.write(f"\n{count} rows, each once, behind {TIMES} kills ({told}); {time.monotonic() - started:.0f} s\n")
