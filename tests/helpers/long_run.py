"""A command that runs until it is told to end, seen from outside: what it says, its metrics, how it ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.helpers.cli import ROOT, program

PATIENCE_SECONDS = 120.0


class LongRun:
    """In a process of its own. `log`: the file with its standard error."""

    def __init__(self, words: Sequence[str | Path], log: Path) -> None:
        self._log = log
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "CDC_TAIL_JIT": "0"}
        with log.open("wb") as out:
            self._process = subprocess.Popen(program(words), env=environment, stderr=out)

    def said(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def await_that(self, holds: Callable[[], bool]) -> None:
        """Returns once it holds; the run may not end before."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert self._process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.05)

    def metric(self, name: str) -> float:
        """Of the one node and consumer that it has; 0 before it has them."""
        found = re.findall(rf"^{name}{{.*}} (\S+)$", self.page("metrics"), re.MULTILINE)
        assert len(found) <= 1, found
        return float(found[0]) if found else 0.0

    def page(self, name: str) -> str:
        """What it serves there, also where that is no success."""
        found: list[str] = []
        self.await_that(lambda: bool(found.extend(re.findall(r"metrics at (\S+)/metrics", self.said())) or found))
        try:
            with urllib.request.urlopen(f"{found[0]}/{name}", timeout=10) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.read().decode()
        except urllib.error.URLError as gone:
            gone.add_note(self.said())
            raise

    def ended(self) -> None:
        """Returns when it has ended by itself, and well."""
        assert self._process.wait(PATIENCE_SECONDS) == 0, self.said()

    def end(self) -> None:
        """SIGTERM, upon which it ends well."""
        self._process.send_signal(signal.SIGTERM)
        self.ended()

    def kill(self) -> None:
        """SIGKILL; nothing where it has ended."""
        self._process.kill()
        self._process.wait()


@contextmanager
def long_run(words: Sequence[str | Path], log: Path) -> Iterator[LongRun]:
    """It runs as long as the block lasts, however that ends."""
    run = LongRun(words, log)
    try:
        yield run
    finally:
        run.kill()
