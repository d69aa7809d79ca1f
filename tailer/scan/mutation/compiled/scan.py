"""The compiled twin of `scan.mutation.scan.scan`: the same arguments, the same index, the same end."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.addresses import Numbers, address_of
from tailer.scan.compiled import block as b
from tailer.scan.compiled.block_scan import KINDS, BlockScan, Frame, LaidOut, frame_of
from tailer.scan.compiled.one_row import OneRow
from tailer.scan.index import Index
from tailer.scan.latest import Latest
from tailer.scan.mutation.compiled.columns import K_WIDTH, LISTS
from tailer.scan.mutation.compiled.flat import flat_tables
from tailer.scan.mutation.compiled.mutations import scan_from
from tailer.scan.mutation.scan import Offsets
from tailer.scan.mutation.walk import SLACK
from tailer.scan.tables import ScanTables

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
    found.block[b.UNSIGNED_TIMES] = unsigned_times
    found.block[b.ONE_ROW] = 0 if one_row is None else one_row.address
    found.run(first)
    found.keep_block()
    return found.index()


def _new_frame(definitions: LaidOut) -> Frame:
    flat = flat_tables(ScanTables(*definitions))
    tables, columns = len(flat.tables), len(flat.columns)
    known = b.STATE_SIZE
    seen = known + 2 * K_WIDTH * tables
    lists = seen + columns
    chosen = lists + LISTS * columns
    head = np.zeros(chosen + flat.columns_max, np.int64)
    head[b.PLACES + len(KINDS) : b.PLACES + b.PLACES_N] = np.array([known, seen, lists, chosen]) * 8
    head[b.IDS], head[b.IDS_MASK] = address_of(flat.ids), len(flat.ids) - 1
    head[b.TABLES] = address_of(flat.tables)
    head[b.LENGTHS] = address_of(flat.lengths)
    head[b.NAMES] = address_of(flat.names)
    head[b.COLUMNS] = address_of(flat.columns)
    head[b.TEXTS] = address_of(flat.texts)
    head[b.TAIL_FROM] = _NO_TAIL
    return Frame(flat, head, lists, [])


_FRAMES: Final = Latest(_new_frame)


class MutationScan(BlockScan):
    """One scan's buffers, and the copies of what lies too near the end of the data."""

    def __init__(self, data: bytes | memoryview, starts: Numbers, sizes: Numbers, frame: Frame) -> None:
        super().__init__(data, starts, sizes, frame)
        self.tails: list[Any] = []

    def run(self, first: int) -> None:
        """Scans until the end, or until an entry does not decode."""
        data = np.frombuffer(self.data, np.uint8)
        tail = data
        where = address_of(self.starts), address_of(self.sizes), len(self.starts)
        while True:
            begins = address_of(self.block), address_of(data), len(data), address_of(tail)
            first = scan_from(*begins, *where, first)
            status = self.block[b.STATUS]
            if status == b.NO_SLACK:
                start = int(self.starts[first])
                tail = np.concatenate((data[start:], np.zeros(SLACK, np.uint8)))
                self.tails.append(tail)
                self.block[b.TAIL_FROM] = start
            elif status == b.FULL:
                self.grow()
            else:
                return
