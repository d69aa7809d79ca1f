"""Tables for scanning, and the index in a form that tests can spell out."""

from __future__ import annotations

from typing import Any

from tailer.scan import index as ix
from tailer.scan.index import Index, Status
from tailer.scan.mutation.scan import scan
from tailer.scan.tables import LENGTH_PREFIX, ScanColumn, ScanTable, ScanTables
from tests.unit.scan.mutations import OTHER, TABLE

V, M, S = 0, 1, 2

EXAMPLE = ScanTable(
    TABLE,
    (LENGTH_PREFIX,),
    {b"v": ScanColumn(V, 4, False), b"m": ScanColumn(M, LENGTH_PREFIX, True), b"s": ScanColumn(S, -1, False)},
    kept=True,
)
"""ks.t of format page 11: pk int, ck text, v int, m map<text,int>, s text static."""

PLAIN = ScanTable(OTHER, (), {b"v": ScanColumn(0, 4, False)}, kept=False)
"""A table without clustering columns that nobody wants."""

TABLES = ScanTables((EXAMPLE, PLAIN))


def scanned(*payloads: bytes, tables: ScanTables = TABLES, **options: Any) -> Index:
    """The index of payloads that lie one behind the other, with a CRC's four bytes after each."""
    starts, data = [], b""
    for payload in payloads:
        starts.append(len(data))
        data += payload + b"\xcc\xcc\xcc\xcc"
    return scan(data, starts, [len(payload) for payload in payloads], tables, **options)


def ok(*payloads: bytes, tables: ScanTables = TABLES, **options: Any) -> Index:
    index = scanned(*payloads, tables=tables, **options)
    assert index.stopped.status == Status.OK, index.stopped
    assert index.stopped.entry == len(payloads)
    return index


def status(*payloads: bytes, tables: ScanTables = TABLES) -> Status:
    return scanned(*payloads, tables=tables).stopped.status


def lines(array: ix.Lines, *fields: str) -> list[Any]:
    """The lines as tuples of the named fields; as numbers where there is only one."""
    columns = [array[field].tolist() for field in fields]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
