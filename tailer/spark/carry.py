"""A segment's bytes inside a partition, for executors that do not see the log folder (`readOn=driver`), or an archive.

What is carried is the file's own bytes, as far as a span needs them; where they are read they stand at their own
offsets in a file that has no name. A span of a native log needs the changes of its transactions too, wherever they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from tailer.errors import RefusedError
from tailer.limits import MIB
from tailer.position import Position, Span
from tailer.reading.records import walk_of
from tailer.reading.task import ReadTask
from tailer.reading.transactions import RunPlace, Transaction
from tailer.segments.opened import OpenedFile
from tailer.segments.segment import KeySource, SegmentFile
from tailer.segments.segments import Segments
from tailer.tail.parts import TailParts

TRANSACTIONS_BYTES_MAX: Final = 64 * MIB
"""What a partition carries of its transactions beside its span: Spark's messages have a limit."""


PIECE_BYTES_MAX: Final = 8 * MIB
"""Log in one partition that carries it, for the same reason."""


class Carried(msgspec.Struct, frozen=True, array_like=True):
    """The header, and pieces of the file with their offsets. `size` is the whole file's."""

    header: bytes
    pieces: tuple[tuple[int, bytes], ...]
    size: int


class CarriedSpan(msgspec.Struct, frozen=True, array_like=True):
    """A span's own segment; of a native log what its commits stand for, with the other segments that this is in.

    `others`: by their ids, with the names of their files.
    """

    own: Carried
    walk: tuple[Transaction, ...] = ()
    others: tuple[tuple[int, str, Carried], ...] = ()


def carried(task: ReadTask, parts: TailParts, *, on_driver: bool) -> CarriedSpan | None:
    """The bytes that a task's partition holds; None where executors read the files. They see no archive."""
    segment = task.span.segment
    if not (on_driver or parts.older.reaches(segment)):
        return None
    with parts.survey.opened(segment) as file:
        return carry(file, task, parts.survey)


def carry(file: SegmentFile, task: ReadTask, segments: Segments) -> CarriedSpan:
    """What reading a task needs of the file and of the other segments of its folder."""
    span = task.span
    if not file.known_header().native:
        return CarriedSpan(_carry(file, [_of_span(file, span)]))
    walk = list(walk_of(task, file, segments).found.values())
    places = {place for each in walk if each.lost is None for place in each.runs}
    mine = sorted(place.start for place in places if place.segment == span.segment)
    own = {place.start: place for place in places if place.segment == span.segment}
    outside = [_of_place(file, own[start]) for start in mine if not span.start <= start < span.end]
    others = []
    for segment in sorted({place.segment for place in places} - {span.segment}):
        with segments.opened(segment) as other:
            wanted = sorted((each for each in places if each.segment == segment), key=lambda each: each.start)
            others.append((segment, other.path.name, _carry(other, [_of_place(other, place) for place in wanted])))
    extra = sum(end - at for at, end in outside) + sum(len(data) for _, _, c in others for _, data in c.pieces)
    if extra > TRANSACTIONS_BYTES_MAX:
        raise RefusedError(
            "a transaction is too large to be carried to an executor",
            at=Position(span.segment, span.start),
            file=file.path.name,
            expected=f"at most {TRANSACTIONS_BYTES_MAX} bytes",
            found=f"{extra} bytes",
            remedy="Let the executors read the folder (readOn=executors).",
        )
    return CarriedSpan(_carry(file, [*outside, _of_span(file, span)]), tuple(walk), tuple(others))


class CarriedSegments:
    """The other segments of a carried span (`segments.segments.Segments`)."""

    def __init__(self, others: Sequence[tuple[int, str, Carried]], keys: KeySource) -> None:
        self._others: Mapping[int, tuple[str, Carried]] = {segment: (name, held) for segment, name, held in others}
        self._keys = keys

    def between(self, first: int, last: int) -> Sequence[int]:
        return sorted(segment for segment in self._others if first <= segment <= last)

    @contextmanager
    def opened(self, segment: int) -> Iterator[SegmentFile]:
        name, held = self._others[segment]
        with opened(held, name, segment, self._keys) as file:
            yield file


def opened(carried: Carried, name: str, segment: int, keys: KeySource) -> SegmentFile:
    """The bytes as a segment file again."""
    descriptor = os.memfd_create(name)
    try:
        os.truncate(descriptor, carried.size)
        os.pwrite(descriptor, carried.header, 0)
        for at, data in carried.pieces:
            os.pwrite(descriptor, data, at)
    except BaseException:
        os.close(descriptor)
        raise
    return SegmentFile(Path(name), segment, keys, opened=OpenedFile(Path(name), descriptor))


def _carry(file: SegmentFile, ranges: Sequence[tuple[int, int]]) -> Carried:
    length = file.known_header().length
    pieces = tuple((at, file.read(at, end - at)) for at, end in ranges)
    return Carried(file.read(0, length), pieces, file.status().size)


def _of_span(file: SegmentFile, span: Span) -> tuple[int, int]:
    return span.at, file.place(span.end)[1]


def _of_place(file: SegmentFile, place: RunPlace) -> tuple[int, int]:
    file.remember(place.start, place.at)
    return place.at, file.place(place.edge)[1]
