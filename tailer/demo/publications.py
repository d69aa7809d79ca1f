"""The replay in a process of its own, and when it published what: so that a row's delay can be told. Knows no Spark."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from bisect import bisect_right
from pathlib import Path
from typing import Self


class Replaying:
    """`python -m tailer.demo.replay`, held after its first sidecar; what it prints is kept.

    Use as a context: it ends with it.
    """

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tailer.demo.replay", str(folder), "--hold"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self._ends: dict[int, list[int]] = {}
        self._times: dict[int, list[float]] = {}
        self.count = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def go(self, seconds: float) -> None:
        """Write the rest, over so many seconds."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def failure(self) -> str | None:
        """What went wrong, once it has ended."""
        if self._process.wait() == 0:
            return None
        return self._process.stderr.read().strip() if self._process.stderr is not None else "it ended"

    def published(self, segment: int, offset: int) -> float | None:
        """When the sidecar was written that first covered the entry that begins there (seconds since the epoch)."""
        ends = self._ends.get(segment, [])
        number = bisect_right(ends, offset)
        return self._times[segment][number] if number < len(ends) else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._thread.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                told = json.loads(line)
                self._times.setdefault(told["segment"], []).append(told["at"])
                self._ends.setdefault(told["segment"], []).append(told["end"])
                self.count += 1


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of them lie; nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
