"""The compiled twin of `scan.record.scan.scan_records`: the same arguments, the same index, the same end."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.addresses import Numbers, address_of
from tailer.scan.compiled import block as b
from tailer.scan.compiled.block_scan import BlockScan, Frame, LaidOut, frame_of
from tailer.scan.compiled.one_row import OneRow
from tailer.scan.latest import Latest
from tailer.scan.mutation.scan import Offsets
from tailer.scan.record.compiled import state as s
from tailer.scan.record.compiled.entries import scan_from
from tailer.scan.record.compiled.flat import flat_records
from tailer.scan.record.scan import ATTRS, Scanned, extent, needs_keys
from tailer.scan.tables import ScanTables

_KEY_ROOM: Final = 64


def scan_records(
    data: bytes,
    starts: Offsets,
    sizes: Offsets,
    tables: ScanTables,
    first: int = 0,
    number_from: int | None = None,
    one_row: OneRow | None = None,
) -> Scanned:
    """See `scan.record.scan.scan_records`. `one_row`: what is noted there has no lines in the index."""
    where = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(sizes, np.int64)
    has_keys = needs_keys(tables)
    low, high = extent(*where, first, len(data)) if has_keys else (0, len(data))
    held = memoryview(data)[low:high] if has_keys else data
    found = RecordScan(held, *where, frame_of(tables, _FRAMES), low, first, has_keys)
    found.block[b.SKIP_UNKNOWN] = tables.skip_unknown
    found.block[b.ONE_ROW] = 0 if one_row is None else one_row.address
    found.block[s.IN_TXN] = number_from is not None
    found.block[b.NUMBER] = number_from or 0
    found.run(first)
    found.keep_block()
    return found.scanned(number_from is not None)


def _new_frame(definitions: LaidOut) -> Frame:
    flat = flat_records(ScanTables(*definitions))
    head = np.zeros(s.MARKS + flat.columns_max, np.int64)
    head[b.IDS], head[b.IDS_MASK] = address_of(flat.ids), len(flat.ids) - 1
    head[b.TABLES], head[b.COLUMNS] = address_of(flat.tables), address_of(flat.columns)
    head[s.HEADS], head[s.HEADS_N] = address_of(flat.heads), len(flat.heads)
    return Frame(flat, head, len(head), [])


_FRAMES: Final = Latest(_new_frame)


class RecordScan(BlockScan):
    """One scan's buffers, and those of attributes and of keys that are put together."""

    def __init__(
        self,
        data: bytes | memoryview,
        starts: Numbers,
        sizes: Numbers,
        frame: Frame,
        moved: int,
        first: int,
        has_keys: bool,
    ) -> None:
        super().__init__(data, starts, sizes, frame)
        self.moved = moved
        self.attrs = np.empty(max(len(starts) - first, 0), ATTRS)
        # A value of two bytes more becomes one of three more: never half as much again.
        most = int(np.clip(sizes[first:], 0, len(data)).sum()) if has_keys else 0
        self.extra = np.empty(most + most // 2 + _KEY_ROOM, np.uint8)

    def run(self, first: int) -> None:
        """Scans until the end, or until an entry does not decode."""
        data = np.frombuffer(self.data, np.uint8)
        self.block[s.ATTRS_AT], self.block[s.EXTRA_AT] = address_of(self.attrs), address_of(self.extra)
        self.block[s.DATA_END] = len(data)
        where = address_of(self.starts), address_of(self.sizes), self.moved, len(self.starts)
        while True:
            first = scan_from(address_of(self.block), address_of(data), len(data), *where, first)
            if self.block[b.STATUS] != b.FULL:
                return
            self.grow()

    def scanned(self, in_txn: bool) -> Scanned:
        """What was found."""
        index = self.index()
        count, extra, number = (int(self.block[place]) for place in (s.ATTRS, s.EXTRA, b.NUMBER))
        data = bytes(self.data) if not (extra or self.moved) else bytes(self.data) + self.extra[:extra].tobytes()
        return Scanned(index, data, self.attrs[:count], number if in_txn else 0)
