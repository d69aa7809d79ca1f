"""A table of a SQLite file: write-ahead log, synced at each commit. Knows no position."""

from __future__ import annotations

import math
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tailer.errors import CdcError, SinkError, SystemFailedError, UsageError
from tailer.sinks.database.chosen import outlet_of
from tailer.sinks.database.columns import TargetColumn, TargetForm, ValueKind
from tailer.sinks.database.names import listed, spelled
from tailer.sinks.database.outlet import file_of, target_of
from tailer.sinks.database.store import ColumnThere, RowsRefusedError, Store
from tailer.sinks.database.texts import with_texts
from tailer.sinks.outlet import Outlet, OutletContext, OutletKey, TargetAwayError
from tailer.system_errors import lack_of_files, system_error

WAIT_SECONDS: Final = 5.0
"""How long another writer is waited for, before that counts as a target that is away."""

_TEXT: Final = "TEXT"
_WHOLE: Final = "INTEGER"
_REAL: Final = "REAL"
_TYPES: Final[Mapping[ValueKind, str]] = {
    "bool": _WHOLE, "int8": _WHOLE, "int16": _WHOLE, "int32": _WHOLE, "int64": _WHOLE, "float": _REAL,
    "double": _REAL, "text": _TEXT, "binary": "BLOB", "date": _TEXT, "timestamp": _TEXT, "decimal": _TEXT,
    "json": _TEXT, "nested": _TEXT,
}  # fmt: skip

_AWAY: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_PROTOCOL}
_ROW: Final = {
    sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE,
}  # fmt: skip
_USAGE: Final = {
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_NOTADB,
}  # fmt: skip
_SYSTEM: Final = {
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_INTERNAL,
}  # fmt: skip


def open_outlet(to: str, values: Mapping[str, Any], context: OutletContext) -> Outlet:
    """`sqlite:FILE`."""
    file = file_of(to)
    target = target_of(values, context)
    if "." in target.table:
        raise UsageError("--into", expected="TABLE: a SQLite file has no schemas", found=repr(target.table))
    return outlet_of(SqliteStore(Path(file), target.form), target, values, context)


class SqliteStore(Store):
    """One file."""

    folds = True
    types = _TYPES
    mark = "?"

    def __init__(self, file: Path, form: TargetForm) -> None:
        self.name = str(file)
        self._file = file
        self._texts = [column.name for column in form.columns if column.kind == "nested"]
        self._bare = [column.name for column in form.columns if column.kind in ("date", "timestamp", "decimal")]
        self._reals = [number for number, column in enumerate(form.columns) if column.kind in ("float", "double")]
        self._connection: sqlite3.Connection | None = None

    def connect(self) -> None:
        self.close()
        try:
            # Runs of several nodes, each in a thread of its own, give images to one outlet, one after the other.
            self._connection = sqlite3.connect(
                self._file, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            raise self.documented(error) or error from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def begin(self) -> None:
        # At once the only writer: a lock that is asked for later may be refused without waiting.
        self._at_hand.execute("BEGIN IMMEDIATE")

    def finish(self) -> None:
        self._at_hand.execute("COMMIT")

    def undo(self) -> None:
        self._at_hand.rollback()

    def documented(self, error: Exception) -> CdcError | None:
        if isinstance(error, OverflowError | sqlite3.DataError):
            return RowsRefusedError(f"{self.name}: {error}")
        if not isinstance(error, sqlite3.Error):
            return None
        # Python's own errors have no code.
        code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        told = f"{self.name}: {error}"
        if code in _AWAY:
            return TargetAwayError(told, remedy="Who holds it open for writing?")
        if code in _ROW:
            return RowsRefusedError(told)
        if code == sqlite3.SQLITE_CANTOPEN and (lack := lack_of_files()) is not None:
            return system_error(told, lack)
        if code in _USAGE:
            return UsageError(told, remedy="Give --to the path of a SQLite file in a folder that this user may write.")
        if code in _SYSTEM:
            room = "Free space, and start again." if code == sqlite3.SQLITE_FULL else "Look after its disk and file."
            return SystemFailedError(told, remedy=room)
        return SinkError(told)

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        return self._at_hand.execute(statement, values).rowcount

    def ask(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._at_hand.execute(question, values).fetchall()

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self._at_hand.executemany(statement, rows)

    def alone(self, key: OutletKey) -> None:
        """The one that writes is alone."""

    def columns(self, table: str) -> list[ColumnThere]:
        rows = self.ask('SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?)', (table,))
        return [ColumnThere(name, type_, bool(never) and default is None) for name, type_, never, default in rows]

    def unique_keys(self, table: str) -> list[tuple[str, ...]]:
        asked = (
            "SELECT l.name, x.name, x.coll FROM pragma_index_list(?) AS l, pragma_index_xinfo(l.name) AS x "
            'WHERE l."unique" AND NOT l.partial AND x.key ORDER BY l.name, x.seqno'
        )
        found: dict[str, list[tuple[str | None, str]]] = defaultdict(list)
        for index, column, collation in self.ask(asked, (table,)):
            found[index].append((column, collation))
        # An expression has no name; another collation takes two keys for one.
        plain = [key for key in found.values() if all(name is not None and how == "BINARY" for name, how in key)]
        keys = [tuple(str(name) for name, _ in key) for key in plain]
        primary = self.ask("SELECT name FROM pragma_table_info(?) WHERE pk ORDER BY pk", (table,))
        # INTEGER PRIMARY KEY has no index.
        return [*keys, *([tuple(name for (name,) in primary)] if len(primary) == 1 else [])]

    def loosen(self, table: str, form: TargetForm, columns: Sequence[str]) -> None:
        """A primary key of several columns takes nulls in SQLite, as a unique one."""

    def holds(self, column: TargetColumn, type_there: str) -> bool:
        return _affinity(type_there) in (self.types[column.kind], "BLOB")

    def easing(self, table: str, column: str) -> str:
        """SQLite changes no constraint."""
        return self.setting_aside(table)

    def ready(self, table: str, form: TargetForm) -> None:
        """Nothing more than the table."""

    def shaped(self, batch: Any) -> pa.RecordBatch:
        return with_texts(batch, self._texts, bare=self._bare)

    def insert(self, table: str, form: TargetForm, batches: Sequence[pa.RecordBatch]) -> None:
        for batch in batches:
            columns = [column.to_pylist() for column in batch.columns]
            for number in self._reals:
                columns[number] = [_real(value) for value in columns[number]]
            self._at_hand.executemany(self._insert(table, form), zip(*columns, strict=True))

    def _insert(self, table: str, form: TargetForm) -> str:
        marks = ", ".join("?" * len(form.columns))
        return (
            f"INSERT INTO {spelled(table)} ({listed(form.names)}) VALUES ({marks}) "
            f"ON CONFLICT ({listed(form.keys)}) DO NOTHING"
        )

    @property
    def _at_hand(self) -> sqlite3.Connection:
        assert self._connection is not None, "the outlet is open"
        return self._connection


def _real(value: float | None) -> float | str | None:
    """SQLite has no NaN: it would write NULL."""
    return "NaN" if value is not None and math.isnan(value) else value


def _affinity(type_: str) -> str:
    """What SQLite makes of a declared type (https://www.sqlite.org/datatype3.html, 3.1)."""
    words = type_.upper()
    if "INT" in words:
        return _WHOLE
    if any(word in words for word in ("CHAR", "CLOB", "TEXT")):
        return _TEXT
    if not words or any(word in words for word in ("BLOB", "ANY")):
        return "BLOB"
    if any(word in words for word in ("REAL", "FLOA", "DOUB")):
        return _REAL
    return "NUMERIC"
