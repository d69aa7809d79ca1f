"""What is kept of one segment between looks, and how a look is judged: ends never go back, and finished is for good.

Values in, values out: the file system is asked elsewhere (`survey.py`).
"""

from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass
from typing import Any, Final

from tailer.segments.folder import LogFile, SidecarFile

COMPLETED: Final = "completed"
"""How a segment was seen finished whose sidecar says so."""


@dataclass(slots=True)
class Sighting:
    """What is kept of a segment between looks.

    `end`: highest durable end read from its sidecar. `published`: the highest of them published in an orderly way.
    `number`: the one beside COMPLETED, which may be no more than the file's length. `first`: the `min` of a native log,
    before which nothing captured stands; 0 where nothing says so. `vouched`: when the sidecar was written that was the
    first to vouch for all that it vouches for now, in seconds since the epoch; 0 before there is one.
    """

    sidecar: bool = False
    end: int = 0
    published: int = 0
    number: int | None = None
    first: int = 0
    vouched: float = 0.0
    finished: str | None = None
    orphan_since: float | None = None

    def orphan(self, now: float) -> float:
        """For how many seconds its log was missing beside its sidecar."""
        return 0.0 if self.orphan_since is None else now - self.orphan_since

    def take_sidecar(self, sidecar: SidecarFile, log: LogFile | None) -> None:
        """What a sidecar says; nothing where it was empty or cut."""
        self.sidecar = True
        content = sidecar.content
        if content is None:
            return
        self.first = content.first or 0
        if not content.completed:
            # Never back: the server truncates and rewrites the file, so a smaller number is one cut while written.
            if content.end > self.end:
                self.end, self.vouched = content.end, sidecar.modified
            self.published = max(self.published, content.end)
            return
        if self.number is None:
            self.vouched = sidecar.modified
        self.finished = self.finished or COMPLETED
        self.number = content.end
        # A restart of the server puts the file's physical length beside the word, which says nothing of what is
        # durable: larger than any logical end of a plain segment, often smaller in a compressed one. A native log's
        # writer never does that.
        if content.restart is not None or (log is not None and content.end != log.size):
            self.published = max(self.published, content.end)
        self.end = max(self.end, 1)


@dataclass(frozen=True, slots=True)
class Closed:
    """The log end on record of a finished segment, and the highest end published in an orderly way."""

    end: int
    published: int


class ClosedEnds(UserDict[int, Closed]):
    """Log ends on record, by segment; which of them came or went since the last look is kept."""

    def __init__(self, *given: Any) -> None:
        self._news: set[int] = set()
        super().__init__(*given)

    def __setitem__(self, segment: int, closed: Closed) -> None:
        self.data[segment] = closed
        self._news.add(segment)

    def __delitem__(self, segment: int) -> None:
        del self.data[segment]
        self._news.add(segment)

    def take_news(self) -> set[int]:
        """The segments of which something was recorded or forgotten since the last call."""
        news, self._news = self._news, set()
        return news
