"""A process that writes a log while the demo looks at it, and when it said what to be durable. Knows no Spark."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from bisect import bisect_right
from typing import Any, Self


class LiveWriter:
    """`python -m MODULE ARGUMENTS`, which prints `{"segment", "end", "at"}` for each thing that it made durable.

    Held until `go` writes it a line with the seconds that it has. Use as a context: it ends with it.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = [sys.executable, "-m", module, *arguments]
        self._ends: dict[int, list[int]] = {}
        self._times: dict[int, list[float]] = {}
        self.count = 0
        self.said: list[dict[str, Any]] = []
        """What it printed beside that."""
        self._begin()

    def go(self, seconds: float) -> None:
        """Write the rest, over so many seconds."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()

    def kill(self) -> int:
        """kill -9, as a crash; how many things it had made durable."""
        self._process.kill()
        self._end()
        return self.count

    def again(self) -> None:
        """Start it anew, held."""
        self._begin()

    @property
    def segments(self) -> int:
        """How many segments it said something of."""
        return len(self._ends)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def failure(self) -> str | None:
        """What went wrong, once it has ended."""
        if self._process.wait() == 0:
            return None
        return self._process.stderr.read().strip() if self._process.stderr is not None else "it ended"

    def published(self, segment: int, offset: int) -> float | None:
        """When the entry that begins there was first said to be durable (seconds since the epoch)."""
        ends = self._ends.get(segment, [])
        number = bisect_right(ends, offset)
        return self._times[segment][number] if number < len(ends) else None

    def promised(self) -> list[tuple[int, int]]:
        """Everything that it said to be durable: (segment, end of the entry), in its order."""
        return [(segment, end) for segment, ends in self._ends.items() for end in ends]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._end()

    def _begin(self) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _end(self) -> None:
        self._process.wait()
        self._thread.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                # A line that a kill cut in the middle promised nothing.
                if not line.endswith("\n"):
                    return
                told = json.loads(line)
                if "segment" not in told:
                    self.said.append(told)
                    continue
                self._times.setdefault(told["segment"], []).append(told["at"])
                self._ends.setdefault(told["segment"], []).append(told["end"])
                self.count += 1


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of them lie; nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
