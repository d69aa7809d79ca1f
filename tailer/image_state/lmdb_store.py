"""The store of images' facts in LMDB. All calls are of one transaction, that whoever opens the file begins and ends.

Beside the rows stand two indexes of what expires: of all in order of time, and of each partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from tailer.image_state.keys import (
    ROW_CUT,
    Base,
    base_of,
    behind,
    framed,
    named,
    partition_end,
    row_part,
    second_of,
    table_key,
    time_part,
)
from tailer.images.store import Due

if TYPE_CHECKING:
    import lmdb

ROWS: Final = b"rows"
DUE: Final = b"due"
DUE_IN: Final = b"due_in"
META: Final = b"meta"
NAMES: Final = (ROWS, DUE, DUE_IN, META)

_AT_ONCE: Final = 256
"""Rows of a scan that are in memory at once."""

_TIME: Final = 8


class LmdbStore:
    """A `Store`, of the transaction that it was given last, which may write, or may not."""

    def __init__(self, transaction: lmdb.Transaction[bytes], tables: dict[bytes, lmdb._Database]) -> None:
        self._transaction = transaction
        self._rows, self._due, self._due_in, self._meta = (tables[name] for name in NAMES)
        self._last: tuple[str, bytes] = "", b""
        self._base = Base(b"", None)

    def go_on(self, transaction: lmdb.Transaction[bytes]) -> None:
        """Be of another transaction from here on."""
        self._transaction = transaction

    def get(self, table_id: str, partition: bytes, row: bytes) -> bytes | None:
        base = self._of(table_id, partition)
        key = base.key + row_part(row)
        value = self._transaction.get(key, db=self._rows)
        if value is None or (base.name is None and len(row) <= ROW_CUT):
            return value
        return named(key, value).value

    def put(
        self, table_id: str, partition: bytes, row: bytes, value: bytes, *, due: int | None, was_due: int | None
    ) -> None:
        base = self._of(table_id, partition)
        self._transaction.put(base.key + row_part(row), framed(base, row, value), db=self._rows)
        if due != was_due:
            self._not_due(base, row, was_due)
            if due is not None:
                time, part, names = time_part(due), row_part(row), framed(base, row, b"")
                self._transaction.put(time + base.key + part, names, db=self._due)
                self._transaction.put(base.key + time + part, names, db=self._due_in)

    def delete(self, table_id: str, partition: bytes, row: bytes, *, was_due: int | None) -> None:
        base = self._of(table_id, partition)
        self._transaction.delete(base.key + row_part(row), db=self._rows)
        self._not_due(base, row, was_due)

    def scan(self, table_id: str, partition: bytes, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, bytes]]:
        base = self._of(table_id, partition)
        at, end = base.key + lower[:ROW_CUT], base.key + upper[:ROW_CUT]
        last = end if len(upper) <= ROW_CUT else behind(end)
        while True:
            found = list(islice(self._from(at, base.key, self._rows), _AT_ONCE))
            rows = [(key, named(key, value)) for key, value in found if key < last]
            whole = rows
            if len(found) == _AT_ONCE and len(rows) == len(found):
                # Rows with one beginning are put in order together.
                beginning = rows[-1][0][: len(base.key) + ROW_CUT]
                whole = [each for each in rows if not each[0].startswith(beginning)]
                at = beginning
                if not whole:
                    at = behind(beginning)
                    same = self._from(beginning, beginning, self._rows)
                    whole = [(key, named(key, value)) for key, value in same]
            told = sorted((each.row, each.value) for _, each in whole)
            yield from ((row, value) for row, value in told if lower <= row < upper)
            if whole is rows:
                return

    def next_partition(self, table_id: str, after: bytes) -> bytes | None:
        table = table_key(table_id)
        at = behind(self._of(table_id, after).key) if after else table
        found = next(self._from(at, table, self._rows), None)
        return None if found is None else named(*found).partition

    def due(self, until: int, limit: int) -> list[Due]:
        end, found = time_part(until + 1), []
        for key, value in islice(self._from(b"", b"", self._due), limit):
            if key >= end:
                break
            told = named(key, value, at=_TIME + 16)
            found.append(Due(second_of(key), key[_TIME : _TIME + 16].hex(), told.partition, told.row))
        return found

    def due_in(self, table_id: str, partition: bytes, until: int) -> list[bytes]:
        first = next(self._from(b"", b"", self._due), None)
        if first is None or second_of(first[0]) > until:
            return []
        base, rows = self._of(table_id, partition), []
        for key, value in self._from(base.key, base.key, self._due_in):
            if second_of(key, len(base.key)) > until:
                break
            rows.append(named(key, value, between=_TIME).row)
        return sorted(rows)

    def clear(self, table_id: str) -> None:
        table = table_key(table_id)
        for database in (self._rows, self._due_in):
            with self._transaction.cursor(database) as cursor:
                there = cursor.set_range(table)
                while there and cursor.key().startswith(table):
                    cursor.delete()
                    there = bool(cursor.key())
        with self._transaction.cursor(self._due) as cursor:
            there = cursor.first()
            while there:
                if cursor.key().startswith(table, _TIME):
                    cursor.delete()
                    there = bool(cursor.key())
                else:
                    there = cursor.next()

    def get_many(self, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        """Keys with values of those that are there of some whole keys, which are in order."""
        with self._transaction.cursor(self._rows) as cursor:
            found: list[tuple[bytes, bytes]] = cursor.getmulti(keys)
            return found

    def put_many(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Whole keys with values, in order, to be kept; `move_due` says what is due of them."""
        with self._transaction.cursor(self._rows) as cursor:
            cursor.putmulti(rows)

    def delete_many(self, keys: Sequence[bytes]) -> None:
        """Forget what is there under some whole keys."""
        for key in keys:
            self._transaction.delete(key, db=self._rows)

    def first_due(self) -> int | None:
        """The first second at which anything is due."""
        first = next(self._from(b"", b"", self._due), None)
        return None if first is None else second_of(first[0])

    def has_due(self, base: bytes, until: int) -> bool:
        """Whether something is due of the partition whose keys begin so."""
        first = next(self._from(base, base, self._due_in), None)
        return first is not None and second_of(first[0], len(base)) <= until

    def move_due(self, base: bytes, part: bytes, due: int | None, was_due: int | None) -> None:
        """A row's due second is another. The key, which has all of its names, is given in two parts."""
        if was_due is not None:
            time = time_part(was_due)
            self._transaction.delete(time + base + part, db=self._due)
            self._transaction.delete(base + time + part, db=self._due_in)
        if due is not None:
            time = time_part(due)
            self._transaction.put(time + base + part, b"", db=self._due)
            self._transaction.put(base + time + part, b"", db=self._due_in)

    def meta(self, key: bytes) -> bytes | None:
        return self._transaction.get(key, db=self._meta)

    def put_meta(self, key: bytes, value: bytes) -> None:
        self._transaction.put(key, value, db=self._meta)

    def drop_meta(self, key: bytes) -> None:
        self._transaction.delete(key, db=self._meta)

    def metas(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter(list(self._from(prefix, prefix, self._meta)))

    def sizes(self) -> dict[str, tuple[int, int, int]]:
        """By table how many partitions and rows there are, and bytes of keys and values. Reads all of them."""
        found: dict[str, tuple[int, int, int]] = {}
        last = b""
        for key, value in self._from(b"", b"", self._rows):
            table, partition = key[:16].hex(), key[: partition_end(key)[0]]
            partitions, rows, size = found.get(table, (0, 0, 0))
            # A partition's own facts stand under the empty key.
            found[table] = partitions + (partition != last), rows + (key != partition), size + len(key) + len(value)
            last = partition
        return found

    def _of(self, table_id: str, partition: bytes) -> Base:
        if self._last != (table_id, partition):
            self._last, self._base = (table_id, partition), base_of(table_id, partition)
        return self._base

    def _not_due(self, base: Base, row: bytes, was_due: int | None) -> None:
        if was_due is not None:
            time, part = time_part(was_due), row_part(row)
            self._transaction.delete(time + base.key + part, db=self._due)
            self._transaction.delete(base.key + time + part, db=self._due_in)

    def _from(self, at: bytes, prefix: bytes, database: lmdb._Database) -> Iterator[tuple[bytes, bytes]]:
        """Keys with values from `at` on, that begin with `prefix`."""
        with self._transaction.cursor(database) as cursor:
            there = cursor.set_range(at) if at else cursor.first()
            while there and cursor.key().startswith(prefix):
                yield cursor.item()
                there = cursor.next()
