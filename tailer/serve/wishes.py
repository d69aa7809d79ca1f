"""Bytes that come with a list: what those who wait wish for, and what of that a look has shown. For one event loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Final

from tailer.serve.files import Files
from tailer.serve.seen import Seen
from tailer.wire.listing import BytesInfo, bytes_count
from tailer.wire.state import encode
from tailer.wire.wishes import Wish

READ_MAX: Final = 64
"""Places that are read for one look. Who follows a log is where all others are; who is not asks for himself."""


class Wishes:
    """Of all readers of one node."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._waiting: Counter[Wish] = Counter()
        self._found: Mapping[Wish, BytesInfo] = {}

    @contextmanager
    def waiting(self, wishes: Collection[Wish]) -> Iterator[None]:
        """Somebody waits who has these."""
        self._waiting.update(wishes)
        try:
            yield
        finally:
            self._waiting.subtract(wishes)
            for wish in wishes:
                if not self._waiting[wish]:
                    del self._waiting[wish]

    def now(self) -> list[Wish]:
        """To be read behind a look."""
        return list(islice(self._waiting, READ_MAX))

    def read(self, wishes: Collection[Wish], seen: Seen) -> Mapping[Wish, BytesInfo]:
        """What there is of them since the newest look. Called where it may wait for the disk."""
        durable = {wish: seen.advanced(wish.name.segment) for wish in wishes}
        found = {wish: self._files.few(wish, end) for wish, end in durable.items() if end is not None}
        return {wish: info for wish, info in found.items() if info is not None}

    def put(self, found: Mapping[Wish, BytesInfo]) -> None:
        """They go with the list of that look, until the next one."""
        self._found = found

    async def member(self, wishes: Collection[Wish]) -> bytes:
        """The list's member for who has these, or nothing. What there is when it is called."""
        infos = [self._found[wish] for wish in wishes if wish in self._found]
        if not infos:
            return b""
        await self._files.send_few(sum(map(bytes_count, infos)))
        return b'"ahead":%b,' % encode(infos)
