"""What does a Spark query cost while nothing happens?

`cdc-tail stream` over a recorded folder in which nothing is written, into the console: CPU time over idle seconds of
every process that it started (its own, the JVM, the source's process, Python's daemon and its workers), as percent of a
core. Idle begins when the rows that are there have come and the JVM has settled; ticks, every 40 s, are part of it.
Beside it, in turn: the source as it waits for data in everybody's sessions (`waitMillis=500`), and one that does not
wait (`waitMillis=0`), as data sources do otherwise.

    python -m tests.benchmarks.idle FOLDER --seconds 90 --repeat 3 --keep
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.benchmarks.measured import environment, medians
from tests.benchmarks.script import Begun, publish

NAME = "idle"
QUESTION = "How much of a core does a query with nothing to do use?"
TARGETS = {"waiting": 2.0}
CASES = {name: ["--option", name] if "=" in name else [] for name in ("waiting", "waitMillis=500", "waitMillis=0")}
SETTLE_SECONDS = 20.0
PATIENCE_SECONDS = 180.0
STREAM = [sys.executable, "-c", "from tailer.cli.app import run; run()", "stream"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("folder", type=Path, help="a log folder with rows; it is copied")
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--settle", type=float, default=SETTLE_SECONDS)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--case", choices=list(CASES), action="append", help="only this one; may be given again")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args(arguments)
    begun = Begun(NAME, QUESTION, TARGETS, given.repeat, given.folder)
    cases = given.case or list(CASES)
    runs = [
        {case: measure(given.folder, case, given.settle, given.seconds) for case in cases} for _ in range(given.repeat)
    ]
    middle = medians(runs)
    met = {f"{case}_percent": middle[case]["all"] <= limit for case, limit in TARGETS.items() if case in middle}
    told = {"idle_seconds": given.seconds, "runs": runs, "medians": middle, "met": met}
    publish(begun.result(**told), keep=given.keep)


def measure(folder: Path, case: str, settle: float, seconds: float) -> dict[str, float]:
    """Percent of a core, by kind of process, and of all."""
    with tempfile.TemporaryDirectory(prefix="cdc-tail-idle-") as parent:
        log = Path(parent) / "cdc_raw"
        shutil.copytree(folder, log)
        command = [*STREAM, str(log), "--output", "json", "--progress", "0", *CASES[case]]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()) as process:
            try:
                await_rows(process)
                time.sleep(settle)
                first, began = used(process.pid), time.monotonic()
                time.sleep(seconds)
                last, took = used(process.pid), time.monotonic() - began
            finally:
                process.terminate()
                process.wait(PATIENCE_SECONDS)
    return {kind: round(100 * seconds / took, 2) for kind, seconds in sorted(spent(first, last).items())}


def await_rows(process: subprocess.Popen[bytes]) -> None:
    """Until the first row came; from then on what comes is thrown away."""
    assert process.stdout is not None
    watchdog = threading.Timer(PATIENCE_SECONDS, process.kill)
    watchdog.start()
    line = process.stdout.readline()
    watchdog.cancel()
    if not line:
        raise RuntimeError(f"no row came, exit code {process.wait()}")
    threading.Thread(target=drain, args=(process.stdout,), daemon=True).start()


def drain(stream: Any) -> None:
    # Whoever ends the process closes the stream, perhaps in the middle of a read.
    with suppress(ValueError):
        while stream.read(1 << 16):
            pass


def used(pid: int) -> dict[int, tuple[str, float]]:
    """Kind and CPU seconds so far of every process that is alive."""
    found = {}
    root = psutil.Process(pid)
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
            found[process.pid] = kind_of(process.pid == pid, " ".join(process.cmdline())), times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return found


def spent(first: dict[int, tuple[str, float]], last: dict[int, tuple[str, float]]) -> Counter[str]:
    """CPU seconds between two looks. What a process used that ended in between is not known, and little."""
    seconds: Counter[str] = Counter()
    for pid, (kind, total) in last.items():
        seconds[kind] += total - first.get(pid, (kind, 0.0))[1]
    seconds["all"] = sum(seconds.values())
    return seconds


def kind_of(is_root: bool, command: str) -> str:
    if is_root:
        return "command"
    if "streaming_source_runner" in command:
        return "source"
    return "python" if "pyspark" in command and "java" not in command.split(" ")[0] else "jvm"


if __name__ == "__main__":
    main()
