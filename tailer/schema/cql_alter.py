"""ALTER TABLE and ALTER TYPE of a CQL file: what they change in the tables and types described so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from tailer.limits import whole_number
from tailer.schema.cql_model import KEY_KINDS, CqlColumn, CqlTable, Dropped
from tailer.schema.cql_tokens import Cursor, skip_mask
from tailer.schema.cql_types import read_type

_TIMESTAMP_MAX: Final = 2**63 - 1
"""A server's timestamps are signed 64-bit numbers."""

_Held = TypeVar("_Held")


class AlterReader:
    """Reads what follows the name of the altered thing."""

    def __init__(self, cursor: Cursor, keyspace: str) -> None:
        self.cursor = cursor
        self.keyspace = keyspace

    def table(self, table: CqlTable) -> None:
        cursor = self.cursor
        if cursor.take("add"):
            cursor.take("if", "not", "exists")
            self._each(lambda: self._add(table))
        elif cursor.take("drop", "compact", "storage"):
            table.add_hidden()
            table.compact = False
        elif cursor.take("drop"):
            self._drop(table)
        elif cursor.take("rename"):
            cursor.take("if", "exists")
            self._rename(table.columns)
        elif cursor.take("alter"):
            cursor.skip_until()
        else:
            cursor.fail("ADD, DROP, RENAME, ALTER or WITH")

    def type(self, fields: dict[str, str]) -> None:
        cursor = self.cursor
        if cursor.take("add"):
            cursor.take("if", "not", "exists")
            name = cursor.name("a field")
            fields[name] = read_type(cursor, self.keyspace)
        elif cursor.take("rename"):
            cursor.take("if", "exists")
            self._rename(fields)
        else:
            cursor.fail("ADD or RENAME")

    def _each(self, read: Callable[[], None]) -> None:
        """One item, or several in brackets (before 4.0 several may also stand without)."""
        brackets = self.cursor.take_sign("(")
        read()
        while self.cursor.take_sign(","):
            read()
        if brackets:
            self.cursor.want_sign(")")

    def _add(self, table: CqlTable) -> None:
        start = self.cursor.token
        name = self.cursor.name("a column")
        if name in table.columns:
            self.cursor.fail("a column of another name", token=start)
        text = read_type(self.cursor, self.keyspace)
        table.columns[name] = CqlColumn("static" if self.cursor.take("static") else "regular", text)
        skip_mask(self.cursor)

    def _drop(self, table: CqlTable) -> None:
        """`DROP column [USING TIMESTAMP µs]`; the column stays known as a dropped one."""
        cursor = self.cursor
        cursor.take("if", "exists")
        gone: list[tuple[str, CqlColumn]] = []

        def read() -> None:
            start = cursor.token
            name = cursor.name("a column")
            column = table.columns.pop(name, None)
            if column is None or column.kind in KEY_KINDS:
                cursor.fail(f"a data column of {table.keyspace}.{table.name}", token=start)
            gone.append((name, column))

        self._each(read)
        time = self._timestamp() if cursor.take("using", "timestamp") else None
        for name, column in gone:
            table.dropped[name] = Dropped(column.kind, column.type, time)

    def _timestamp(self) -> int:
        token = self.cursor.token
        found = whole_number(token.text) if token.kind == "number" else None
        if found is None or found > _TIMESTAMP_MAX:
            self.cursor.fail("a timestamp in microseconds")
        self.cursor.next()
        return found

    def _rename(self, held: dict[str, _Held]) -> None:
        """`a TO b [AND …]`, keeping the order."""
        cursor = self.cursor
        while True:
            start = cursor.token
            old = cursor.name("a name")
            cursor.want("to")
            new = cursor.name("a name")
            if old not in held or new in held:
                cursor.fail("an existing name and a new one", token=start)
            items = [(new if name == old else name, value) for name, value in held.items()]
            held.clear()
            held.update(items)
            if not cursor.take("and"):
                break
