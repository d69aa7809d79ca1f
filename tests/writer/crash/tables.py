"""Tables and changes for the writer's tests: a row is a number, its key. Made by hand and not by `Table`, but for
one that a class declares, whose rows are encoded by the code that is made for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from operator import and_

import msgspec

from tailer.scan.record.record import Cell, Change, ColumnItem, Definition, Row, encode_record, fingerprint_of
from writer_hooks import Table

STAMP = 1_700_000_000_000_000


@dataclass(frozen=True)
class PlainTable:
    """What the log asks of a table."""

    name: str
    id: bytes
    fp: bytes
    cdc: bool
    definition: bytes


def plain_table(name: str, *, cdc: bool = True, version: int = 1) -> PlainTable:
    """The table `ks.name`, with `version` regular columns behind its key."""
    table_id = blake2b(name.encode(), digest_size=16).digest()
    columns = (
        ColumnItem("id", 0, "bigint", False),
        *(ColumnItem(f"v{number}", 3, "blob", False) for number in range(version)),
    )
    fp = fingerprint_of(table_id, "ks", name, cdc, columns, ())
    return PlainTable(name, table_id, fp, cdc, encode_record(Definition(fp, table_id, "ks", name, cdc, columns)))


@dataclass(frozen=True)
class PlainChange:
    """One row for each number, each of `size` bytes beside its key."""

    table: PlainTable
    numbers: tuple[int, ...]
    size: int = 40
    write_ts: int | None = None

    def encode(self, txn: int | None, write_ts: int) -> bytes:
        rows = tuple(
            Row(
                op=0,
                partition_key=(number.to_bytes(8, "big"),),
                clustering=None,
                static=False,
                ts=None,
                ttl=None,
                expires_at=None,
                cells=(Cell(1, number.to_bytes(8, "big") * (self.size // 8), None, None, None, None),),
                bounds=None,
            )
            for number in self.numbers
        )
        return encode_record(Change(self.table.id, self.table.fp, txn, write_ts, rows))


class CodedRow(msgspec.Struct):
    """A row of the table that a class declares."""

    id: int
    v0: bytes


@dataclass(frozen=True)
class CodedChange:
    """The same of the table that a class declares."""

    table: Table
    numbers: tuple[int, ...]
    size: int = 40
    write_ts: int | None = None

    def encode(self, txn: int | None, write_ts: int) -> bytes:
        rows = [CodedRow(number, number.to_bytes(8, "big") * (self.size // 8)) for number in self.numbers]
        change = reduce(and_, map(self.table.insert, rows))
        assert all(isinstance(row, msgspec.Raw) for row in change.rows)
        return change.encode(txn, write_ts)


AnyTable = PlainTable | Table
AnyChange = PlainChange | CodedChange


def change_of(table: AnyTable, numbers: tuple[int, ...], size: int) -> AnyChange:
    """Rows of either kind of table."""
    return CodedChange(table, numbers, size) if isinstance(table, Table) else PlainChange(table, numbers, size)


A = plain_table("a")
B = plain_table("b")
A2 = plain_table("a", version=2)
PLAIN = plain_table("plain", cdc=False)
CODED = Table.of(CodedRow, "ks.coded", key=["id"])
TABLES = (A, B, PLAIN)
