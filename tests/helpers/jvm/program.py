"""A Java program as a subprocess that ends with the process that started it, however that one ends."""

from __future__ import annotations

import collections
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from tests.helpers.jvm.jars import cache, compiled, java

END_SECONDS = 60

_TIED = Path(__file__).with_name("Tied.java")

Started = TypeVar("Started", bound="Startable")


class StartFailed(Exception):
    """The program did not come up; the text is what it said."""


class Program:
    """`main` of a class with words, on a class path. What it prints goes into the file `log`."""

    def __init__(self, log: Path, path: Sequence[Path | str], options: Sequence[str], words: Sequence[str]) -> None:
        self.log = log
        tied = compiled(_TIED, cache() / "jvm")
        class_path = os.pathsep.join(map(str, (tied, *path)))
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [str(java()), *options, "-cp", class_path, "Tied", *words],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal is for the tests: they end the program themselves
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def await_answer(self, answers: Callable[[], bool], seconds: float) -> None:
        """Returns once `answers()` is true. A program that ends or takes longer is killed: StartFailed."""
        deadline = time.monotonic() + seconds
        while not answers():
            if not self.running or time.monotonic() > deadline:
                self.kill()
                raise StartFailed(f"{self.log.stem}: no answer; the end of its log:\n{self.said()}")
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL, and gone when this returns."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()

    def stop(self) -> None:
        """SIGTERM, upon which a JVM runs its shutdown hooks; SIGKILL if that takes too long."""
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        finally:
            self.kill()

    def said(self, lines: int = 25) -> str:
        """The last lines of what it printed."""
        with self.log.open(errors="replace") as text:
            return "".join(collections.deque(text, maxlen=lines))


class Startable(Protocol):
    """Something that runs as a program: a server, a broker, a connector."""

    def start(self) -> None: ...

    def kill(self) -> None: ...


@contextmanager
def running(made: Started) -> Iterator[Started]:
    """It runs when the block begins, and is killed at its end, whatever the block did with it."""
    made.start()
    try:
        yield made
    finally:
        made.kill()


def own_address() -> str:
    """A loopback address that no test running beside this one uses."""
    return f"127.0.0.{2 + os.getpid() % 250}"


def free_ports(address: str, count: int) -> list[int]:
    """Ports that nobody listens on. All are held until the last is found, so that they differ."""
    held = [socket.create_server((address, 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return ports
