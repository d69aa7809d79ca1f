"""Where a scan is: the bytes, the entry's end, the bases of the update, and the lines collected so far.

State only. A compiled scan would carry the same as arguments and preallocated arrays.
"""

from __future__ import annotations

from typing import Final

from tailer.framing.vint import read_vint
from tailer.scan.index import Status, Stopped
from tailer.scan.tables import ScanColumn, ScanTable, ScanTables

SLACK: Final = 128
"""Bytes that must follow the last payload. Fields of known length (flags, vints) are read before the end is checked, at
most eleven vints in a row; the check that follows then fails, and what was read is dropped. Whatever the log gives a
length or a count for is checked at once."""

FAILED: Final = -1
"""In place of the next offset: the entry does not decode, `MutationScan.stopped` says why."""

Columns = tuple[ScanColumn, ...]
NO_TABLE: Final = ScanTable(b"", (), {}, False)

_TIMESTAMP_EPOCH: Final = 1442880000000000
_LOCAL_EPOCH: Final = 1442880000
_U64: Final = 2**64 - 1
_OVERFLOW: Final = 2**63
_U32: Final = 2**32 - 1
_INVALID_TIME: Final = _U32 - 1
"""What 5.0 makes of a signed local time that overflowed (format page 5.3)."""


class MutationScan:
    """One scan's state. `update`: the line of the update being read; `number`: the next change row's in the entry."""

    __slots__ = (
        "cells",
        "column_lists",
        "data",
        "end",
        "entry",
        "number",
        "row_expires",
        "row_flags",
        "row_ts",
        "row_ttl",
        "rows",
        "skipped",
        "start",
        "stopped",
        "table",
        "table_number",
        "tables",
        "time_base",
        "ts_base",
        "ttl_base",
        "unsigned_times",
        "update",
        "updates",
        "values",
    )

    def __init__(self, data: bytes, tables: ScanTables, unsigned_times: bool) -> None:
        self.data = data
        self.tables = tables
        self.unsigned_times = unsigned_times
        self.updates: list[int] = []
        self.rows: list[int] = []
        self.values: list[int] = []
        self.cells: list[int] = []
        self.skipped: dict[bytes, int] = {}
        self.stopped = Stopped(Status.OK, 0)
        self.column_lists: dict[int, tuple[bytes, Columns]] = {}
        self.entry = self.start = self.end = self.number = self.update = 0
        self.table = NO_TABLE
        self.table_number = -1
        self.ts_base = self.time_base = self.ttl_base = 0
        self.row_flags = self.row_ts = self.row_ttl = self.row_expires = 0

    def fail(self, status: Status, at: int, found: int = 0, name_len: int = 0) -> int:
        """Notes why the entry does not decode; FAILED, to be handed on as the next offset."""
        size = self.end - self.start
        self.stopped = Stopped(status, self.entry, self.start, size, at, found, self.table_number, at, name_len)
        return FAILED

    def read_bases(self, at: int) -> int:
        """The update's smallest timestamp, local time and TTL, which every later one is counted from."""
        data = self.data
        base, at = read_vint(data, at)
        base += _TIMESTAMP_EPOCH
        self.ts_base = base if base < _OVERFLOW else _signed(base)
        # Without TTLs and deletions both others are zero.
        if data[at] or data[at + 1]:
            base, at = read_vint(data, at)
            self.time_base = _LOCAL_EPOCH + base
            self.ttl_base, at = read_vint(data, at)
            return at
        self.time_base = _LOCAL_EPOCH
        self.ttl_base = 0
        return at + 2

    def read_timestamp(self, at: int) -> tuple[int, int]:
        """A timestamp in microseconds, and the offset behind it. Arithmetic modulo 2^64, the result signed."""
        delta, at = read_vint(self.data, at)
        timestamp = self.ts_base + delta
        return timestamp if timestamp < _OVERFLOW else _signed(timestamp), at

    def read_local_time(self, at: int) -> tuple[int, int]:
        """Seconds since 1970, and the offset behind them. Modulo 2^32; signed before descriptor 8."""
        delta, at = read_vint(self.data, at)
        seconds = self.time_base + delta & _U32
        if seconds >= 2**31 and not self.unsigned_times:
            seconds = _INVALID_TIME
        return seconds, at

    def read_ttl(self, at: int) -> tuple[int, int]:
        """Seconds, and the offset behind them; negative where the bytes are no TTL."""
        delta, at = read_vint(self.data, at)
        ttl = self.ttl_base + delta & _U32
        return ttl if ttl < 2**31 else ttl - 2**32, at

    def read_deletion(self, at: int) -> tuple[int, int]:
        """A deletion's timestamp, and the offset behind it. Its local time is for the server's purges only."""
        timestamp, at = self.read_timestamp(at)
        return timestamp, read_vint(self.data, at)[1]


def _signed(value: int) -> int:
    value &= _U64
    return value if value < _OVERFLOW else value - 2**64
