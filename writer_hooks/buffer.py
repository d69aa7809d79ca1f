"""The newest durable sections of a log, in memory, for readers in the writer's own process. Knows no file and no row.

Sections are keyed by where a reader stands that has everything before them, so a reader's position is all it needs:
the end of the section before, across segments too, or the beginning of the segment.
"""

from __future__ import annotations

import enum
import threading
import time
from collections import deque
from typing import Final, NamedTuple

from tailer.errors import CdcError
from tailer.position import Position

NOWHERE: Final = Position(0, 0)
"""The end of a log that has nothing yet."""

_SEGMENTS_MAX: Final = 10_000


class SyncedSection(NamedTuple):
    """A section whose bytes are durable.

    `prev`: the logical end of the section before it, across segments. `start`, `end`: logical edges; `at`, `next_at`:
    the same in the file. `data`: its plain bytes behind the marker. `restart`: see the sidecar's. `synced`: seconds of
    the monotonic clock at which it became durable. `captured`: its segment has something for readers, up to here.
    """

    prev: Position
    start: Position
    end: Position
    at: int
    next_at: int
    data: bytes
    restart: Position
    synced: float
    captured: bool = True


class Absent(enum.Enum):
    """Why there is no section at a position.

    `WAIT`: the log's durable end is there. `BEHIND`: what follows is not in memory (any more): read files.
    `CLOSED`: the log's end is there, and no more will come.
    """

    WAIT = "wait"
    BEHIND = "behind"
    CLOSED = "closed"


class SectionBuffer:
    """A bound number of bytes of the newest sections. `feed` never waits; any number of threads may `take`.

    Empty, and of no cost, until a reader asks for room with `hold`; the bound is the largest that was asked for.
    """

    def __init__(self, end: Position = NOWHERE) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._sections: deque[SyncedSection] = deque()
        self._at: dict[Position, SyncedSection] = {}
        self.end = end
        """The log's durable end."""
        self._rooms: list[int] = []
        self.closed = False
        self._refusal: CdcError | None = None
        self.segments: deque[int] = deque(maxlen=_SEGMENTS_MAX)
        """The newest segments of which something became durable."""
        self.used = 0
        """Bytes held now."""

    def begin(self, end: Position) -> None:
        """The log was durable up to there before the first section is fed."""
        with self._lock:
            self.end = max(self.end, end)

    def hold(self, room: int) -> None:
        """A reader comes, which wants the newest `room` bytes kept."""
        with self._lock:
            self._rooms.append(room)

    def release(self, room: int) -> None:
        """A reader goes."""
        with self._lock:
            self._rooms.remove(room)
            self._evict()

    def feed(self, section: SyncedSection) -> None:
        """The section that has just become durable."""
        with self._lock:
            self.end = section.end
            if section.prev.segment != section.end.segment:
                self.segments.append(section.end.segment)
            if self._rooms:
                self._keep(section)
            self._changed.notify_all()

    def close(self) -> None:
        """No more will come."""
        with self._lock:
            self.closed = True
            self._changed.notify_all()

    def forget(self, error: CdcError) -> None:
        """This is a forked child: nobody feeds here, and whoever held the lock may be gone. Readers get `error`."""
        self._refusal = error
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def check(self) -> None:
        """Raises where nothing can be read here any more."""
        if self._refusal is not None:
            raise self._refusal

    def take(self, position: Position, timeout: float = 0.0) -> SyncedSection | Absent:
        """The section that a reader at `position` reads next; waits for one up to `timeout` seconds."""
        self.check()
        until = None
        with self._lock:
            while True:
                section = self._at.get(position)
                if section is not None:
                    return section
                if position != self.end:
                    return Absent.BEHIND
                if self.closed:
                    return Absent.CLOSED
                now = time.monotonic()
                until = now + timeout if until is None else until
                if now >= until:
                    return Absent.WAIT
                self._changed.wait(until - now)

    def _keep(self, section: SyncedSection) -> None:
        self._sections.append(section)
        self.used += len(section.data)
        for key in _keys(section):
            self._at[key] = section
        self._evict()

    def _evict(self) -> None:
        room = max(self._rooms, default=0)
        while self.used > room:
            oldest = self._sections.popleft()
            self.used -= len(oldest.data)
            for key in _keys(oldest):
                self._at.pop(key, None)


def _keys(section: SyncedSection) -> set[Position]:
    """Where a reader stands that has everything before the section; the beginning of a segment has two places."""
    keys = {section.prev, section.start}
    if section.prev.segment != section.start.segment:
        keys.add(Position(section.start.segment, 0))
    return keys
