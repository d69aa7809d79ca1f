"""A segment's bytes inside a partition, for executors that do not see the log folder (`readOn=driver`).

What is carried is the file's own bytes, as far as a span needs them; where they are read they stand at their own
offsets in a file that has no name.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tailer.position import Span
from tailer.source.segment import KeySource, SegmentFile


class Carried(msgspec.Struct, frozen=True, array_like=True):
    """The header, and the sections of a span, which begin at file offset `at`. `size` is the whole file's."""

    header: bytes
    at: int
    sections: bytes
    size: int


def carry(file: SegmentFile, span: Span) -> Carried:
    """What reading the span needs of the file."""
    length = file.known_header().length
    _, end = file.place(span.end)
    return Carried(file.read(0, length), span.at, file.read(span.at, end - span.at), file.stat().st_size)


def opened(carried: Carried, name: str, segment: int, keys: KeySource) -> SegmentFile:
    """The bytes as a segment file again."""
    descriptor = os.memfd_create(name)
    try:
        os.truncate(descriptor, carried.size)
        os.pwrite(descriptor, carried.header, 0)
        os.pwrite(descriptor, carried.sections, carried.at)
    except BaseException:
        os.close(descriptor)
        raise
    return SegmentFile(Path(name), segment, keys, descriptor=descriptor)
