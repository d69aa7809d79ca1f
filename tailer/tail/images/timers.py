"""What becomes of images as time goes by: values expire while nothing is written, and what is dead is forgotten.

Each call is quick; whoever waits for rows calls it as often as it likes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from tailer.images import Image
from tailer.images.forgetting import late_sentence
from tailer.images.forgetting_by_turns import NO_GC_GRACE
from tailer.tail.follow import Say
from tailer.tail.images.merging import Merging
from tailer.tail.images.stream import ImageStream

EXPIRES_SECONDS: Final = 1.0
FORGETS_SECONDS: Final = 600.0

_PARTITIONS: Final = 500
"""So many are looked at in one transaction for what may be forgotten."""


class Timers:
    """Of one stream. Any thread may call."""

    def __init__(self, stream: ImageStream, say: Say, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._say = say
        self._clock = clock
        self._lock = threading.Lock()
        self._expired = clock()
        self._forgot = clock()
        self._forgetting = False
        self._late = 0
        self._read_past: dict[str, int] = {}
        self._gc_grace: dict[str, Mapping[str, int]] = {}

    def read_past(self, node: str, seconds: float, gc_grace: Mapping[str, int] = NO_GC_GRACE) -> None:
        """All that the node's log had then is merged. `gc_grace`: as it tells of tables, by id; never changed again."""
        self._gc_grace[node] = gc_grace
        self._read_past[node] = int(seconds)

    def is_past(self, node: str, second: float) -> bool:
        """Whether all that the node's log had at a second is merged, as was told."""
        return self._read_past.get(node, 0) >= second

    def look(self) -> None:
        """Do what is due."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            now = self._clock()
            if now - self._expired >= EXPIRES_SECONDS:
                self._expired = now
                self._stream.expire()
                self._stream.take_out()
            if self._forgetting or now - self._forgot >= FORGETS_SECONDS:
                self._forgot = now
                self._stream.run(self._forget)
        finally:
            self._lock.release()

    def _longest(self) -> dict[str, int]:
        """By table the most that any node tells: an ALTER has not come to all of them yet."""
        longest: dict[str, int] = {}
        for told in list(self._gc_grace.values()):
            longest |= {id: max(seconds, longest.get(id, 0)) for id, seconds in told.items()}
        return longest

    def _forget(self, merging: Merging) -> list[Image]:
        told = merging.merger.forget(merging.now_us, self._read_past, _PARTITIONS, self._longest())
        self._forgetting = not told.done
        late, before = self._stream.late_facts, self._late
        if late > before:
            self._late = late
            self._say(f"warning: {late_sentence(late - before)} Is a node repaired less often than gc_grace_seconds?")
        return []
