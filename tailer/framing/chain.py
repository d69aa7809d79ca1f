"""Many sections in one look: the chain of markers in a block of a file, and the entries of all of them.

The usual case only: what does not check ends the chain, and `section` and `entry` say what is wrong there. Pure: takes
buffers. `framing.compiled.chain` is the compiled twin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tailer.framing.entry import scan_entries
from tailer.framing.header import Header
from tailer.framing.section import HEAD_BYTES_MAX, NoSection, head_bytes, read_section

if TYPE_CHECKING:
    from tailer.framing.entry import Numbers

SECTIONS_MAX: Final = 16384
"""Sections of one chain; a longer one is cut."""


class Limits(NamedTuple):
    """Where a chain ends at the latest: `file_length` bytes of the file, logical `end`, `most` plain bytes reached."""

    file_length: int
    end: int
    most: int


class Chain(NamedTuple):
    """Sections one behind the other: logical starts and ends, file offsets of their markers and ends."""

    starts: Numbers
    ends: Numbers
    ats: Numbers
    nexts: Numbers


class Parts(NamedTuple):
    """The entries of the first `good` parts, those without any fault: payload offsets, sizes; how many in each part."""

    good: int
    starts: Numbers
    sizes: Numbers
    counts: Numbers


def read_chain(block: bytes, header: Header, at: int, start: int, limits: Limits) -> Chain:
    """The sections that lie wholly in `block` (the file's bytes from file offset `at` on, logical `start`).

    Up to the first marker that does not check, the limits, or SECTIONS_MAX. The last section is the one that reaches
    `most`; none ends behind `end`.
    """
    view, base, first = memoryview(block), at, start
    head = head_bytes(header)
    found: list[tuple[int, int, int, int]] = []
    while start - first < limits.most and at - base + head <= len(view) and len(found) < SECTIONS_MAX:
        section = read_section(view[at - base : at - base + HEAD_BYTES_MAX], header, at, start, limits.file_length)
        if isinstance(section, NoSection) or section.end > limits.end or section.next_at - base > len(view):
            break
        found.append(section)
        start, at = section.end, section.next_at
    starts, ends, ats, nexts = zip(*found, strict=True) if found else ((), (), (), ())
    return Chain(starts, ends, ats, nexts)


def scan_parts(data: bytes, begins: Numbers, ends: Numbers) -> Parts:
    """The entries between `begins` and `ends` (offsets in `data`), part by part, up to the first part with a fault."""
    view = memoryview(data)
    starts: list[int] = []
    sizes: list[int] = []
    counts: list[int] = []
    for begin, end in zip(begins, ends, strict=True):
        found = scan_entries(view[begin:end])
        if found.faults:
            break
        starts += [begin + start for start in found.starts]
        sizes += found.sizes
        counts.append(len(found.starts))
    return Parts(len(counts), starts, sizes, counts)
