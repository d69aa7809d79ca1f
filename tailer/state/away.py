"""That a running consumer's target is away: told in the file of the name's lock, by who holds it, to who asks.

It counts while the lock is held, so nothing is left behind by a kill. Decides nothing and waits for nobody.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from tailer.errors import CdcError
from tailer.on_disk import LOCK_BYTES_MAX, holder_line
from tailer.state.modes import open_to_read
from tailer.system_errors import told
from tailer.typed_decode import decode_json

_LETTERS: Final = 500
"""Of an error; none takes more than six bytes in JSON."""


class Away(msgspec.Struct, frozen=True):
    """`since`: seconds since the epoch. `error`: what the last try came to."""

    since: float
    error: str


class AwayNote:
    """Of one holder. `lock`: the descriptor of the lock's file, `path`: where that is."""

    def __init__(self, lock: int, path: Path, wall: Callable[[], float] = time.time) -> None:
        self._lock = lock
        self._path = path
        self._wall = wall
        self._since: float | None = None

    def tell(self, error: CdcError | None) -> None:
        """The target cannot be reached; None: it is there again. What the system refuses is a documented error."""
        self.say("" if error is None else error.sentence())

    def say(self, why: str) -> None:
        """The same in words; none: it is there again."""
        if not why:
            self._since = None
            self._write(b"")
            return
        if self._since is None:
            self._since = self._wall()
        self._write(msgspec.json.encode(Away(self._since, why[:_LETTERS])))

    def _write(self, line: bytes) -> None:
        with told("cannot write the state", self._path, writes=True):
            text = holder_line(self._lock) + b"\n" + line
            os.pwrite(self._lock, text, 0)
            os.ftruncate(self._lock, len(text))


def away_of(path: Path) -> Away | None:
    """What the holder of that lock says of its target; None where it is there, or just now is written anew."""
    try:
        lock = open_to_read(path)
    except FileNotFoundError:
        return None
    try:
        line = os.pread(lock, LOCK_BYTES_MAX, 0).partition(b"\n")[2]
    finally:
        os.close(lock)
    try:
        return decode_json(line, Away) if line else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Half of a line: the next look has it.
        return None
