"""One reading of a folder as `follow --once` does it, in this process, with everything that came out of it."""

from __future__ import annotations

import itertools
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

from tailer.errors import CdcError
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.reading.reader import Reader
from tailer.rows.batch import ChangeBatch
from tailer.segments.segment import KeySource, no_keys
from tailer.state.quarantine import Quarantine
from tailer.tail.faults import Faults
from tailer.tail.follow import follow
from tailer.tail.parts import TailParts
from tailer.tail.tail import Tail
from tests.helpers.tails import tail_parts

LONGEST_SECONDS = 120
STEPS_MAX = 200
READER = Reader()
"""One for all readings: what it keeps are prepared definitions, and preparing them would be half of each reading."""


class HangError(AssertionError):
    """A reading that does not end."""


@dataclass
class Outcome:
    """What one reading gave. `kept`: what went into quarantine, by position."""

    rows: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    kept: list[tuple[Position, bytes]] = field(default_factory=list)
    error: CdcError | None = None

    @property
    def code(self) -> int:
        return 0 if self.error is None else self.error.code


class _Rows:
    """A sink that keeps the lines of `--output json`."""

    def __init__(self, rows: list[str]) -> None:
        self._rows = rows

    def write(self, batch: ChangeBatch) -> None:
        self._rows += batch.json_lines().decode().removesuffix("\n").split("\n")

    def close(self) -> None: ...


class _Kept(Quarantine):
    """A quarantine in memory."""

    def __init__(self, kept: list[tuple[Position, bytes]]) -> None:
        super().__init__(None, None, "local")
        self._list = kept

    @property
    def keeps(self) -> bool:
        return True

    def keep(self, at: Position, file: str, error: CdcError, data: bytes) -> None:
        super().keep(at, file, error, data)
        check_sentence(error)
        self._list.append((at, data))


def deliver(folder: Path, *, keys: KeySource = no_keys, writes: bool = False, **options: Any) -> Outcome:
    """Everything that is there now. Documented errors are part of the outcome, any other exception is the test's."""
    made = Outcome()
    given = TailOptions(**{"settle_seconds": 0.0, **options})
    steps = itertools.count()
    try:
        with watchdog(), Tail(_parts(folder, given, made, writes, keys)) as tail:
            follow(tail, _Rows(made.rows), once=True, say=made.said.append, stopping=lambda: next(steps) > STEPS_MAX)
    except CdcError as error:
        made.error = error
    if next(steps) > STEPS_MAX:
        raise HangError(f"no end after {STEPS_MAX} steps")
    return made


def _parts(folder: Path, options: TailOptions, made: Outcome, writes: bool, keys: KeySource) -> TailParts:
    seconds = itertools.count(2_000_000_000, 2)
    parts = tail_parts(folder, options, writes=writes, wall=lambda: float(next(seconds)))
    parts.survey._keys = keys
    if writes:
        return parts
    faults = Faults(options, parts.journal, _Kept(made.kept), parts.survey, parts.outside)
    return replace(parts, faults=faults, reader=READER)


@contextmanager
def watchdog() -> Iterator[None]:
    def bark(number: int, frame: FrameType | None) -> None:
        raise HangError(f"no end after {LONGEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check_sentence(error: CdcError) -> None:
    """An error is one sentence of what, where, expected, found, and one of what to do."""
    sentence = error.sentence()
    assert error.code in (3, 4, 5, 9), sentence
    assert error.remedy, sentence
    assert sentence.endswith(error.remedy), sentence
    assert re.search(r"segment \d+" if error.code == 9 else r"\d+:\d+", sentence), sentence
    if error.code == 4:
        assert ": expected " in sentence, sentence
        assert ", found " in sentence, sentence
