"""The segments of another node, as a source (`segments/source.py`)."""

from __future__ import annotations

import select
from collections.abc import Collection, Iterable
from pathlib import Path

from tailer.framing.name import SegmentName
from tailer.remote.file import RemoteFile
from tailer.remote.link import Link
from tailer.remote.looks import RemoteLooks
from tailer.segments.folder import Listing
from tailer.segments.opened import Opened
from tailer.segments.source import LogLooks
from tailer.segments.wake import Waker


class RemoteWaker:
    """Ends a wait when the node has told of something."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._poll = select.poll()
        self._poll.register(link.descriptor, select.POLLIN)
        link.listen()

    def wait(self, seconds: float) -> bool:
        if not self._poll.poll(max(0.0, seconds) * 1000):
            return False
        self._link.take_hint()
        return True

    def descriptor(self) -> int | None:
        return self._link.descriptor

    def names(self) -> Collection[str] | None:
        """A look takes what was told, and asks for nothing."""
        self._link.take_hint()
        return ()

    def close(self) -> None: ...


class RemoteSource:
    """Of one node."""

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    def where(self) -> str:
        return self._link.where

    def looks(self) -> LogLooks:
        return RemoteLooks(self._link)

    def look(self) -> Listing:
        self._link.list_now()
        looks = RemoteLooks(self._link)
        looks.look(whole=True)
        return looks.listing

    def names(self) -> Iterable[SegmentName]:
        return [log.name for log in self.look().logs.values()]

    def opened(self, name: SegmentName) -> Opened:
        return RemoteFile(self._link, name)

    def path(self, name: SegmentName) -> Path:
        return Path(self._link.url.authority) / name.log

    def waker(self) -> Waker:
        return RemoteWaker(self._link)

    def volume_bytes(self) -> int | None:
        """The node's own `status` tells how full it is."""
        return None

    def now(self) -> float:
        return self._link.now()

    def close(self) -> None:
        self._link.close()
