"""Mutations as bytes (format page 5): what `Mutation.serializer` of 4.0 to 5.0 writes into a commit log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tests.helpers.logs.model import NO_DELETION, Cell, Column, Complex, Deletion, Marker, Mutation, Row, Update
from tests.helpers.logs.wire import counted, u16, uvint

TIMESTAMP_EPOCH = 1_442_880_000_000_000
TIME_EPOCH = 1_442_880_000
WORD = 2**32

PARTITION_DELETION, STATIC_ROW, ROW_ESTIMATE = 0x04, 0x08, 0x10
END, MARKER, TIMESTAMP, TTL, DELETION, ALL_COLUMNS, COMPLEX_DELETION, EXTENSION = (1 << bit for bit in range(8))
DELETED, EXPIRING, EMPTY, ROW_TIMESTAMP, ROW_TTL = (1 << bit for bit in range(5))
IS_STATIC = 0x01


@dataclass(frozen=True)
class Base:
    """The minima that everything in an update is written relative to."""

    ts: int = TIMESTAMP_EPOCH
    ldt: int = TIME_EPOCH
    ttl: int = 0

    def timestamp(self, ts: int) -> bytes:
        return uvint(ts - self.ts)

    def time(self, ldt: int) -> bytes:
        """Both base and delta are 32-bit ints, sign-extended when written (format page 5.3)."""
        return uvint(_signed(ldt - self.ldt))

    def ttl_delta(self, ttl: int) -> bytes:
        return uvint(ttl - self.ttl)

    def deletion(self, deletion: Deletion) -> bytes:
        return self.timestamp(deletion.ts) + self.time(deletion.ldt)

    def encode(self) -> bytes:
        return uvint(self.ts - TIMESTAMP_EPOCH) + uvint(_signed(self.ldt - TIME_EPOCH)) + uvint(self.ttl)


def encode_mutation(mutation: Mutation) -> bytes:
    return uvint(len(mutation)) + b"".join(map(encode_update, mutation))


def encode_update(update: Update) -> bytes:
    base = minima(update)
    regular = _list(update, update.regular, (row for row in update.unfiltereds if isinstance(row, Row)))
    flags = ROW_ESTIMATE
    lists = _encode_list(regular)
    static = b""
    if update.static is not None:
        statics = _list(update, update.static_columns, [update.static])
        flags |= STATIC_ROW
        lists = _encode_list(statics) + lists
        static = _encode_row(update.static, update, statics, base, static=True)
    deletion = b""
    if update.deletion is not None:
        flags |= PARTITION_DELETION
        deletion = base.deletion(update.deletion)
    rows = sum(isinstance(item, Row) for item in update.unfiltereds)
    body = b"".join(
        _encode_row(item, update, regular, base) if isinstance(item, Row) else _encode_marker(item, update, base)
        for item in update.unfiltereds
    )
    head = update.table.id.bytes + counted(update.key) + bytes([flags]) + base.encode()
    return head + lists + deletion + static + uvint(rows) + body + bytes([END])


def minima(update: Update) -> Base:
    """The smallest timestamp, local time and TTL of an update, as the server collects them (EncodingStats)."""
    stamps = list(_stamps(update))
    timestamps = [ts for ts, _, _ in stamps]
    times = [ldt for _, ldt, _ in stamps if ldt is not None]
    ttls = [ttl for _, _, ttl in stamps if ttl is not None]
    return Base(min(timestamps, default=TIMESTAMP_EPOCH), min(times, default=TIME_EPOCH), min(ttls, default=0))


def column_order(column: Column) -> tuple[bool, int, bytes]:
    """Simple before complex; then by name, where a first byte beyond ASCII sorts first (format page 5.4)."""
    name = column.name_bytes
    return column.complex, int.from_bytes(name[:6].ljust(6, b"\0"), "big") ^ 1 << 47, name


def encode_clustering(values: Sequence[bytes | None], columns: Sequence[Column]) -> bytes:
    """Values in blocks of 32, two bits each in the block's head (format page 5.7)."""
    out = b""
    for first in range(0, len(values), 32):
        head, body = 0, b""
        for number, value in enumerate(values[first : first + 32]):
            if value is None:
                head |= 2 << 2 * number
            elif not value:
                head |= 1 << 2 * number
            else:
                body += _value(value, columns[first + number])
        out += uvint(head) + body
    return out


def _stamps(update: Update) -> Iterator[tuple[int, int | None, int | None]]:
    """(timestamp, local time, TTL) of everything that has one."""
    if update.deletion is not None:
        yield update.deletion.ts, update.deletion.ldt, None
    for item in [*([update.static] if update.static else []), *update.unfiltereds]:
        if isinstance(item, Marker):
            yield from ((deletion.ts, deletion.ldt, None) for deletion in item.deletions)
            continue
        if item.deletion is not None:
            yield item.deletion.ts, item.deletion.ldt, None
        if item.liveness is not None:
            yield item.liveness.ts, item.liveness.expires, item.liveness.ttl
        for _, held in item.cells:
            if isinstance(held, Complex) and held.deletion is not None:
                yield held.deletion.ts, held.deletion.ldt, None
            for cell in held.cells if isinstance(held, Complex) else (held,):
                if not cell.like_row:
                    yield cell.ts, cell.expires if cell.deleted is None else cell.deleted, cell.ttl


def _list(update: Update, given: Sequence[str] | None, rows: Iterable[Row]) -> list[Column]:
    names = {name for row in rows for name, _ in row.cells} if given is None else set(given)
    return sorted((update.table.column(name) for name in names), key=column_order)


def _encode_list(columns: Sequence[Column]) -> bytes:
    return uvint(len(columns)) + b"".join(counted(column.name_bytes) for column in columns)


def _encode_row(row: Row, update: Update, columns: Sequence[Column], base: Base, *, static: bool = False) -> bytes:
    held = dict(row.cells)
    deletes = any(isinstance(item, Complex) and item.deletion is not None for item in held.values())
    flags = COMPLEX_DELETION if deletes else 0
    body = b"" if static else encode_clustering(row.clustering, update.table.of_kind("clustering"))
    if row.liveness is not None:
        flags |= TIMESTAMP
        body += base.timestamp(row.liveness.ts)
        if row.liveness.ttl is not None:
            flags |= TTL
            body += base.ttl_delta(row.liveness.ttl) + base.time(row.liveness.expires or 0)
    if row.deletion is not None:
        flags |= DELETION
        body += base.deletion(row.deletion)
    if len(held) == len(columns):
        flags |= ALL_COLUMNS
    else:
        body += encode_subset([column.name in held for column in columns])
    for column in columns:
        if column.name in held:
            body += _encode_column(held[column.name], column, base, deletes)
    return (bytes([flags | EXTENSION, IS_STATIC]) if static else bytes([flags])) + body


def encode_subset(present: Sequence[bool]) -> bytes:
    """Which columns of the list a row has (format page 5.4); some are missing."""
    missing = [number for number, there in enumerate(present) if not there]
    there = [number for number, there in enumerate(present) if there]
    if len(present) < 64:
        return uvint(sum(1 << number for number in missing))
    listed = there if len(there) < len(present) // 2 else missing
    return uvint(len(missing)) + b"".join(map(uvint, listed))


def _encode_column(held: Cell | Complex, column: Column, base: Base, deletes: bool) -> bytes:
    if isinstance(held, Cell):
        return _encode_cell(held, column, base)
    deletion = base.deletion(held.deletion or NO_DELETION) if deletes else b""
    return deletion + uvint(len(held.cells)) + b"".join(_encode_cell(cell, column, base) for cell in held.cells)


def _encode_cell(cell: Cell, column: Column, base: Base) -> bytes:
    flags, body = 0, b""
    if cell.like_row:
        flags |= ROW_TIMESTAMP
    else:
        body += base.timestamp(cell.ts)
    if cell.deleted is not None:
        flags |= DELETED
        body += base.time(cell.deleted)
    elif cell.like_row == 2:
        flags |= EXPIRING | ROW_TTL
    elif cell.ttl is not None:
        flags |= EXPIRING
        body += base.time(cell.expires or 0) + base.ttl_delta(cell.ttl)
    if cell.path is not None:
        body += counted(cell.path)
    if cell.value:
        body += _value(cell.value, column)
    else:
        flags |= EMPTY
    return bytes([flags]) + body


def _encode_marker(marker: Marker, update: Update, base: Base) -> bytes:
    values = encode_clustering(marker.clustering, update.table.of_kind("clustering"))
    deletions = b"".join(base.deletion(deletion) for deletion in marker.deletions)
    return bytes([MARKER, marker.kind]) + u16(len(marker.clustering)) + values + deletions


def _value(value: bytes, column: Column) -> bytes:
    """Format page 5.8: the *column's* type says whether the length goes before it."""
    return value if column.fixed is not None else counted(value)


def _signed(number: int) -> int:
    number %= WORD
    return number - WORD if number >= WORD // 2 else number
