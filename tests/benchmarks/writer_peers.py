"""What does a durable row cost in this project's log, beside SQLite, LMDB and a file of JSON lines?

One thread makes rows, hands so many at once to a store and waits until they are durable, again and again, for 1, 64 and
1,000 rows a sync. All stores in each round one after the other, on the same disk, so that all meet the same machine:
microseconds a row on the clock and of processor. SQLite's NORMAL does not sync at a commit, which is what it saves.

    python -m tests.benchmarks.writer_peers --seconds 1 --repeat 5 --folder DIR --keep
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.measured import figure, low
from tests.benchmarks.peer_stores import STORES, Write, left_out, sale
from tests.benchmarks.script import Begun, publish, script_parser

NAME = "writer_peers"
QUESTION = "What does a durable row cost in this project's log, beside SQLite, LMDB and a file of JSON lines?"
SIZES = (1, 64, 1000)
"""Rows a sync."""
OURS = "writer_hooks"
TARGETS = {"us_a_row_64_a_sync": 5.0}

Case = tuple[str, int]


class Cost(NamedTuple):
    """Of all rows of a case: seconds on the clock, and of this process's processors."""

    rows: int
    seconds: float
    processor: float

    @property
    def micros(self) -> float:
        return self.seconds / self.rows * 1e6

    @property
    def processor_micros(self) -> float:
        return self.processor / self.rows * 1e6


def cost(write: Write, size: int, seconds: float) -> Cost:
    """Rows are made and written until the time is over; the first ones, with what a store does only once, are not
    counted."""
    numbers = itertools.count(1)
    write([sale(next(numbers)) for _ in range(size)])
    syncs = 0
    processor, began = time.process_time(), time.perf_counter()
    while (now := time.perf_counter()) < began + seconds:
        write([sale(next(numbers)) for _ in range(size)])
        syncs += 1
        now = time.perf_counter()
    return Cost(syncs * size, now - began, time.process_time() - processor)


def measure(folder: Path, seconds: float, stores: Sequence[str]) -> Iterator[tuple[Case, Cost]]:
    """One round of all cases."""
    for size, name in itertools.product(SIZES, stores):
        place = folder / f"{name} {size}"
        place.mkdir()
        with STORES[name](place) as write:
            yield (name, size), cost(write, size, seconds)


def run(seconds: float, repeat: int, where: Path | None) -> dict[str, Any]:
    begun, absent = Begun(NAME, QUESTION, TARGETS, repeat), left_out()
    for name, reason in absent.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    stores = [name for name in STORES if name not in absent]
    rounds: list[dict[Case, Cost]] = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="cdc-tail-peers-", dir=where) as folder:
            rounds.append(dict(measure(Path(folder), seconds, stores)))
    runs = [{f"{name} {size}": _told(found) for (name, size), found in each.items()} for each in rounds]
    table = list(figures(rounds))
    return begun.result(seconds=seconds, left_out=absent, runs=runs, figures=table)


def _told(found: Cost) -> dict[str, float]:
    micros = {"us_a_row": found.micros, "processor_us_a_row": found.processor_micros}
    return {"rows": found.rows} | {name: round(value, 3) for name, value in micros.items()}


def figures(rounds: Sequence[Mapping[Case, Cost]]) -> Iterator[dict[str, Any]]:
    """The table: what a row costs in each store, and ours by each other, round by round."""
    for name, size in rounds[0]:
        costs = [each[name, size] for each in rounds]
        what = f"{name}, {size} rows a sync"
        target = TARGETS["us_a_row_64_a_sync"] if (name, size) == (OURS, 64) else None
        yield figure(what, "µs a row", low([each.micros for each in costs]), at_most=target)
        yield figure(what, "µs of processor a row", low([each.processor_micros for each in costs]))
        if name != OURS:
            ratios = [each[OURS, size].micros / each[name, size].micros for each in rounds]
            yield figure(f"{OURS}, {size} rows a sync", f"× the time of {name}", low(ratios))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION, 5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each case (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where the stores are: a folder on the disk in question")
    chosen = parser.parse_args(arguments)
    publish(run(chosen.seconds, chosen.repeat, chosen.folder), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
