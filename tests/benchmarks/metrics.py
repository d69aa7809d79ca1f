"""What do metrics cost a follower?

Three questions, each asked with metrics and without in one run, of processes or turns that meet the same machine:

idle    CPU of `cdc-tail follow` while nothing is written, in percent of a core; the one with `--metrics` is scraped
        once a second, fifteen times as often as usual
busy    milliseconds of CPU for a row, while rows are written one by one
bulk    seconds of CPU to read a log to its end, typed and generic, in this process and into nothing

    python -m tests.benchmarks.metrics --repeat 5 --keep
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from tailer.metrics.follower import Follower
from tailer.options.tail import TailOptions
from tailer.segments.source import FolderSource
from tailer.sinks.base import Rows
from tailer.tail.follow import follow
from tailer.tail.watch import NO_WATCH
from tests.benchmarks.latency import WARM_UP_ROWS, Watched
from tests.benchmarks.measured import (
    FOLLOW,
    Seconds,
    compile_ahead,
    figure,
    interleaved,
    low,
    medians,
    ratio,
    rounded,
    summed,
)
from tests.benchmarks.script import Begun, publish, script_parser
from tests.benchmarks.single_rows import GrowingSegment, Material, load_material
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.helpers.tails import open_tail

NAME = "metrics"
QUESTION = "What do metrics cost a follower that is idle, that gets single rows, and that reads in bulk?"
TARGETS = {"idle_more_percent": 1.0, "bulk_times": 1.02}
SCRAPE_SECONDS = 1.0
FIRST = 1_700_000_000_001
SECTION_ROWS = 500
SEGMENT_ROWS = 100_000
FORMS: dict[str, dict[str, Any]] = {"typed": {"table": "ks.t"}, "generic": {}}


def scraped(log: IO[bytes]) -> str:
    """The address that a follower says on its standard error."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        log.seek(0)
        found = re.search(rb"(http://\S+/metrics)", log.read())
        if found is not None:
            return found[1].decode()
        time.sleep(0.05)
    raise RuntimeError("no address was said")


@contextmanager
def scraping(address: str, every: float) -> Iterator[list[int]]:
    """Asks again and again until the context ends; how long each page was."""
    ended = threading.Event()
    sizes: list[int] = []

    def ask() -> None:
        while not ended.wait(every):
            with urllib.request.urlopen(address, timeout=10) as answer:
                sizes.append(len(answer.read()))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield sizes
    finally:
        ended.set()
        thread.join()


def beside(material: Material, rows: int, idle_seconds: float, seed: int) -> dict[str, Any]:
    """Two followers of one log, one with metrics: percent of a core while idle, milliseconds a row while busy."""
    with ExitStack() as stack:
        parent = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        growing = stack.enter_context(GrowingSegment(parent, material))
        said = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        command = [*FOLLOW, growing.folder, "--output", "json"]
        followers = {
            "without": stack.enter_context(Watched(command, said[0])),
            "with": stack.enter_context(Watched([*command, "--metrics", "0"], said[1])),
        }
        write(growing, WARM_UP_ROWS, random.Random(seed), [*followers.values()], 0)
        stack.enter_context(scraping(scraped(said[1]), SCRAPE_SECONDS))
        busy = spent(followers, lambda: write(growing, rows, random.Random(seed), [*followers.values()], WARM_UP_ROWS))
        idle = spent(followers, lambda: time.sleep(idle_seconds))
    return {
        "idle_percent": {name: round(100 * seconds / idle_seconds, 3) for name, seconds in idle.items()},
        "busy_row_ms": {name: round(1000 * seconds / rows, 4) for name, seconds in busy.items()},
    }


def write(growing: GrowingSegment, rows: int, gaps: random.Random, followers: Sequence[Watched], before: int) -> None:
    """Rows one by one, until all have come."""
    for _ in range(rows):
        growing.write_row()
        growing.publish()
        time.sleep(gaps.uniform(0.005, 0.015))
    for each in followers:
        each.await_lines(before + rows)


def spent(followers: dict[str, Watched], do: Callable[[], None]) -> dict[str, float]:
    """Seconds of CPU that each takes meanwhile."""
    before = {name: each.cpu_seconds() for name, each in followers.items()}
    do()
    return {name: each.cpu_seconds() - before[name] for name, each in followers.items()}


class Nothing:
    """A sink."""

    def write(self, batch: Rows) -> None: ...

    def close(self) -> None: ...


def bulk_log(parent: Path, rows: int) -> Path:
    """Finished segments."""
    table, folder = simple_table("ks", "t"), LogFolder(parent / "cdc_raw")
    for number, start in enumerate(range(0, rows, SEGMENT_ROWS)):
        payloads = [
            insert_payload(table, row, f"{row:08}", row) for row in range(start, min(start + SEGMENT_ROWS, rows))
        ]
        sections = [payloads[at : at + SECTION_ROWS] for at in range(0, len(payloads), SECTION_ROWS)]
        writer = segment_of(FIRST + number, [[create_payload(table)] if number == 0 else [], *sections])
        folder.put(writer, completed(writer))
    return folder.path


def read_all(folder: Path, options: dict[str, Any], watched: bool) -> float:
    """Seconds of CPU to read the log to its end."""
    watch = Follower(FolderSource(folder), "local", None) if watched else NO_WATCH
    with open_tail(folder, TailOptions(**options), writes=False) as tail:
        began = time.process_time()
        follow(tail, Nothing(), once=True, say=lambda line: None, watch=watch)
        took = time.process_time() - began
    if isinstance(watch, Follower):
        list(watch.samples())
    return took


def bulk(rows: int, rounds: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as parent:
        folder = bulk_log(Path(parent), rows)
        cases = {
            f"{form} {which}": lambda options=options, watched=watched: read_all(folder, options, watched)
            for form, options in FORMS.items()
            for which, watched in (("without", False), ("with", True))
        }
        for case in cases.values():
            case()
        return interleaved(cases, rounds)


def run(rows: int, bulk_rows: int, repeat: int, idle_seconds: float) -> dict[str, Any]:
    compile_ahead()
    material, begun = load_material(), Begun(NAME, QUESTION, TARGETS, repeat)
    runs = [beside(material, rows, idle_seconds, seed) for seed in range(repeat)]
    found = bulk(bulk_rows, max(repeat, 2) * 3)
    told = {"rows": rows, "bulk_rows": bulk_rows, "idle_seconds": idle_seconds, "scrape_seconds": SCRAPE_SECONDS}
    bulk_told = {"seconds": summed(found), "runs": rounded(found)}
    return begun.result(**told, medians=medians(runs), bulk=bulk_told, figures=[*figures(runs, found)], runs=runs)


def figures(runs: Sequence[dict[str, Any]], found: Seconds) -> Iterator[dict[str, Any]]:
    """The lines of the table."""
    for case, what, unit, most in (
        ("idle_percent", "idle, scraped once a second", "% of a core", TARGETS["idle_more_percent"]),
        ("busy_row_ms", "single rows", "ms of processor a row", None),
    ):
        yield figure(f"{what}: without", unit, low([each[case]["without"] for each in runs]))
        more = low([each[case]["with"] - each[case]["without"] for each in runs])
        yield figure(f"{what}: metrics more", unit, more, at_most=most)
    for form in FORMS:
        times = ratio(found, f"{form} with", f"{form} without")
        yield figure(f"in bulk, {form}: processor", "× without", times, at_most=TARGETS["bulk_times"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION, repeat=3)
    parser.add_argument("--rows", type=int, default=1000, help="single rows of each run (default: %(default)s)")
    parser.add_argument("--bulk-rows", type=int, default=200_000, help="rows in bulk (default: %(default)s)")
    parser.add_argument("--idle", type=float, default=30.0, help="idle seconds of each run (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    publish(run(chosen.rows, chosen.bulk_rows, chosen.repeat, chosen.idle), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
