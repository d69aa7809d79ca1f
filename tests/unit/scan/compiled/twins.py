"""Both twins side by side: whatever is read, arrays, status and position are the same."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tailer.framing.entry import Entries
from tailer.framing.entry import scan_entries as plain_entries
from tailer.scan.index import Index, Status
from tailer.scan.mutation.scan import Offsets
from tailer.scan.mutation.scan import scan as plain_scan
from tailer.scan.tables import ScanColumn, ScanTable, ScanTables
from tests.helpers.logs.model import Table

WITHOUT_JIT = os.environ.get("CDC_TAIL_JIT") == "0" or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
compiled_only = pytest.mark.skipif(WITHOUT_JIT, reason="the compiled twins are switched off")


def scan_both(
    data: bytes, starts: Offsets, sizes: Offsets, tables: ScanTables, *, unsigned_times: bool = False
) -> list[Index]:
    """Scans all entries with both, from each one on that does not decode; what was found."""
    from tailer.scan.mutation.compiled.scan import scan as compiled_scan

    found = []
    first = 0
    while not found or first < len(starts):
        plain = plain_scan(data, starts, sizes, tables, first, unsigned_times)
        compiled = compiled_scan(data, starts, sizes, tables, first, unsigned_times)
        assert_same(plain, compiled)
        found.append(plain)
        first = plain.stopped.entry + 1
        if plain.stopped.status == Status.OK:
            break
    return found


def assert_same(plain: Index, compiled: Index) -> None:
    assert compiled.stopped == plain.stopped
    assert type(compiled.stopped.status) is Status
    assert dict(compiled.skipped) == dict(plain.skipped)
    for kind in ("updates", "rows", "values", "cells"):
        expected, found = getattr(plain, kind), getattr(compiled, kind)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape, kind
        assert np.array_equal(found, expected), kind


def entries_both(data: bytes) -> Entries:
    """Checks a section's entries with both; what was found."""
    from tailer.framing.compiled.entries import scan_entries as compiled_entries

    plain, compiled = plain_entries(data), compiled_entries(data)
    assert list(compiled.starts) == plain.starts
    assert list(compiled.sizes) == plain.sizes
    assert compiled.faults == plain.faults
    return plain


def scan_table(table: Table, *, kept: bool = True, truncations: int = -1) -> ScanTable:
    """A test's table as the scan sees it; columns are numbered in the order given."""
    columns = {
        column.name_bytes: ScanColumn(number, -1 if column.complex else _length(column.fixed), column.complex)
        for number, column in enumerate((*table.of_kind("static"), *table.of_kind("regular")))
    }
    clustering = tuple(_length(column.fixed) for column in table.of_kind("clustering"))
    return ScanTable(table.id.bytes, clustering, columns, kept, truncations)


def _length(fixed: int | None) -> int:
    return -1 if fixed is None else fixed
