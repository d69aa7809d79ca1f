"""The forms of the scans, plain or compiled, whichever works now (`jit.ready` chooses). Knows no output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from tailer.jit.ready import form_now

if TYPE_CHECKING:
    from tailer.scan.index import Index
    from tailer.scan.mutation.scan import Offsets
    from tailer.scan.record.scan import Scanned
    from tailer.scan.tables import ScanTables

MUTATIONS: Final = ("scan", "tailer.scan.mutation.compiled.scan", "tailer.scan.mutation.scan")
RECORDS: Final = ("scan_records", "tailer.scan.record.compiled.scan", "tailer.scan.record.scan")


class Scan(Protocol):
    """`mutation.scan.scan`."""

    def __call__(
        self,
        data: bytes,
        starts: Offsets,
        sizes: Offsets,
        tables: ScanTables,
        first: int = 0,
        unsigned_times: bool = False,
    ) -> Index: ...


class ScanRecords(Protocol):
    """`record.scan.scan_records`."""

    def __call__(
        self,
        data: bytes,
        starts: Offsets,
        sizes: Offsets,
        tables: ScanTables,
        first: int = 0,
        number_from: int | None = None,
    ) -> Scanned: ...


def scan_now() -> Scan:
    """The scan of Cassandra's entries."""
    found: Scan = form_now(*MUTATIONS)
    return found


def scan_records_now() -> ScanRecords:
    """The scan of a native log's entries."""
    found: ScanRecords = form_now(*RECORDS)
    return found
