"""A new segment on the disk: its file full of zeros, durable under both names before anything is appended to it."""

from __future__ import annotations

import errno
from typing import Final

from tailer.limits import MIB
from writer_hooks.compression import header_bytes
from writer_hooks.disk import Files, sync_file, sync_folder, unlink_if_there, write_all
from writer_hooks.log_options import Options
from writer_hooks.open_segment import Segment
from writer_hooks.places import Places
from writer_hooks.segment_ids import Ids
from writer_hooks.writer_errors import GoneError, SyncFailedError, is_gone

_PIECE: Final = MIB
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Maker:
    """Makes a log's segments, one after another. `previous`: the one that its last run ended with."""

    def __init__(
        self, files: Files, places: Places, ids: Ids, boot: str, options: Options, previous: int | None
    ) -> None:
        self._files = files
        self._places = places
        self._ids = ids
        self._boot = boot
        self._options = options
        self._previous = previous

    def make(self) -> Segment:
        """The next segment. Raises OSError, SyncFailedError, also where the folder is gone."""
        try:
            number = self._ids.take()
            header = header_bytes(number, self._boot, self._options.compression, self._previous)
            made = create_segment(self._files, self._places, number, header, self._options.segment_bytes)
        except OSError as error:
            if is_gone(error):
                raise GoneError(error, error.filename or self._places.commitlog) from error
            raise
        # They are used in the order in which they are made; an id that came to nothing is nobody's.
        self._previous = number
        return made


def create_segment(files: Files, places: Places, segment: int, header: bytes, size: int) -> Segment:
    """The segment, ready for its first append. Raises OSError where there is no space. Nothing of it is left behind any
    error but a failed fsync.

    Zeros are written, not only reserved: an fdatasync of a file that grows, or whose blocks are not yet written, has
    to sync its inode too and takes twice as long.
    """
    own, raw = places.own(segment), places.raw(segment)
    fd = files.open(own, create=True, exclusive=True)
    try:
        length = _fill(files, fd, header, size)
        sync_file(files, fd, own)
        sync_folder(files, places.commitlog)
        files.link(own, raw)
        sync_folder(files, places.cdc_raw)
        return Segment(segment, fd, length, size)
    except SyncFailedError as error:
        files.close(fd)
        if error.error.errno not in _FULL:
            raise
        remove_segment(files, places, segment)
        raise error.error from None
    except BaseException:
        # Also where memory ends, or Ctrl-C comes: nobody else knows of the descriptor.
        files.close(fd)
        remove_segment(files, places, segment)
        raise


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
