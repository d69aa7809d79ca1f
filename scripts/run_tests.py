"""All tests, three parts at once: `scripts/run_tests.py PYTHON PYTHON_WITH_OLDEST_SPARK`.

One queue mostly waits for Spark's JVM, one for a Cassandra server, and beside them a third one computes: together they
keep two cores busy. Whose queue has come to its end computes too, so that all end at about one time. What a part
prints is shown when it ends; at the end stands where the time went. Exits with 1 if any part failed.
tests/README.md tells what each part proves.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Part(NamedTuple):
    """One command: its name, its words (`{python}` and `{oldest}` are the interpreters), what it finds set."""

    name: str
    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


class Ended(NamedTuple):
    """How a part went: seconds on the clock and of processor, with all processes that it waited for; its last line."""

    part: Part
    code: int
    wall: float
    cpu: float
    said: str


def suite(
    name: str,
    *places: str,
    marks: str = "",
    python: str = "{python}",
    environment: tuple[tuple[str, str], ...] = (),
) -> Part:
    """A run of pytest over folders and files of `tests/`."""
    chosen = ("-m", marks) if marks else ()
    words = (python, "-m", "pytest", "--durations=10", *chosen, *(f"tests/{place}" for place in places))
    return Part(name, words, environment)


PLAIN = (("CDC_TAIL_JIT", "0"),)
ROWS = tuple(f"golden/test_{name}.py" for name in ("definitions", "exceptions", "live", "sets", "truncate"))
"""What says that rows are the server's. The others of that folder say what becomes of them, whoever read them."""

FIRST = "the oldest Spark's environment"
NEEDS_FIRST = "oldest Spark"
TYPES = "types of the source"
READS_NOTHING = {FIRST, TYPES}
"""They begin at once. All others wait for what they would each make for themselves: compiled code, unpacked sets."""

COMPUTING = (
    suite("reader", "unit", "house", "demo", "oracle"),
    suite("retention", "retention"),
    suite("logs", "golden", "native"),
    suite("commands", "cli", "install", "mission", "simulation"),
    # The others read with the compiled form. Where they compare it with the plain one, that is tested with it.
    suite("plain reader", *ROWS, "native", "unit/jit", "unit/segments", environment=PLAIN),
    suite("writer", "writer", "benchmarks", marks="not spark"),
    suite("damage", "damage"),
)
"""Longest first, so that the last ones to end are short."""

QUEUES = (
    (suite("Spark", "spark"), suite("oldest Spark", "spark", marks="oldest", python="{oldest}")),
    (Part(FIRST, ("make", "oldest")), suite("server", "server")),
    (Part(TYPES, ("{python}", "-m", "mypy")),),
)


def taken(queue: tuple[Part, ...], computing: SimpleQueue[Part]) -> Iterator[Part]:
    """A queue's own parts, then what of the computing ones nobody has taken."""
    yield from queue
    with suppress(Empty):
        while True:
            yield computing.get_nowait()


def run(part: Part, interpreters: dict[str, str], sets: str) -> Ended:
    """Runs a part; its output is shown in one piece."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [word.format(**interpreters) for word in part.words],
            cwd=ROOT,
            env={**os.environ, "CDC_TAIL_SETS": sets, **dict(part.environment)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    last = text.strip().rpartition("\n")[2].strip("= ")
    ended = Ended(part, process.returncode, time.monotonic() - begun, used.ru_utime + used.ru_stime, last)
    print(f"\n######## {part.name}\n{text}", flush=True)
    return ended


def table(ended: list[Ended], wall: float) -> str:
    """Where the time went. The JVM and the server are not in a part's processor time: nobody waits for them."""
    lines = [f"{'part':32} {'minutes':>8} {'processor':>10}"]
    lines += [f"{each.part.name:32} {each.wall / 60:8.1f} {each.cpu / 60:10.1f}  {each.said}" for each in ended]
    return "\n".join([*lines, f"{'all':32} {wall / 60:8.1f} {sum(each.cpu for each in ended) / 60:10.1f}"])


def main(python: str, oldest: str) -> int:
    begun = time.monotonic()
    ended: list[Ended] = []
    first, prepared = threading.Event(), threading.Event()
    computing: SimpleQueue[Part] = SimpleQueue()
    for part in COMPUTING:
        computing.put(part)
    with tempfile.TemporaryDirectory(prefix="cdc-tail-sets-") as sets:

        def work(queue: tuple[Part, ...]) -> None:
            for part in taken(queue, computing):
                if part.name not in READS_NOTHING:
                    prepared.wait()
                if part.name == NEEDS_FIRST:
                    first.wait()
                ended.append(run(part, {"python": python, "oldest": oldest}, sets))
                if part.name == FIRST:
                    first.set()

        threads = [threading.Thread(target=work, args=(queue,)) for queue in QUEUES]
        for thread in threads:
            thread.start()
        try:
            subprocess.run([python, "-m", "tailer.jit.ahead"], cwd=ROOT, check=True)
            subprocess.run([python, "-m", "tests.helpers.sets", sets], cwd=ROOT, check=True)
        finally:
            # Without it each part prepares for itself, and fails in its own words.
            prepared.set()
            for thread in threads:
                thread.join()
    print(f"\n{table(ended, time.monotonic() - begun)}")
    return int(any(each.code for each in ended))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
