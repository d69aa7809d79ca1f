"""The compiled twin of `scan.mutation.scan.scan`: the same arguments, the same index, the same end."""

from __future__ import annotations

import sys
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np

from tailer.jit.addresses import Numbers, address_of
from tailer.limits import MIB
from tailer.scan.index import CELL, ROW, UPDATE, VALUE, Index, Lines, Status, Stopped
from tailer.scan.latest import Latest
from tailer.scan.mutation.compiled import walk as w
from tailer.scan.mutation.compiled.columns import K_WIDTH
from tailer.scan.mutation.compiled.flat import flat_tables
from tailer.scan.mutation.compiled.mutations import SKIP_FIELDS, scan_from
from tailer.scan.mutation.compiled.one_row import OneRow
from tailer.scan.mutation.scan import TABLE_ID_BYTES, Offsets
from tailer.scan.mutation.walk import SLACK
from tailer.scan.tables import ScanTable, ScanTables

SKIP: Final = np.dtype([(field, np.int64) for field in SKIP_FIELDS])
KINDS: Final = ((UPDATE, 48), (ROW, 32), (VALUE, 32), (CELL, 16), (SKIP, 4096))
"""Lines in the order of `walk.UPDATES`, and of how many bytes one is expected: too few cost a second start only."""

_WIDTHS: Final = tuple(kind.itemsize // 8 for kind, _ in KINDS)
_ROOM_AT: Final = slice(w.UPDATES_ROOM, w.UPDATES_ROOM + len(KINDS))
_PLACES_AT: Final = slice(w.PLACES, w.PLACES + len(KINDS))

BLOCKS_MAX: Final = 2
"""One for the index in hand, one for the next."""

BLOCK_NUMBERS_MAX: Final = 4 * MIB
"""Larger ones are given back: 32 MiB of memory."""

_LEAST: Final = 32
_U64: Final = 2**64 - 1
_NO_TAIL: Final = 2**62


def scan(
    data: bytes,
    starts: Offsets,
    sizes: Offsets,
    tables: ScanTables,
    first: int = 0,
    unsigned_times: bool = False,
    one_row: OneRow | None = None,
) -> Index:
    """See `scan.mutation.scan.scan`. Where data end less than SLACK bytes behind a payload, they are copied from it on.

    `one_row`: what is noted there has no lines in the index. There is room for as many rows as entries are scanned.
    """
    where = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(sizes, np.int64)
    found = MutationScan(data, *where, frame_of(tables, _FRAMES))
    found.block[w.UNSIGNED_TIMES] = unsigned_times
    found.block[w.SKIP_UNKNOWN] = tables.skip_unknown
    found.block[w.ONE_ROW] = 0 if one_row is None else one_row.address
    found.run(first)
    found.keep_block()
    return found.index()


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


LaidOut = tuple[tuple[ScanTable, ...], frozenset[bytes]]
"""What of ScanTables is laid out: not the object itself, whose own frame holds large blocks."""


def frame_of(tables: ScanTables, frames: Latest[LaidOut, Frame]) -> Frame:
    """That of the definitions, with blocks of their own: two threads may scan by equal ones."""
    if not isinstance(tables.flat, Frame):
        object.__setattr__(tables, "flat", frames.of((tables.tables, tables.unread))._replace(blocks=[]))
    assert isinstance(tables.flat, Frame)
    return tables.flat


def _new_frame(definitions: LaidOut) -> Frame:
    flat = flat_tables(ScanTables(*definitions))
    tables, columns = len(flat.tables), len(flat.columns)
    known = w.STATE_SIZE
    seen = known + 2 * K_WIDTH * tables
    lists = seen + columns
    chosen = lists + 2 * columns
    head = np.zeros(chosen + flat.columns_max, np.int64)
    head[w.PLACES + len(KINDS) : w.PLACES + w.PLACES_N] = np.array([known, seen, lists, chosen]) * 8
    head[w.IDS], head[w.IDS_MASK] = address_of(flat.ids), len(flat.ids) - 1
    head[w.TABLES] = address_of(flat.tables)
    head[w.LENGTHS] = address_of(flat.lengths)
    head[w.NAMES] = address_of(flat.names)
    head[w.COLUMNS] = address_of(flat.columns)
    head[w.TEXTS] = address_of(flat.texts)
    head[w.TAIL_FROM] = _NO_TAIL
    return Frame(flat, head, lists, [])


_FRAMES: Final = Latest(_new_frame)


class MutationScan:
    """One scan's buffers: whatever the compiled code has the address of lives as long as this."""

    def __init__(self, data: bytes | memoryview, starts: Numbers, sizes: Numbers, frame: Frame) -> None:
        self.data = data
        self.starts = starts
        self.sizes = sizes
        self.frame = frame
        self.tails: list[Any] = []
        extent = min(max(int(sizes.sum()), 0), len(data))
        self._take_block(frame.head, [extent // each + _LEAST for _, each in KINDS])

    def run(self, first: int) -> None:
        """Scans until the end, or until an entry does not decode."""
        data = np.frombuffer(self.data, np.uint8)
        tail = data
        where = address_of(self.starts), address_of(self.sizes), len(self.starts)
        while True:
            begins = address_of(self.block), address_of(data), len(data), address_of(tail)
            first = scan_from(*begins, *where, first)
            status = self.block[w.STATUS]
            if status == w.NO_SLACK:
                start = int(self.starts[first])
                tail = np.concatenate((data[start:], np.zeros(SLACK, np.uint8)))
                self.tails.append(tail)
                self.block[w.TAIL_FROM] = start
            elif status == w.FULL:
                self.grow()
            else:
                return

    def keep_block(self) -> None:
        """Leaves the block to a later scan."""
        if len(self.block) <= BLOCK_NUMBERS_MAX:
            self.frame.blocks[BLOCKS_MAX - 1 :] = []
            self.frame.blocks.append(self.block)

    def index(self) -> Index:
        """What was found."""
        state = self.block[: w.STATE_SIZE].tolist()
        updates, rows, values, cells, skips = self._lines(state)
        skipped: dict[bytes, int] = {}
        for _, at, count in skips.tolist():
            table_id = bytes(self.data[at : at + TABLE_ID_BYTES]).ljust(TABLE_ID_BYTES, b"\0")
            skipped[table_id] = skipped.get(table_id, 0) + count
        return Index(updates, rows, values, cells, self._stopped(state), skipped)

    def _stopped(self, state: list[int]) -> Stopped:
        if state[w.STATUS] == Status.OK:
            return Stopped(Status.OK, len(self.starts))
        at, found = state[w.AT], state[w.FOUND]
        return Stopped(
            Status(state[w.STATUS]),
            state[w.ENTRY],
            state[w.START],
            int(self.sizes[state[w.ENTRY]]),
            at,
            found & _U64 if state[w.FOUND_IS_LENGTH] else found,
            state[w.TABLE],
            at,
            state[w.NAME_LEN],
            bool(state[w.KEPT_INSIDE]),
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
        counts, places = state[w.UPDATES : w.UPDATES + len(KINDS)], state[_PLACES_AT]
        return [
            np.ndarray(count, kind, self.block, place)
            for (kind, _), count, place in zip(KINDS, counts, places, strict=True)
        ]

    def grow(self) -> None:
        """Twice the room for each kind of line."""
        before, state = self.block, self.block[: w.STATE_SIZE].tolist()
        lines = self._lines(state)
        self._take_block(before, [2 * room for room in state[_ROOM_AT]])
        # Column lists are known by where they were read, and kept as addresses outside of the block.
        head = slice(self.frame.zeroed, len(self.frame.head))
        self.block[head] = before[head]
        for fresh, old in zip(self._lines(self.block[: w.STATE_SIZE].tolist()), lines, strict=True):
            fresh[:] = old


def _free_block(blocks: list[Numbers], size: int) -> Numbers:
    """A block of that many numbers at least. One that no index looks into any more is used again: the operating system
    takes longer to hand out fresh memory than the scan to fill it."""
    for number, block in enumerate(blocks):
        # References: the list's, `block`, and the argument of the call.
        if len(block) >= size and sys.getrefcount(block) == 3:
            return blocks.pop(number)
    return np.empty(size, np.int64)
