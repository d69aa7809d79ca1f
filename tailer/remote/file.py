"""A segment of another node, open: its bytes by Range, read ahead as far as they can be trusted to stay.

What a sidecar vouches for never changes. Bytes behind it may, so what was fetched counts until the list tells of a
change of that segment. Knows nothing of what the bytes say.
"""

from __future__ import annotations

import errno
import re
from typing import Final

from tailer.errors import CdcError, SystemFailedError
from tailer.framing.name import SegmentName
from tailer.limits import MIB
from tailer.remote.connection import Answer
from tailer.remote.link import PARTIAL, Link
from tailer.remote.problems import AnsweredError
from tailer.segments.folder import SidecarFile
from tailer.segments.opened import FileStatus
from tailer.wire import paths
from tailer.wire.wishes import BEHIND_BYTES

AHEAD_BYTES: Final = 4 * MIB
_GONE: Final = (404, 410)
_NOT_VISIBLE: Final = 416
_ANOTHER_FILE: Final = 412
_RANGE: Final = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)
_ETAG: Final = re.compile(r'"(\d{1,20})-(\d{1,20})"', re.ASCII)


class RemoteFile:
    """See `Opened`. FileNotFoundError where it is gone."""

    lasts = False

    def __init__(self, link: Link, name: SegmentName) -> None:
        self._link = link
        self._name = name
        self._etag = ""
        self._size = 0
        self._start, self._bytes = 0, b""
        self._as_of = -1
        self._fill(0, BEHIND_BYTES)

    def read(self, at: int, length: int) -> bytes:
        self._check_fresh()
        if not (self._has(at, length) or self._came(at, length)):
            self._fill(at, length)
        begin = at - self._start
        return self._bytes[begin : begin + length]

    def status(self) -> FileStatus:
        self._check_fresh()
        found = _ETAG.fullmatch(self._etag)
        device, inode = (int(found[1]), int(found[2])) if found is not None else (0, 0)
        info, _ = self._link.info(self._name.log)
        return FileStatus(device, inode, self._size if info is None else max(self._size, info.size), 1)

    def sidecar(self) -> SidecarFile | None:
        found: SidecarFile | None = self._link.look(lambda seen: seen.sidecars.get(self._name.segment))
        return found

    def check_named(self) -> None:
        if self._link.info(self._name.log)[0] is None:
            raise FileNotFoundError(errno.ENOENT, "not in the node's list", self._name.log)

    def reopen(self) -> None:
        """Nothing is kept on the way but what was fetched ahead."""
        self._etag = ""
        self._fill(0, BEHIND_BYTES)

    def close(self) -> None:
        self._link.leave(self._name)
        self._start, self._bytes = 0, b""

    def _check_fresh(self) -> None:
        """What was fetched before the node told of a change may be old."""
        if self._link.changed(self._name.segment) != self._as_of:
            self._start, self._bytes = 0, b""

    def _has(self, at: int, length: int) -> bool:
        """Whether all of it is here, or what is here ends where the file does."""
        end = self._start + len(self._bytes)
        return self._start <= at and (at + length <= end or (at <= end and end >= self._size and bool(self._bytes)))

    def _came(self, at: int, length: int) -> bool:
        """Whether all of it came with the news of it."""
        piece = self._link.ahead(self._name, at, self._etag)
        if piece is None:
            return False
        self._start, self._bytes, self._size, self._as_of = piece.at, piece.data, piece.size, piece.changed
        return self._has(at, length)

    def _fill(self, at: int, length: int) -> None:
        as_of = self._link.changed(self._name.segment)
        wanted = max(length, self._ahead(at))
        headers = {"Range": f"bytes={at}-{at + wanted - 1}", **({"If-Match": self._etag} if self._etag else {})}
        try:
            answer = self._link.ask("GET", f"{paths.SEGMENTS}/{self._name.log}", headers=headers)
        except AnsweredError as answered:
            self._refused(answered, at)
            self._as_of = as_of
            return
        size = _size_of(answer, at)
        if size is None:
            content = answer.headers.get("Content-Range")
            raise self._odd(f"status {answer.status}, {content!r}, {len(answer.body)} bytes")
        self._etag, self._size = answer.headers.get("ETag", ""), size
        self._start, self._bytes, self._as_of = at, answer.body, as_of
        self._link.follow(self._name)

    def _refused(self, answered: AnsweredError, at: int) -> None:
        if answered.status in _GONE:
            raise FileNotFoundError(errno.ENOENT, answered.problem.what, self._name.log)
        if answered.status == _NOT_VISIBLE:
            self._start, self._bytes = at, b""
            return
        if answered.status == _ANOTHER_FILE:
            raise self._odd("another file of that name")
        raise answered.error()

    def _ahead(self, at: int) -> int:
        """How many bytes are likely to be wanted from there on, and there."""
        info, _ = self._link.info(self._name.log)
        if info is None or info.idx is None:
            return BEHIND_BYTES
        # Beside a file that is reserved as a whole there are zeros behind what is durable. Of a compressed one the
        # number is of more bytes than there are.
        durable = info.size if info.completed else min(info.idx, info.size)
        return min(max(durable - at, 0), AHEAD_BYTES) + BEHIND_BYTES

    def _odd(self, found: str) -> CdcError:
        return SystemFailedError(
            "the node gives other bytes than were asked for",
            file=f"{self._link.where}/{self._name.log}",
            expected="a part of the file that was there before",
            found=found,
            remedy="Start again; if it comes back, look at what is between here and the node.",
        )


def _size_of(answer: Answer, at: int) -> int | None:
    """How long the file is of which an answer is the part from `at` on; None where it is no such part."""
    found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if answer.status != PARTIAL or found is None:
        return None
    first, last, size = map(int, found.groups())
    return size if first == at and last - first + 1 == len(answer.body) and last < size else None
