"""`cdc-tail` as a simulated process runs it: its words, what it prints line by line, and its exit code."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tests.simulation.world import running, this_process, this_world

Heard = Callable[[bytes], None]
"""Takes a line of standard output, without its end."""


class _Pipe(io.RawIOBase):
    """What a process writes; whoever reads has it at once. A write is whole, or not made."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._begun = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        this_world().step("print")
        *lines, self._begun = (self._begun + bytes(data)).split(b"\n")
        for line in lines:
            self._heard(line)
        return len(data)


class _Text:
    """As `sys.stdout` of one process."""

    def __init__(self, heard: Heard) -> None:
        self.buffer = _Pipe(heard)

    def write(self, text: str) -> int:
        self.buffer.write(text.encode())
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Nothing waits."""

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")


class _OfProcess:
    """`sys.stdout` or `sys.stderr`: of the simulated process that asks, else the real one."""

    def __init__(self, name: str, real: Any) -> None:
        self._name, self._real = name, real

    def __getattr__(self, name: str) -> Any:
        thread = running()
        mine = None if thread is None else thread.process.streams.get(self._name)
        return getattr(self._real if mine is None else mine, name)


def install() -> None:
    """Once for a process."""
    if not isinstance(sys.stdout, _OfProcess):
        sys.stdout = _OfProcess("stdout", sys.stdout)  # type: ignore[assignment]
        sys.stderr = _OfProcess("stderr", sys.stderr)  # type: ignore[assignment]


def listen(said: Heard) -> None:
    """From now on `said` takes the lines that the calling process writes on standard error."""
    this_process().streams["stderr"] = _Text(said)


def run(words: Sequence[str], heard: Heard, said: Heard) -> int:
    """The command in the simulated process that calls this: its exit code. `said`: takes lines of standard error."""
    from tailer.cli.app import main

    this_process().streams.update(stdout=_Text(heard), stderr=_Text(said))
    return main([*words])
