"""What of a log folder is not delivered yet, and how full it is: a look of its own, so that it is true of a loop that
stands still as well. Opens no log and judges nothing: sidecars, and how long the files are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

from tailer.errors import CdcError
from tailer.retention.status import default_cap
from tailer.segments.folder import SidecarFile
from tailer.segments.source import Source
from tailer.state.offset import NodeOffset


class Waiting(NamedTuple):
    """What sidecars vouch for beyond an offset. `seconds`: for how long the oldest of it has."""

    bytes: int = 0
    segments: int = 0
    seconds: float = 0.0


class FolderFigures(NamedTuple):
    """`cap`: None where nothing says how much the folder may take."""

    waiting: Waiting
    segments: int
    bytes: int
    cap: int | None


class _Seen(NamedTuple):
    """What waited in a segment when that was first seen: up to where, and since when."""

    end: int
    since: float


class FolderLook:
    """Of one log; any thread may ask. `cap`: as the user gave it. `wall`: seconds since the epoch."""

    def __init__(self, source: Source, cap: int | None = None, wall: Callable[[], float] | None = None) -> None:
        self._source = source
        self._cap = cap
        self._wall = wall or source.now
        self._lock = threading.Lock()
        self._looks = source.looks()
        self._seen: dict[int, _Seen] = {}

    def look(self, behind: NodeOffset | None, oldest: float | None = None) -> FolderFigures | None:
        """What there is now; None where the folder cannot be read. `behind`: all before that is delivered, None where
        nobody knows yet. `oldest`: since when the oldest of the rest is durable, as far as the loop has heard."""
        with self._lock:
            try:
                self._looks.look(whole=True)
                cap = self._cap_now()
            except (OSError, CdcError):
                # The loop meets the same, and ends with what it is: here it is told by its absence.
                self._looks = self._source.looks()
                return None
            logs = self._looks.logs
            waiting = Waiting() if behind is None else self._waiting(behind, oldest)
            return FolderFigures(waiting, len(logs), sum(log.size for log in logs.values()), cap)

    def _waiting(self, behind: NodeOffset, oldest: float | None) -> Waiting:
        ends = self._ends(behind)
        left = {segment: size for segment, end in ends.items() if (size := behind.left(segment, end))}
        # A sidecar that is written over says only when it was written last: what was seen before knows more.
        self._seen = {
            segment: seen
            if (seen := self._seen.get(segment)) is not None and behind.left(segment, seen.end)
            else _Seen(ends[segment], self._looks.sidecars[segment].modified)
            for segment in left
        }
        if not left:
            return Waiting()
        since = min(seen.since for seen in self._seen.values())
        since = since if oldest is None else min(since, oldest)
        return Waiting(sum(left.values()), len(left), max(self._wall() - since, 0.0))

    def _ends(self, behind: NodeOffset) -> dict[int, int]:
        """What sidecars say of segments that are not behind. Beside COMPLETED stands a bound, perhaps a higher one."""
        found = ((segment, self._looks.sidecars.get(segment)) for segment in self._asked(behind))
        return {segment: _end(sidecar) for segment, sidecar in found if sidecar is not None}

    def _asked(self, behind: NodeOffset) -> set[int]:
        ahead = (segment for segment in self._looks.sidecars if segment >= behind.s)
        return {segment for segment in chain(ahead, (late for late, _ in behind.p)) if segment in self._looks.logs}

    def _cap_now(self) -> int | None:
        """As it was given, else a server's default; a service's log says itself what it may take."""
        if self._cap is not None or self._looks.own or self._looks.listing.dropped is not None:
            return self._cap
        volume = self._source.volume_bytes()
        return None if volume is None else default_cap(volume)


def _end(sidecar: SidecarFile) -> int:
    return 0 if sidecar.content is None else sidecar.content.end
