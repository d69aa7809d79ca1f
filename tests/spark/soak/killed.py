"""A query that is killed: `cdc-tail stream`, or another driver, in a process group of its own, and the moments at which
it is killed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import inotify_simple
import psutil

from tests.helpers.cli import ROOT
from tests.helpers.processes import descendants, runs, words_of

PATIENCE_SECONDS = 180.0
MADE = inotify_simple.flags.CREATE | inotify_simple.flags.MOVED_TO
GONE = inotify_simple.flags.DELETE


class Driver:
    """A program of Python that runs a query, its JVM and its Python processes. `words`: as Python is given them."""

    def __init__(self, words: Sequence[str], log: Path) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, *words],
            cwd=log.parent,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self) -> int:
        """Until it ends by itself; its exit code."""
        return self._process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """The driver and its JVM, at once."""
        kill_all(self._process)
        self._log.close()

    def kill_worker(self, chance: random.Random) -> bool:
        """One of the executor's Python workers, which are forked from a daemon; False where there is none just now."""
        return self._kill_one(_is_worker, chance)

    def kill_planner(self, chance: random.Random) -> bool:
        """The Python process in which the source plans micro-batches; False where there is none just now."""
        return self._kill_one(lambda process: runs(process, "streaming_source_runner"), chance)

    def _kill_one(self, is_meant: Callable[[psutil.Process], bool], chance: random.Random) -> bool:
        found = [process for process in descendants(self._process) if is_meant(process)]
        if not found:
            return False
        with suppress(psutil.NoSuchProcess):
            chance.choice(found).kill()
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Stream(Driver):
    """The command `cdc-tail stream`."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        super().__init__(["-c", "from tailer.cli.app import run; run()", "stream", *arguments], log)


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """A process and its group at once, by SIGKILL. What they started goes by itself: waits until it has gone."""
    others = descendants(process)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    _, left = psutil.wait_procs(others, timeout=30)
    assert not left, f"left behind by a killed driver: {[words_of(other) for other in left]}"


def _is_worker(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return runs(process, "pyspark.daemon") and runs(process.parent(), "pyspark.daemon")
    return False


@contextmanager
def events(folder: Path, alive: Callable[[], bool], kinds: int = MADE) -> Iterator[Callable[[], str]]:
    """Gives a function that waits for the next file that gets its final name in `folder`, or that goes."""
    folder.mkdir(parents=True, exist_ok=True)
    with inotify_simple.INotify() as watch:
        watch.add_watch(str(folder), kinds)
        names: list[str] = []

        def following() -> str:
            give_up = time.monotonic() + PATIENCE_SECONDS
            while not names:
                assert alive(), "the stream ended by itself"
                assert time.monotonic() < give_up, f"nothing happened in {folder}"
                names.extend(event.name for event in watch.read(timeout=100) if _is_final(event.name))
            return names.pop(0)

        yield following


def _is_final(name: str) -> bool:
    return not name.startswith((".", "_")) and not name.endswith((".tmp", ".crc"))
