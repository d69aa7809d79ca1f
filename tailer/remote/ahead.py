"""Bytes that came with a node's list: those of the segments that are followed, as far as somebody may still want them.

They are good as long as the list tells of no change of their segment; what it vouches for is good for ever, and what
comes next goes on there. Sends nothing. Not thread-safe.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from tailer.framing.name import SegmentName
from tailer.limits import KIB
from tailer.remote.seen import Seen
from tailer.wire.listing import BytesInfo, bytes_of
from tailer.wire.wishes import WISHES_MAX, Wish

KEPT_BYTES_MAX: Final = 64 * KIB
"""Of one segment. Who lags behind more asks for ranges: of many bytes nobody gains by having them with the list."""

MISSES_MAX: Final = 3
PAUSE_SECONDS: Final = 60.0
"""Where bytes were of no use so often in a row, none are wished for so long: of a compressed log the place on disk is
not what its sidecar says, and who lags behind wants others."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file, which is durable up to before `durable`. `changed`: the number of the segment's change that it
    is as of."""

    at: int
    durable: int
    data: bytes
    size: int
    etag: str
    changed: int


class Ahead:
    """Of one link."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._followed: deque[SegmentName] = deque(maxlen=WISHES_MAX)
        self._pieces: dict[SegmentName, Piece] = {}
        self._misses = 0
        self._paused = -math.inf

    def follow(self, name: SegmentName) -> None:
        """Somebody reads this segment as it grows."""
        if name not in self._followed:
            self._followed.append(name)

    def leave(self, name: SegmentName) -> None:
        if name in self._followed:
            self._followed.remove(name)
        self._pieces.pop(name, None)

    def wishes(self, seen: Seen) -> list[Wish]:
        """What is to come with the next list: what it vouches for more than this one."""
        if self._clock() < self._paused or seen.plain:
            return []
        infos = [(name, seen.info(name.log)) for name in self._followed]
        return [
            Wish(name, info.idx)
            for name, info in infos
            if info is not None and info.idx is not None and not info.completed and info.idx <= info.size
        ]

    def take(self, infos: list[BytesInfo], seen: Seen) -> None:
        """What came with a list, which `seen` has taken in. CorruptError for what is none."""
        names = {name.log: name for name in self._followed}
        for info in infos:
            data, name, log = bytes_of(info), names.get(info.name), seen.info(info.name)
            if name is not None and log is not None and log.idx is not None:
                piece = Piece(info.at, log.idx, data, info.size, info.etag, seen.changed(name.segment))
                before, self._pieces[name] = self._pieces.get(name), piece
                if before is not None and (joined := _joined(before, piece)) is not None:
                    self._pieces[name] = joined

    def find(self, name: SegmentName, at: int, etag: str, changed: int) -> Piece | None:
        """The bytes of that very file from a place on, or from before it, as of that change; each is found once."""
        piece = self._pieces.pop(name, None)
        if piece is None or piece.changed != changed:
            return None
        fits = piece.etag == etag and piece.at <= at < piece.at + len(piece.data)
        self._misses = 0 if fits else self._misses + 1
        if self._misses >= MISSES_MAX:
            self._misses, self._paused = 0, self._clock() + PAUSE_SECONDS
        return piece if fits else None


def _joined(before: Piece, piece: Piece) -> Piece | None:
    """Both in one, where the second begins at what was durable of the first; else the first may be old there."""
    durable = before.data[: before.durable - before.at]
    if (before.etag, before.durable) != (piece.etag, piece.at) or before.at + len(durable) != piece.at:
        return None
    data = durable + piece.data
    return replace(piece, at=before.at, data=data) if len(data) <= KEPT_BYTES_MAX else None
