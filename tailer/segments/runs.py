"""Reads runs of a segment: whole sections that check in every byte. Judges nothing that does not check.

One look at the file, one walk over the markers and one check of the entries serve up to RUN_BYTES of sections: batch
sync writes one for each commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tailer.errors import CorruptError
from tailer.framing.chain import Chain, Limits
from tailer.framing.codec import LZ4
from tailer.framing.entry import HEAD_BYTES
from tailer.framing.forms import read_chain_now, scan_parts_now, unpack_blocks_now
from tailer.framing.section import HEAD_BYTES_MAX, MARKER_BYTES, NoSection, head_bytes, read_section
from tailer.limits import KIB, MIB, OFFSET_MAX
from tailer.position import Position
from tailer.segments.run import Run
from tailer.segments.segment import SegmentFile

if TYPE_CHECKING:
    from tailer.segments.run import Numbers

RUN_BYTES: Final = 2 * MIB
"""Plain bytes at which a run ends, and what is read of the file for one; a longer section is a run by itself."""

NATIVE_RUN_BYTES: Final = 3 * MIB
"""The same of a native log, whose entries say more of themselves: about as many of them as a server's."""

_READ_BYTES_MIN: Final = 64 * KIB


def read_run(
    file: SegmentFile, start: int, at: int, end: int = OFFSET_MAX, most: int = OFFSET_MAX, *, keep: bool = False
) -> Run | None:
    """The sections from the edge (logical `start`, file offset `at`) on that end at or before `end`.

    The one with which `most` plain bytes are reached is the last; a shorter run that was read before serves as well.
    None where the first section does not check or ends behind `end`. `keep`: it is read again soon.
    """
    if start >= end:
        return None
    most = min(most, NATIVE_RUN_BYTES if file.known_header().native else RUN_BYTES)
    run = file.kept.get(start)
    if run is None or not run.fits(end, most):
        run = file.kept.take_ahead(start, end, most) or _read(file, start, at, end, most)
        if run is not None and keep:
            file.kept.keep(start, run)
    return run


def _read(file: SegmentFile, start: int, at: int, end: int, most: int) -> Run | None:
    import numpy as np

    header = file.known_header()
    limits = Limits(file.status().size, end, most)
    ahead = min(max(most, _READ_BYTES_MIN), end - at if header.plain else OFFSET_MAX)
    block = file.read(at, ahead)
    chain = read_chain_now(len(block))(block, header, at, start, limits)
    if len(chain.starts) == 0:
        first = read_section(block[:HEAD_BYTES_MAX], header, at, start, limits.file_length)
        if isinstance(first, NoSection) or first.end > end or first.next_at - at <= len(block):
            return None
        block += file.read(at + len(block), first.next_at - at - len(block))
        chain = read_chain_now(len(block))(block, header, at, start, limits)
    data, begins, ends = _bodies(file, chain, block, at)
    if len(begins) == 0:
        return None
    size = int(ends[-1] - begins[0])
    good, starts, sizes, counts = scan_parts_now(size)(data, begins, ends)
    if good == 0:
        return None
    sections, starts = np.asarray(chain.starts[:good], np.int64), np.asarray(starts, np.int64)
    moved = sections + (MARKER_BYTES - HEAD_BYTES) - begins[:good]
    offsets = starts + np.repeat(moved, counts)
    nexts, edge = np.asarray(chain.nexts[:good], np.int64), int(chain.ends[good - 1])
    return Run(data, starts, np.asarray(sizes, np.int64), offsets, sections, nexts, edge, header.native)


def _bodies(file: SegmentFile, chain: Chain, block: bytes, at: int) -> tuple[bytes, Numbers, Numbers]:
    """Plain bytes, and where in them each section begins and ends; up to the first that does not decompress."""
    import numpy as np

    header = file.known_header()
    if header.plain:
        ats, nexts = np.asarray(chain.ats, np.int64), np.asarray(chain.nexts, np.int64)
        return block, ats + (MARKER_BYTES - at), nexts - at
    starts, ends, ats, nexts = (np.asarray(line, np.int64) for line in chain)
    begins, nexts, lengths = ats + (head_bytes(header) - at), nexts - at, ends - starts - MARKER_BYTES
    view, codec = memoryview(block), file.codec()
    parts: list[bytes | bytearray] = []
    sizes: list[int] = []
    if codec is LZ4:
        part, count = unpack_blocks_now(len(lengths), int(lengths.sum()))(block, begins, nexts, lengths)
        parts.append(part)
        sizes += lengths[:count].tolist()
    rest = (line[len(sizes) :].tolist() for line in (starts, begins, nexts, lengths))
    for start, begin, next_at, length in zip(*rest, strict=True):
        try:
            parts.append(codec.decode(view[begin:next_at], length, Position(file.segment, start)))
        except CorruptError:
            # Whoever asked finds it first in line now, and judges it.
            break
        sizes.append(len(parts[-1]))
    bounds = np.cumsum([0, *sizes])
    return b"".join(parts), bounds[:-1], bounds[1:]
