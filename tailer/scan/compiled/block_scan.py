"""The buffers of a compiled scan: the block with its lines, kept for the next one, grown, and read as an index."""

from __future__ import annotations

import sys
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np

from tailer.jit.addresses import Numbers
from tailer.limits import MIB
from tailer.scan.compiled import block as b
from tailer.scan.compiled import lines as ln
from tailer.scan.index import CELL, ROW, UPDATE, VALUE, Index, Lines, Status, Stopped
from tailer.scan.latest import Latest
from tailer.scan.tables import ScanTable, ScanTables

SKIP: Final = np.dtype([(field, np.int64) for field in ln.SKIP_FIELDS])
KINDS: Final = ((UPDATE, 48), (ROW, 32), (VALUE, 32), (CELL, 16), (SKIP, 4096))
"""Lines in the order of `block.UPDATES`, and of how many bytes one is expected: too few cost a second start only."""

_WIDTHS: Final = tuple(kind.itemsize // 8 for kind, _ in KINDS)
_ROOM_AT: Final = slice(b.UPDATES_ROOM, b.UPDATES_ROOM + len(KINDS))
_PLACES_AT: Final = slice(b.PLACES, b.PLACES + len(KINDS))

BLOCKS_MAX: Final = 2
"""One for the index in hand, one for the next."""

BLOCK_NUMBERS_MAX: Final = 4 * MIB
"""Larger ones are given back: 32 MiB of memory."""

_LEAST: Final = 32
_U64: Final = 2**64 - 1


class Frame(NamedTuple):
    """What all scans with the same definitions begin with: the head of a block, up to the lines.

    All but `blocks` is shared by equal definitions, and read only. `zeroed`: how much of it is to be as it is here, the
    rest may be anything. `blocks`: those of the latest scans; see `_free_block`. `flat` lives as long as its addresses
    in `head`.
    """

    flat: object
    head: Numbers
    zeroed: int
    blocks: list[Numbers]


LaidOut = tuple[tuple[ScanTable, ...], frozenset[bytes], frozenset[bytes]]
"""What of ScanTables is laid out: not the object itself, whose own frame holds large blocks."""


def frame_of(tables: ScanTables, frames: Latest[LaidOut, Frame]) -> Frame:
    """That of the definitions, with blocks of their own: two threads may scan by equal ones."""
    if not isinstance(tables.flat, Frame):
        object.__setattr__(
            tables, "flat", frames.of((tables.tables, tables.unread, tables.unusable))._replace(blocks=[])
        )
    assert isinstance(tables.flat, Frame)
    return tables.flat


class BlockScan:
    """One scan's buffers: what compiled code has the address of lives as long as this. Payloads have their `run`."""

    def __init__(self, data: bytes | memoryview, starts: Numbers, sizes: Numbers, frame: Frame) -> None:
        self.data = data
        self.starts = starts
        self.sizes = sizes
        self.frame = frame
        extent = min(max(int(sizes.sum()), 0), len(data))
        self._take_block(frame.head, [extent // each + _LEAST for _, each in KINDS])

    def keep_block(self) -> None:
        """Leaves the block to a later scan."""
        if len(self.block) <= BLOCK_NUMBERS_MAX:
            self.frame.blocks[BLOCKS_MAX - 1 :] = []
            self.frame.blocks.append(self.block)

    def index(self) -> Index:
        """What was found."""
        state = self.block[: b.STATE_SIZE].tolist()
        updates, rows, values, cells, skips = self._lines(state)
        skipped: dict[bytes, int] = {}
        for _, at, count in skips.tolist():
            table_id = bytes(self.data[at : at + ln.TABLE_ID_BYTES]).ljust(ln.TABLE_ID_BYTES, b"\0")
            skipped[table_id] = skipped.get(table_id, 0) + count
        return Index(updates, rows, values, cells, self._stopped(state), skipped)

    def _stopped(self, state: list[int]) -> Stopped:
        if state[b.STATUS] == Status.OK:
            return Stopped(Status.OK, len(self.starts))
        at, found = state[b.AT], state[b.FOUND]
        return Stopped(
            Status(state[b.STATUS]),
            state[b.ENTRY],
            state[b.START],
            int(self.sizes[state[b.ENTRY]]),
            at,
            found & _U64 if state[b.FOUND_IS_LENGTH] else found,
            state[b.TABLE],
            at,
            state[b.NAME_LEN],
            bool(state[b.KEPT_INSIDE]),
        )

    def _take_block(self, head: Numbers, room: list[int]) -> None:
        """A block that begins like `head` and has room for so many lines of each kind, one kind behind the other."""
        sizes = (lines * width for lines, width in zip(room, _WIDTHS, strict=True))
        *places, end = accumulate(sizes, initial=len(self.frame.head))
        self.block = _free_block(self.frame.blocks, end)
        self.block[: self.frame.zeroed] = head[: self.frame.zeroed]
        self.block[_ROOM_AT] = room
        self.block[_PLACES_AT] = [8 * place for place in places]

    def _lines(self, state: list[int]) -> list[Lines]:
        counts, places = state[b.UPDATES : b.UPDATES + len(KINDS)], state[_PLACES_AT]
        return [
            np.ndarray(count, kind, self.block, place)
            for (kind, _), count, place in zip(KINDS, counts, places, strict=True)
        ]

    def grow(self) -> None:
        """Twice the room for each kind of line."""
        before, state = self.block, self.block[: b.STATE_SIZE].tolist()
        lines = self._lines(state)
        self._take_block(before, [2 * room for room in state[_ROOM_AT]])
        # Column lists are known by where they were read, and kept as addresses outside of the block.
        head = slice(self.frame.zeroed, len(self.frame.head))
        self.block[head] = before[head]
        for fresh, old in zip(self._lines(self.block[: b.STATE_SIZE].tolist()), lines, strict=True):
            fresh[:] = old


def _free_block(blocks: list[Numbers], size: int) -> Numbers:
    """A block of that many numbers at least. One that no index looks into any more is used again: the operating system
    takes longer to hand out fresh memory than the scan to fill it."""
    for number, block in enumerate(blocks):
        # References: the list's, `block`, and the argument of the call.
        if len(block) >= size and sys.getrefcount(block) == 3:
            return blocks.pop(number)
    return np.empty(size, np.int64)
