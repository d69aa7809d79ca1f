"""A span's bytes as groups of whole sections: what one scan works on. Knows no mutation and no definition.

Many small sections (batch sync writes one per commit) are joined, so that the cost of a scan is paid once for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from tailer.errors import CdcError, CorruptError
from tailer.format.codec import SectionLengthError
from tailer.format.entry import EntryFault
from tailer.format.section import MARKER_BYTES, NoSection, Section
from tailer.limits import ENTRY_OVERHEAD, KIB
from tailer.position import Position, Span
from tailer.source.segment import SegmentFile

JOIN_BYTES: Final = 256 * KIB
"""Sections are joined until they have this many plain bytes."""

_ENTRY_HEAD: Final = 8

OnFault = Callable[[Position, CdcError, bytes], None]
"""Called with where, what and the bytes of something that cannot be delivered; raises the error or returns to go on."""


@dataclass(slots=True)
class Group:
    """Plain bytes and the good entries in them: payload offsets and sizes in `data`, logical offsets of their starts.

    `edge`: the logical end of the group's last section.
    """

    data: bytes = b""
    starts: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    edge: int = 0


Skips = tuple[tuple[int, int], ...]
"""Ranges to leave out, as (logical offset, bytes): the section that begins there, else entries that begin inside."""


def read_groups(file: SegmentFile, span: Span, on_fault: OnFault, skips: Skips = ()) -> Iterator[Group]:
    """The span's entries, in log order, group by group. What does not check goes to `on_fault`."""
    group, parts, length = Group(), [], 0
    for section in file.sections(span.start, span.at):
        if isinstance(section, NoSection):
            raise _vanished(file, span, section)
        data = _add(group, length, file, section, span, on_fault, skips)
        parts.append(data)
        length += len(data)
        group.edge = section.end
        if length >= JOIN_BYTES or section.end >= span.end:
            group.data = parts[0] if len(parts) == 1 else b"".join(parts)
            yield group
            group, parts, length = Group(), [], 0
        if section.end >= span.end:
            return


def _add(
    group: Group, base: int, file: SegmentFile, section: Section, span: Span, on_fault: OnFault, skips: Skips
) -> bytes:
    """Note the section's entries that the span counts; `base` is where its bytes will lie in the group."""
    if any(at == section.start for at, _ in skips):
        return b""
    try:
        data, entries = file.entries(section)
    except SectionLengthError:
        raise
    except CorruptError as error:
        at = Position(file.segment, section.start)
        on_fault(at, error, file.read(section.at, section.next_at - section.at))
        return b""
    logical = section.start + MARKER_BYTES
    head = logical - _ENTRY_HEAD
    lower, upper = span.lower, span.upper
    for start, size in zip(entries.starts, entries.sizes, strict=True):
        if lower <= head + start < upper and not (skips and _left_out(head + start, skips)):
            group.starts.append(base + start)
            group.sizes.append(size)
            group.offsets.append(head + start)
    for fault in entries.faults:
        if lower <= logical + fault.offset < upper and not _left_out(logical + fault.offset, skips):
            at = Position(file.segment, logical + fault.offset)
            on_fault(at, _entry_error(file, at, fault), data[fault.offset : fault.offset + fault.length])
    return data


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
    start = group.starts[number] - _ENTRY_HEAD
    return group.data[start : start + group.sizes[number] + ENTRY_OVERHEAD]
