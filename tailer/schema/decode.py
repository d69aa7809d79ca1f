"""Rows of `system_schema` as a mutation carries them → deltas. Bytes in, values out.

Takes a neutral form of row, so it knows nothing of how a mutation is walked.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from tailer.errors import DefinitionError
from tailer.schema.rows import IGNORED_KEYSPACES, TRACKED, Cell, RangeDeletion, SchemaDelta, Value


class RawCell(NamedTuple):
    """A cell: column, path (None: all columns here are frozen or simple), value (None = tombstone), µs."""

    column: str
    path: bytes | None
    value: bytes | None
    ts: int


class RawRange(NamedTuple):
    """A range deletion's bounds, prefixes of the clustering; an open side is an empty prefix."""

    start: Sequence[bytes]
    start_inclusive: bool
    end: Sequence[bytes]
    end_inclusive: bool
    ts: int


class RawRow(NamedTuple):
    """One change row of `system_schema.<table>`: a row, a partition deletion or a range deletion. Timestamps in µs."""

    table: str
    key: bytes
    clustering: Sequence[bytes | None] = ()
    liveness: int | None = None
    row_deletion: int | None = None
    partition_deletion: int | None = None
    cells: Sequence[RawCell] = ()
    range: RawRange | None = None


CLUSTERING: Final = {"tables": 1, "views": 1, "types": 1, "columns": 2, "dropped_columns": 2, "keyspaces": 0}
"""Clustering columns of the tracked tables, all text (format page 9.2)."""


def deltas(rows: Iterable[RawRow]) -> list[SchemaDelta]:
    """The changes that decide definitions; rows of other tables and of the server's own keyspaces give none.

    Raises DefinitionError (without position) for bytes that do not fit the built-in layouts.
    """
    found = []
    for row in rows:
        if row.table not in TRACKED:
            continue
        keyspace = _text(row.table, "keyspace_name", row.key)
        if keyspace not in IGNORED_KEYSPACES:
            found.append(_delta(keyspace, row))
    return found


def _delta(keyspace: str, row: RawRow) -> SchemaDelta:
    if row.partition_deletion is not None:
        return SchemaDelta(row.table, keyspace, partition_deletion=row.partition_deletion)
    if row.range is not None:
        bounds = row.range
        start, end = _names(row.table, bounds.start), _names(row.table, bounds.end)
        covered = RangeDeletion(start, bounds.start_inclusive, end, bounds.end_inclusive, bounds.ts)
        return SchemaDelta(row.table, keyspace, range=covered)
    if len(row.clustering) != CLUSTERING[row.table]:
        found = f"{len(row.clustering)}"
        raise _unfit(row.table, "clustering", f"{CLUSTERING[row.table]} values", found)
    return SchemaDelta(
        row.table,
        keyspace,
        _names(row.table, row.clustering),
        {cell.column: _cell(row.table, cell) for cell in row.cells if cell.column in TRACKED[row.table]},
        row.liveness,
        row.row_deletion,
    )


def _names(table: str, values: Sequence[bytes | None]) -> tuple[str, ...]:
    return tuple(_text(table, "clustering", value or b"") for value in values)


def _cell(table: str, cell: RawCell) -> Cell:
    if cell.value is None:
        return cell.ts, None
    type = TRACKED[table][cell.column]
    try:
        return cell.ts, _DECODERS[type](cell.value)
    except (ValueError, struct.error):
        raise _unfit(table, cell.column, type, f"0x{cell.value[:32].hex()}") from None


def _text(table: str, column: str, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise _unfit(table, column, "text", f"0x{value[:32].hex()}") from None


def _unfit(table: str, column: str, expected: str, found: str) -> DefinitionError:
    return DefinitionError(
        f"a change of system_schema.{table} does not fit its layout in column {column}", expected=expected, found=found
    )


def _list(value: bytes) -> list[str]:
    """A frozen list or set of text: count, then length and bytes of each (format page 6)."""
    (count,), at, items = struct.unpack_from(">i", value), 4, []
    for _ in range(count):
        (length,) = struct.unpack_from(">i", value, at)
        if length < 0 or at + 4 + length > len(value):
            raise ValueError("an element runs past the end")
        items.append(value[at + 4 : at + 4 + length].decode())
        at += 4 + length
    if at != len(value):
        raise ValueError("bytes behind the last element")
    return items


def _boolean(value: bytes) -> bool:
    if len(value) != 1:
        raise ValueError("not one byte")
    return value != b"\x00"


def _int(value: bytes) -> int:
    (number,) = struct.unpack(">i", value)
    return int(number)


def _timestamp(value: bytes) -> int:
    """Milliseconds → µs, the unit of write timestamps."""
    (millis,) = struct.unpack(">q", value)
    return int(millis) * 1000


def _uuid(value: bytes) -> str:
    if len(value) != 16:
        raise ValueError("not 16 bytes")
    return value.hex()


_DECODERS: Final[dict[str, Callable[[bytes], Value]]] = {
    "text": bytes.decode,
    "int": _int,
    "boolean": _boolean,
    "uuid": _uuid,
    "blob": bytes.hex,
    "timestamp": _timestamp,
    "frozen<list<text>>": _list,
    "frozen<set<text>>": _list,
}
