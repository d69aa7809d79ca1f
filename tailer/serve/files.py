"""Segments' files as their bytes: one range of one file, whatever they say.

A name is of the segments' grammar before it comes here; what is opened lies in the log folder itself, and is a regular
file. Knows no list of segments: whether one that is gone was cleaned is said by whoever knows.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from aiohttp import web

from tailer.framing.name import SegmentName
from tailer.limits import KIB, MIB
from tailer.on_disk import closed_on_error
from tailer.serve.asked import ByteRange, range_of, segment_of
from tailer.serve.problems import ProblemError, failed
from tailer.serve.rate import Bucket
from tailer.serve.threads import Disk
from tailer.system_errors import system_error
from tailer.wire import words
from tailer.wire.listing import BytesInfo, bytes_info
from tailer.wire.state import Problem
from tailer.wire.wishes import BEHIND_BYTES, Wish

PLAIN_PIECE: Final = 1 * MIB
TLS_PIECE: Final = 256 * KIB
"""What is handed to a connection at once."""

FEW_BYTES: Final = 16 * KIB
"""A range that is no longer is read where its file is opened: a row that was just written takes one way to the disk."""

PIECE_SECONDS: Final = 30.0
"""How long a client may take for one piece; who is slower is ended."""

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
_BYTES: Final = "application/octet-stream"
_ABSENT: Final = (errno.ENOENT, errno.ENXIO, errno.ENODEV, errno.ELOOP, errno.ENOTDIR)
_OUT_OF_FILES: Final = (errno.EMFILE, errno.ENFILE)


class OpenFile(NamedTuple):
    """A segment's file, and what tells it from another one of that name. `few`: what is wanted of it, where it is few
    bytes; else nothing."""

    descriptor: int
    size: int
    etag: str
    few: bytes


class Files:
    """Those of one folder. `was_cleaned`: whether a segment is on record as cleaned: then nobody reads it any more.

    `sent`: called with how many bytes have left.
    """

    def __init__(
        self,
        folder: Path,
        disk: Disk,
        bucket: Bucket,
        was_cleaned: Callable[[int], bool],
        sent: Callable[[int], None],
        piece_seconds: float = PIECE_SECONDS,
    ) -> None:
        self._folder = folder
        self._disk = disk
        self._bucket = bucket
        self._was_cleaned = was_cleaned
        self._sent = sent
        self._piece_seconds = piece_seconds

    async def get(self, request: web.Request) -> web.StreamResponse:
        """`GET /segments/NAME`."""
        name, wanted = segment_of(request), range_of(request)
        file = await self._disk.file(self._open, name, wanted)
        try:
            return await self._answer(request, file, wanted)
        finally:
            os.close(file.descriptor)

    def few(self, wish: Wish, durable: int) -> BytesInfo | None:
        """What is wished of a file that is durable so far; None where that is nothing new, or much. Waits for the disk.

        Who gets none asks for the range, and is told what is wrong with it.
        """
        if wish.at >= durable:
            return None
        try:
            file = self._open(wish.name, ByteRange(wish.at, durable + BEHIND_BYTES))
        except ProblemError:
            return None
        os.close(file.descriptor)
        return bytes_info(wish.name, wish.at, file.size, file.etag, file.few) if file.few else None

    async def send_few(self, count: int) -> None:
        """So many bytes leave in one piece with what is answered, as soon as they may."""
        await self._bucket.take(count)
        self._sent(count)

    def _open(self, name: SegmentName, wanted: ByteRange) -> OpenFile:
        if self._was_cleaned(name.segment):
            raise _gone(410, f"segment {name.segment} was cleaned: nobody reads it any more")
        try:
            descriptor = open_below(self._folder, name.log)
        except OSError as error:
            if error.errno in _ABSENT:
                raise _gone(404, f"there is no segment {name.segment}") from None
            if error.errno in _OUT_OF_FILES:
                raise failed(system_error("the node has too many files open", error)) from error
            raise failed(system_error("cannot read the segment", error, name.log)) from error
        with closed_on_error(descriptor):
            return self._looked_at(name, descriptor, wanted)

    def _looked_at(self, name: SegmentName, descriptor: int, wanted: ByteRange) -> OpenFile:
        few = b""
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise _gone(404, f"there is no segment {name.segment}")
            if wanted.end is not None and wanted.end - wanted.first <= self._bucket.piece(FEW_BYTES):
                few = os.pread(descriptor, wanted.end - wanted.first, wanted.first)
        except OSError as error:
            raise failed(system_error("cannot read the segment", error, name.log)) from error
        return OpenFile(descriptor, status.st_size, f'"{status.st_dev}-{status.st_ino}"', few)

    async def _answer(self, request: web.Request, file: OpenFile, wanted: ByteRange) -> web.StreamResponse:
        given = request.headers.get("If-Match")
        if given is not None and given.strip() not in (file.etag, "*"):
            what = "the file of that name is another one"
            problem = Problem(words.ANOTHER_FILE, what, expected=given[:100], found=file.etag)
            raise ProblemError(412, problem, {"ETag": file.etag})
        whole = "Range" not in request.headers
        end = file.size if wanted.end is None else min(wanted.end, file.size)
        if wanted.first >= file.size and not whole:
            what = f"the file does not reach to {wanted.first} yet"
            headers = {"Content-Range": f"bytes */{file.size}", "ETag": file.etag}
            raise ProblemError(416, Problem(words.NOT_VISIBLE, what, found=f"{file.size} bytes"), headers)
        headers = {"ETag": file.etag, "Accept-Ranges": "bytes"}
        if not whole:
            headers["Content-Range"] = f"bytes {wanted.first}-{end - 1}/{file.size}"
        status, count = 200 if whole else 206, end - wanted.first
        if 0 < count <= len(file.few):
            await self.send_few(count)
            # Head and bytes leave together: who waits for a row is woken once.
            return web.Response(status=status, headers=headers, body=file.few[:count], content_type=_BYTES)
        response = web.StreamResponse(status=status, headers=headers)
        response.content_type = _BYTES
        response.content_length = count
        await response.prepare(request)
        await self._send(request, response, file, wanted.first, end)
        await response.write_eof()
        return response

    async def _send(
        self, request: web.Request, response: web.StreamResponse, file: OpenFile, at: int, end: int
    ) -> None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client is gone")
        secure = transport.get_extra_info("sslcontext") is not None
        most = self._bucket.piece(TLS_PIECE if secure else PLAIN_PIECE)
        try:
            while at < end:
                count = min(most, end - at)
                await self._bucket.take(count)
                async with asyncio.timeout(self._piece_seconds):
                    if secure:
                        data = await self._disk.file(os.pread, file.descriptor, count, at)
                        await response.write(data)
                        count = len(data)
                    else:
                        count = await self._send_file(transport, file.descriptor, at, count)
                if not count:
                    # The file is shorter than it was. What was promised does not come: the client sees a cut body.
                    break
                at += count
                self._sent(count)
        except (TimeoutError, OSError) as error:
            transport.abort()
            raise ConnectionResetError("the rest was not sent") from error
        if at < end:
            transport.abort()
            raise ConnectionResetError("the file was cut while it was sent")

    async def _send_file(self, transport: asyncio.Transport, file: int, at: int, count: int) -> int:
        if not _is_in_memory(file, at, count):
            # It comes from the disk here, and not while everybody waits.
            await self._disk.file(os.pread, file, count, at)
        loop = asyncio.get_running_loop()
        with os.fdopen(file, "rb", buffering=0, closefd=False) as raw:
            return await loop.sendfile(transport, raw, at, count)


def open_below(folder: Path, name: str) -> int:
    """A descriptor of what a name in a folder is, if it is no link. OSError. `name` is one of a file, no path."""
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return os.open(name, _FLAGS, dir_fd=inside)
    finally:
        os.close(inside)


def _is_in_memory(file: int, at: int, count: int) -> bool:
    """Whether reading that does probably not wait for the disk: its first and its last byte are cached."""
    try:
        return all(os.preadv(file, [bytearray(1)], place, os.RWF_NOWAIT) for place in (at, at + count - 1))
    except OSError:
        # Not there, or the file system cannot tell.
        return False


def _gone(status: int, what: str) -> ProblemError:
    return ProblemError(status, Problem(words.GONE, what))
