"""A span's entries in groups: those of a run of sections, or of a section with faults. Knows no mutation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailer.errors import CdcError, CorruptError
from tailer.framing.entry import HEAD_BYTES, NO_ENTRIES, EntryFault
from tailer.framing.section import MARKER_BYTES, NoSection, SectionLengthError
from tailer.limits import ENTRY_OVERHEAD
from tailer.position import Position, Span
from tailer.segments.run import Run, run_of
from tailer.segments.runs import read_run
from tailer.segments.segment import SegmentFile

if TYPE_CHECKING:
    from tailer.segments.run import Numbers

OnFault = Callable[[Position, CdcError, bytes], None]
"""Called with where, what and the bytes of something that cannot be delivered; raises the error or returns to go on."""


@dataclass(slots=True)
class Group:
    """Plain bytes and the good entries in them: payload offsets and sizes in `data`, logical offsets of their heads."""

    data: bytes
    starts: Numbers
    sizes: Numbers
    offsets: Numbers


Skips = tuple[tuple[int, int], ...]
"""Ranges to leave out, as (logical offset, bytes): the section that begins there, else entries that begin inside."""


def read_groups(file: SegmentFile, span: Span, on_fault: OnFault, skips: Skips = ()) -> Iterator[Group]:
    """The span's entries, in log order, group by group. What does not check goes to `on_fault`."""
    start, at = span.start, span.at
    while start < span.end:
        run = read_run(file, start, at, span.end)
        if run is None or any(offset in run.sections for offset, _ in skips):
            run = _read_alone(file, start, at, span, on_fault, skips)
        yield _counted(run, span, skips)
        start, at = run.edge, run.at


def _read_alone(file: SegmentFile, start: int, at: int, span: Span, on_fault: OnFault, skips: Skips) -> Run:
    """The section at an edge by itself, with what is good of it."""
    section = next(file.sections(start, at))
    native = file.known_header().native
    if isinstance(section, NoSection):
        raise _vanished(file, span, section)
    if any(offset == section.start for offset, _ in skips):
        return run_of(section, b"", NO_ENTRIES, native=native)
    try:
        data, entries = file.entries(section)
    except SectionLengthError:
        raise
    except CorruptError as error:
        position = Position(file.segment, section.start)
        on_fault(position, error, file.read(section.at, section.next_at - section.at))
        return run_of(section, b"", NO_ENTRIES, native=native)
    logical = section.start + MARKER_BYTES
    for fault in entries.faults:
        if span.lower <= logical + fault.offset < span.upper and not _left_out(logical + fault.offset, skips):
            position = Position(file.segment, logical + fault.offset)
            on_fault(position, _entry_error(file, position, fault), data[fault.offset : fault.offset + fault.length])
    return run_of(section, data, entries, native=native)


def _counted(run: Run, span: Span, skips: Skips) -> Group:
    """The entries that the span counts, by the offsets of their heads."""
    if not skips and run.sections[0] >= span.lower and run.edge <= span.upper:
        return Group(run.data, run.starts, run.sizes, run.offsets)
    counted = (run.offsets >= span.lower) & (run.offsets < span.upper)
    for at, size in skips:
        counted &= (run.offsets < at) | (run.offsets >= at + size)
    return Group(run.data, run.starts[counted], run.sizes[counted], run.offsets[counted])


def _left_out(offset: int, skips: Skips) -> bool:
    return any(at <= offset < at + size for at, size in skips)


def _entry_error(file: SegmentFile, at: Position, fault: EntryFault) -> CorruptError:
    return CorruptError(
        fault.error.value,
        at=at,
        file=file.path.name,
        expected=fault.expected,
        found=fault.found,
        remedy="Restore the file, or keep the bytes aside and go on with --on-error quarantine.",
    )


def _vanished(file: SegmentFile, span: Span, found: NoSection) -> CorruptError:
    return CorruptError(
        f"a section that was planned does not check any more ({found.why.value})",
        at=Position(file.segment, found.start),
        file=file.path.name,
        expected=f"sections up to {span.end}" if found.expected is None else found.expected,
        found=found.why.value if found.found is None else found.found,
        remedy="Something other than the server has changed the file: restore it.",
    )


def entry_bytes(group: Group, number: int) -> bytes:
    """One entry whole: head, payload and CRC."""
    start = int(group.starts[number]) - HEAD_BYTES
    return group.data[start : start + int(group.sizes[number]) + ENTRY_OVERHEAD]
