"""Both scans of native entries side by side, over a table that tests can spell out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tailer.scan.record.scan import Scanned
from tailer.scan.record.scan import scan_records as plain_scan
from tailer.scan.tables import LENGTH_PREFIX, ScanColumn, ScanTable, ScanTables
from tests.unit.scan.compiled.twins import WITHOUT_JIT, assert_same

ID, PRINT = bytes(range(16)), b"fingerpr"
OTHER_ID, OTHER_PRINT = bytes(range(16, 32)), b"another "
TS = 1_700_000_000_000_000

SINGLE = ScanTable(
    ID + PRINT,
    (LENGTH_PREFIX,),
    {
        b"s": ScanColumn(0, LENGTH_PREFIX, False),
        b"v": ScanColumn(1, 4, False),
        b"m": ScanColumn(2, LENGTH_PREFIX, True),
    },
    kept=True,
    key=1,
    statics=1,
)
"""Columns as a definition counts them: 0 key, 1 clustering, 2 static `s`, 3 `v`, 4 the non-frozen map `m`."""

PAIR = ScanTable(OTHER_ID + OTHER_PRINT, (), {b"v": ScanColumn(0, LENGTH_PREFIX, False)}, kept=True, key=2)
"""Columns 0 and 1 are the key, 2 is `v`."""

TABLES = ScanTables((SINGLE,))
PAIRS = ScanTables((PAIR,))


def row(
    op: int = 0,
    key: Sequence[bytes] = (b"k",),
    clustering: Sequence[bytes] | None = (b"c",),
    *,
    static: bool = False,
    ts: int | None = None,
    ttl: int | None = None,
    expires: int | None = None,
    cells: Sequence[Any] = (),
    bounds: Sequence[Any] | None = None,
) -> list[Any]:
    return [op, key, clustering, static, ts, ttl, expires, cells, bounds]


def cell(column: int, value: bytes | None, *more: Any) -> list[Any]:
    """A cell; `more`: from its timestamp on."""
    return [column, value, *more, *[None] * (4 - len(more))]


def change(
    *rows: Any,
    table: bytes = ID,
    mark: bytes = PRINT,
    txn: int | None = None,
    ts: int = TS,
    more: Sequence[Any] = (None,),
) -> list[Any]:
    """`more`: from the attributes on."""
    return [2, table, mark, txn, ts, rows, *more]


def laid_out(payloads: Sequence[bytes]) -> tuple[bytes, list[int], list[int]]:
    """Payloads behind one another with a CRC's four bytes after each, from some offset on: data, starts, sizes."""
    data, starts = b"before", []
    for payload in payloads:
        starts.append(len(data))
        data += payload + b"\xcc\xcc\xcc\xcc"
    return data, starts, [len(payload) for payload in payloads]


def scan_both(
    data: bytes,
    starts: Sequence[int],
    sizes: Sequence[int],
    tables: ScanTables,
    first: int = 0,
    number_from: int | None = None,
) -> Scanned:
    """What the plain scan finds; the compiled one finds the same."""
    plain = plain_scan(data, starts, sizes, tables, first, number_from)
    if not WITHOUT_JIT:
        from tailer.scan.record.compiled.scan import scan_records

        compiled = scan_records(data, starts, sizes, tables, first, number_from)
        assert_same(plain.index, compiled.index)
        assert compiled.data == plain.data
        assert compiled.number == plain.number
        assert np.array_equal(compiled.attrs, plain.attrs)
    return plain


def scanned(*payloads: bytes, tables: ScanTables = TABLES, **options: Any) -> Scanned:
    return scan_both(*laid_out(payloads), tables, **options)
