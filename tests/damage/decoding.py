"""What the payloads of one section give by themselves: definitions, rows, faults. Looks at no folder, plans nothing.

All that a follower adds is in which order it looks, and what it does with an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tailer.definitions.learning import Definitions
from tailer.errors import CdcError
from tailer.framing.entry import scan_entries
from tailer.framing.section import MARKER_BYTES, Section
from tailer.options.tail import TailOptions
from tailer.planning.batch_tasks import BatchTasks, RowOptions, Shape
from tailer.position import Position, Span
from tailer.reading.reader import Reader
from tailer.schema.model import TableDefinition
from tailer.segments.run import Run, run_of
from tailer.segments.segment import SegmentFile
from tailer.state.folder_journal import FolderJournal
from tests.damage.sample import SEGMENT
from tests.helpers.log_writer import LogFolder, SegmentWriter, segment_of


class Fault(NamedTuple):
    """An entry that gives no rows: where, why, and what would be kept of it."""

    at: Position
    error: CdcError
    data: bytes


def run(writer: SegmentWriter) -> Run:
    """A plain segment's one section."""
    (place,) = writer.sections
    plain = bytes(writer.data[place.at + MARKER_BYTES : place.next_at])
    return run_of(Section(place.start, place.end, place.at, place.next_at), plain, scan_entries(plain))


def learnt(folder: Path, segment: int, writer: SegmentWriter) -> Definitions:
    """What the definitions of a segment say, nothing else being known; raises what cannot be understood."""
    known = Definitions(FolderJournal(folder, writable=False), TailOptions().selection, tolerant=False)
    known.collect(segment, run(writer))
    known.learn_collected(None)
    return known


def definitions(folder: Path, *payloads: bytes) -> Mapping[str, TableDefinition] | CdcError:
    """The definitions at the end of a section with these payloads."""
    try:
        return learnt(folder, SEGMENT, segment_of(SEGMENT, [payloads])).latest()
    except CdcError as error:
        return error


class Decoding:
    """Decodes by the definitions that came before, in a segment of their own."""

    def __init__(self, folder: Path, base: bytes) -> None:
        self._known = learnt(folder, SEGMENT - 1, segment_of(SEGMENT - 1, [[base]]))
        self._file = SegmentFile(LogFolder(folder).put(segment_of(SEGMENT, [[base]])), SEGMENT)
        self._tasks = BatchTasks("local", FolderJournal(folder, writable=False), None, lambda segment: self._file)
        self._reader = Reader()

    def __enter__(self) -> Decoding:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def rows(self, first: int, *payloads: bytes) -> tuple[list[str], list[Fault]]:
        """The lines of `--output json` of a section with these payloads, from payload number `first` on; and faults."""
        writer = segment_of(SEGMENT, [payloads])
        (place,) = writer.sections
        self._file.kept.keep(place.start, run(writer))
        lower = place.entries[first].start
        span = Span(SEGMENT, place.start, place.end, place.at, lower, place.end)
        shape = Shape(RowOptions(), 0, self._known.at)
        (planned,) = self._tasks.of([span], shape)
        faults: list[Fault] = []
        found = self._reader.read(planned.task, self._file, lambda *fault: faults.append(Fault(*fault)))
        return [line for batch in found for line in batch.json_lines().decode().splitlines()], faults
