"""A CQL file → base rows: what `DESCRIBE KEYSPACE … WITH INTERNALS` prints, or CREATE statements written by hand.

`WITH ID` binds a table to the log; without one it stays unbound until exactly one id is known for its name.
Indexes, functions, roles, data and the rest of CQL are stepped over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from uuid import UUID

from tailer.errors import UsageError
from tailer.limits import whole_number
from tailer.schema.cql_alter import AlterReader
from tailer.schema.cql_model import CqlColumn, CqlSchema, CqlTable
from tailer.schema.cql_tokens import Cursor, skip_mask
from tailer.schema.cql_types import read_type
from tailer.schema.rows import SchemaDelta
from tailer.system_errors import system_error

_TABLE_WORDS: Final = ("table", "columnfamily")
_SECONDS_MAX: Final = 2**31 - 1
"""`gc_grace_seconds` is an int."""

_SKIPPED: Final = {
    "insert",
    "update",
    "delete",
    "begin",
    "apply",
    "truncate",
    "grant",
    "revoke",
    "list",
    "select",
    "describe",
} | {"consistency", "serial", "tracing", "paging", "expand", "source", "capture", "copy", "login"}


def read_cql(path: Path) -> list[SchemaDelta]:
    """The file's definitions as a base (every timestamp `BASE_TS`). Raises UsageError with the line."""
    return parse_cql(_text_of(path), str(path))


def tables_without_cdc(path: Path) -> frozenset[str]:
    """The tables (`keyspace.table`) whose statements in a file do not say whether they capture. As `read_cql`."""
    tables = _Reader(Cursor(_text_of(path), str(path))).read().tables.values()
    return frozenset(f"{each.keyspace}.{each.name}" for each in tables if not (each.view or each.says_cdc))


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("the CQL file is not UTF-8", file=str(path), found=f"byte {error.start}") from None
    except PermissionError as error:
        raise system_error("the CQL file cannot be read", error, path) from None
    except OSError as error:
        raise UsageError("the CQL file cannot be read", file=str(path), found=error.strerror) from None


def parse_cql(text: str, file: str = "CQL text") -> list[SchemaDelta]:
    """As `read_cql`, of text in hand."""
    return _Reader(Cursor(text, file)).read().deltas()


class _Reader:
    """Reads one file's statements into a CqlSchema."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.schema = CqlSchema()
        self.keyspace: str | None = None

    def read(self) -> CqlSchema:
        while not self.cursor.ended():
            if self.cursor.take_sign(";"):
                continue
            self._statement()
            if not self.cursor.ended():
                self.cursor.want_sign(";")
        return self.schema

    def _statement(self) -> None:
        cursor = self.cursor
        if cursor.take("use"):
            self.keyspace = cursor.name("a keyspace")
        elif cursor.take("create"):
            self._create()
        elif cursor.take("alter"):
            self._alter()
        elif cursor.take("drop"):
            self._drop()
        elif cursor.token.kind == "word" and cursor.token.text in _SKIPPED:
            cursor.skip_until()
        else:
            cursor.fail("a CQL statement (CREATE, ALTER, DROP, USE)")

    def _create(self) -> None:
        cursor = self.cursor
        if cursor.take("keyspace"):
            cursor.take("if", "not", "exists")
            self._keyspace_options(cursor.name("a keyspace"))
        elif cursor.take("type"):
            self._create_type()
        elif any(cursor.take(word) for word in _TABLE_WORDS):
            self._create_table()
        elif cursor.take("materialized", "view"):
            self._create_view()
        else:
            cursor.skip_until()

    def _alter(self) -> None:
        cursor = self.cursor
        if cursor.take("type"):
            cursor.take("if", "exists")
            self._alter_type(self._place("a type"))
        elif cursor.take("keyspace"):
            cursor.take("if", "exists")
            self._keyspace_options(cursor.name("a keyspace"))
        elif any(cursor.take(word) for word in _TABLE_WORDS) or cursor.take("materialized", "view"):
            cursor.take("if", "exists")
            self._alter_table(self._place("a table"))
        else:
            cursor.skip_until()

    def _keyspace_options(self, name: str) -> None:
        """`WITH option = value AND …`: `durable_writes` counts, the rest is stepped over."""
        cursor = self.cursor
        while cursor.take("with") or cursor.take("and"):
            option = cursor.name("a keyspace option")
            cursor.want_sign("=")
            start = cursor.token
            value = "".join(token.text for token in cursor.skip_until("and")).lower()
            if option == "durable_writes":
                if value not in ("true", "false"):
                    cursor.fail("true or false", token=start)
                self.schema.set_durable(name, durable=value == "true")

    def _alter_type(self, place: tuple[str, str]) -> None:
        fields = self.schema.types.get(place)
        if fields is None:
            self.cursor.fail(f"CREATE TYPE {'.'.join(place)} before it is altered")
        AlterReader(self.cursor, place[0]).type(fields)

    def _alter_table(self, place: tuple[str, str]) -> None:
        table = self.schema.tables.get(place)
        if table is None:
            self.cursor.fail(f"CREATE TABLE {'.'.join(place)} before it is altered")
        if self.cursor.take("with"):
            self._options(table)
        else:
            AlterReader(self.cursor, place[0]).table(table)

    def _drop(self) -> None:
        cursor = self.cursor
        if any(cursor.take(word) for word in _TABLE_WORDS) or cursor.take("materialized", "view"):
            cursor.take("if", "exists")
            self.schema.tables.pop(self._place("a table"), None)
        elif cursor.take("type"):
            cursor.take("if", "exists")
            self.schema.types.pop(self._place("a type"), None)
        elif cursor.take("keyspace"):
            cursor.take("if", "exists")
            self.schema.drop_keyspace(cursor.name("a keyspace"))
        else:
            cursor.skip_until()

    def _place(self, what: str) -> tuple[str, str]:
        """`[keyspace.]name`."""
        start = self.cursor.token
        first = self.cursor.name(what)
        if self.cursor.take_sign("."):
            return first, self.cursor.name(what)
        if self.keyspace is None:
            self.cursor.fail("a keyspace before the name, or USE before the statement", token=start)
        return self.keyspace, first

    def _create_type(self) -> None:
        cursor = self.cursor
        cursor.take("if", "not", "exists")
        place = self._place("a type")
        fields: dict[str, str] = {}
        cursor.want_sign("(")
        while True:
            name = cursor.name("a field")
            fields[name] = read_type(cursor, place[0])
            if not cursor.take_sign(","):
                break
        cursor.want_sign(")")
        self.schema.types[place] = fields

    def _create_table(self) -> None:
        cursor = self.cursor
        cursor.take("if", "not", "exists")
        keyspace, name = self._place("a table")
        table = CqlTable(keyspace, name)
        start = cursor.token
        cursor.want_sign("(")
        key: tuple[list[str], list[str]] | None = None
        while True:
            key = self._key() if cursor.at_word("primary", "key") else self._column(table) or key
            if not cursor.take_sign(","):
                break
        cursor.want_sign(")")
        if key is None:
            cursor.fail("a PRIMARY KEY", token=start)
        self._set_key(table, key)
        if cursor.take("with"):
            self._options(table)
        self.schema.tables[keyspace, name] = table

    def _column(self, table: CqlTable) -> tuple[list[str], list[str]] | None:
        """`name type [STATIC] [MASKED WITH …] [PRIMARY KEY]`; gives the key if this column is it."""
        cursor = self.cursor
        start = cursor.token
        name = cursor.name("a column")
        if name in table.columns:
            cursor.fail("a column of another name", token=start)
        text = read_type(cursor, table.keyspace)
        table.columns[name] = CqlColumn("static" if cursor.take("static") else "regular", text)
        skip_mask(cursor)
        return ([name], []) if cursor.take("primary", "key") else None

    def _key(self) -> tuple[list[str], list[str]]:
        """`PRIMARY KEY (a, …)` or `PRIMARY KEY ((a, b), …)`."""
        cursor = self.cursor
        cursor.want("primary", "key")
        cursor.want_sign("(")
        partition = cursor.names("a key column") if cursor.at_sign("(") else [cursor.name("a key column")]
        clustering = []
        while cursor.take_sign(","):
            clustering.append(cursor.name("a key column"))
        cursor.want_sign(")")
        return partition, clustering

    def _set_key(self, table: CqlTable, key: tuple[list[str], list[str]]) -> None:
        missing = [name for name in key[0] + key[1] if name not in table.columns]
        if missing:
            self.cursor.fail(f"a column {missing[0]}, which the PRIMARY KEY of {table.keyspace}.{table.name} names")
        table.set_key(*key)

    def _create_view(self) -> None:
        cursor = self.cursor
        cursor.take("if", "not", "exists")
        keyspace, name = self._place("a view")
        view = CqlTable(keyspace, name, view=True)
        cursor.want("as", "select")
        chosen: list[str] | None = None
        if not cursor.take_sign("*"):
            chosen = [cursor.name("a column")]
            while cursor.take_sign(","):
                chosen.append(cursor.name("a column"))
        cursor.want("from")
        start = cursor.token
        base = self.schema.tables.get(self._place("a table"))
        if base is None:
            cursor.fail("a table described earlier in the file", token=start)
        cursor.skip_until("primary")
        key = self._key()
        for column in chosen if chosen is not None else base.columns:
            if column not in base.columns:
                cursor.fail(f"a column of {base.keyspace}.{base.name} instead of {column}", token=start)
            view.columns[column] = CqlColumn("regular", base.columns[column].type)
        self._set_key(view, key)
        if cursor.take("with"):
            self._options(view)
        self.schema.tables[keyspace, name] = view

    def _options(self, table: CqlTable) -> None:
        """`option AND option …`: `_option`, CLUSTERING ORDER BY and COMPACT STORAGE count, the rest is stepped over."""
        cursor = self.cursor
        while True:
            if cursor.take("clustering", "order", "by"):
                self._clustering_order(table)
            elif cursor.take("compact", "storage"):
                table.compact = True
            else:
                self._option(table)
            if not cursor.take("and"):
                break

    def _option(self, table: CqlTable) -> None:
        """ID, cdc or gc_grace_seconds; another one is stepped over."""
        cursor = self.cursor
        option = cursor.name("a table option")
        cursor.want_sign("=")
        start = cursor.token
        value = "".join(token.text for token in cursor.skip_until("and"))
        if option == "id":
            try:
                table.id = UUID(value).hex
            except ValueError:
                cursor.fail("a table id (UUID)", token=start)
        elif option == "cdc":
            if value.lower() not in ("true", "false"):
                cursor.fail("true or false", token=start)
            table.cdc, table.says_cdc = value.lower() == "true", True
        elif option == "gc_grace_seconds":
            seconds = whole_number(value)
            if seconds is None or seconds > _SECONDS_MAX:
                cursor.fail("a number of seconds", token=start)
            table.gc_grace_seconds = seconds

    def _clustering_order(self, table: CqlTable) -> None:
        cursor = self.cursor
        cursor.want_sign("(")
        while True:
            start = cursor.token
            name = cursor.name("a clustering column")
            desc = cursor.take("desc")
            if not desc:
                cursor.take("asc")
            column = table.columns.get(name)
            if column is None and table.compact:
                table.hidden = name
            elif column is None or column.kind != "clustering":
                cursor.fail("a clustering column", token=start)
            else:
                column.desc = desc
            if not cursor.take_sign(","):
                break
        cursor.want_sign(")")
