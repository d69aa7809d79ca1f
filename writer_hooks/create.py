"""A new segment on the disk: its file full of zeros, durable under both names before anything is appended to it."""

from __future__ import annotations

import errno
from typing import Final

from tailer.limits import MIB
from writer_hooks.compression import Compression, header_bytes
from writer_hooks.disk import Files, sync_file, sync_folder, unlink_if_there, write_all
from writer_hooks.open_segment import Segment
from writer_hooks.places import Places
from writer_hooks.writer_errors import SyncFailedError

_PIECE: Final = MIB
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def create_segment(
    files: Files, places: Places, segment: int, boot: str, compression: Compression, size: int
) -> Segment:
    """The segment, ready for its first append. Raises OSError where there is no space; nothing of it is left then.

    Zeros are written, not only reserved: an fdatasync of a file that grows, or whose blocks are not yet written, has
    to sync its inode too and takes twice as long.
    """
    own, raw = places.own(segment), places.raw(segment)
    fd = files.open(own, create=True, exclusive=True)
    try:
        length = _fill(files, fd, header_bytes(segment, boot, compression), size)
        sync_file(files, fd, own)
        sync_folder(files, places.commitlog)
        files.link(own, raw)
        sync_folder(files, places.cdc_raw)
    except SyncFailedError as error:
        files.close(fd)
        if error.error.errno not in _FULL:
            raise
        remove_segment(files, places, segment)
        raise error.error from None
    except OSError:
        files.close(fd)
        remove_segment(files, places, segment)
        raise
    return Segment(segment, fd, length, size)


def _fill(files: Files, fd: int, header: bytes, size: int) -> int:
    write_all(files, fd, header.ljust(min(size, _PIECE), b"\0"), 0)
    zeros = bytes(min(size, _PIECE))
    for at in range(_PIECE, size, _PIECE):
        write_all(files, fd, memoryview(zeros)[: size - at], at)
    return len(header)


def remove_segment(files: Files, places: Places, segment: int) -> None:
    """Takes both names of a segment away that holds nothing, the readers' first."""
    for path in (places.raw(segment), places.own(segment)):
        unlink_if_there(files, path)
