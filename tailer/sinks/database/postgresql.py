"""A table of a PostgreSQL server: rows go by binary COPY into a temporary table, and from there in one statement.

Knows no position. One connection, which belongs to this outlet alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tailer.errors import CdcError, SinkError, UsageError
from tailer.sinks.database.chosen import outlet_of
from tailer.sinks.database.columns import TargetColumn, TargetForm, ValueKind
from tailer.sinks.database.copy_form import HEADER, TRAILER, copy_rows
from tailer.sinks.database.names import listed, quoted, spelled
from tailer.sinks.database.outlet import target_of
from tailer.sinks.database.sqlstates import LOGIN, documented, no_connection
from tailer.sinks.database.store import ColumnThere, Store
from tailer.sinks.database.texts import moment, with_texts
from tailer.sinks.database.watched_connection import WatchedConnection
from tailer.sinks.outlet import Outlet, OutletContext, OutletKey
from tailer.sinks.outlet_options import check_named

if TYPE_CHECKING:
    import pyarrow

_TYPES: Final[Mapping[ValueKind, str]] = {
    "bool": "boolean", "int8": "smallint", "int16": "smallint", "int32": "integer", "int64": "bigint", "float": "real",
    "double": "double precision", "text": "text", "binary": "bytea", "date": "date",
    "timestamp": "timestamp with time zone", "decimal": "numeric", "json": "json", "nested": "json",
}  # fmt: skip
_WIDER: Final[Mapping[str, frozenset[str]]] = {
    "smallint": frozenset({"integer", "bigint", "numeric"}),
    "integer": frozenset({"bigint", "numeric"}),
    "bigint": frozenset({"numeric"}),
    "real": frozenset({"double precision"}),
    "json": frozenset({"jsonb", "text"}),
}
"""Types of a table that is there which keep what others would. A `numeric(p,s)` is none of them: it rounds."""

_STAGE: Final = "pg_temp.cdc_tail_stage"
_STAGED: Final[Mapping[ValueKind, str]] = {**_TYPES, "decimal": "text"}
# An error in the middle of many rows is raised; that it is also logged would be said twice.
logging.getLogger("psycopg").setLevel(logging.ERROR)
_BETWEEN: Final = (
    "Nothing was written. Is something between us and the server that changes statements? Connect without it."
)
_NAME_BYTES: Final = 63
_DATA: Final = "22000"
"""The SQLSTATE of data that does not fit."""
_PATIENT: Final = {
    "connect_timeout": "10", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
    "tcp_user_timeout": "30000", "application_name": "cdc-tail",
}  # fmt: skip
"""What a URL may say otherwise: a network that swallows packets is told from a server that is slow."""
_SESSION: Final = (
    "SET lock_timeout = '30s'",
    # A commit that was answered is on the server's disk: the log may be cleaned behind it.
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)


def open_outlet(to: str, values: Mapping[str, Any], context: OutletContext) -> Outlet:
    """`postgresql://…`, as libpq takes it."""
    try:
        given = conninfo_to_dict(to)
    except psycopg.ProgrammingError as error:
        raise UsageError("--to", expected="postgresql://HOST/DATABASE", found=str(error).strip()) from None
    if any(given.get(name) for name in ("password", "sslpassword")):
        raise UsageError("--to with a password: others can see command lines", remedy=LOGIN)
    target = target_of(values, context)
    store = PostgresStore({name: str(value) for name, value in given.items()}, target.form)
    check_named(context.key, store.name)
    return outlet_of(store, target, values, context)


class PostgresStore(Store):
    """One database of a server. `given`: libpq's words for a connection."""

    folds = False
    name_limit = _NAME_BYTES
    types = _TYPES
    mark = "%s"

    def __init__(self, given: Mapping[str, str], form: TargetForm) -> None:
        where = given.get("host") or given.get("hostaddr") or "the local server"
        self.name = f"{given.get('dbname') or 'the database'} on {where}"
        self._conninfo = make_conninfo("", **{**_PATIENT, **given, "client_encoding": "utf8"})
        self._texts = [column.name for column in form.columns if column.kind == "nested"]
        self._kinds = [column.kind for column in form.columns]
        self._connection: psycopg.Connection[Any] | None = None

    def connect(self) -> None:
        self.close()
        try:
            self._connection = WatchedConnection.connect(self._conninfo, autocommit=True).asking(self._conninfo)
        except psycopg.OperationalError as error:
            asks = bool(error.pgconn and error.pgconn.needs_password)
            raise no_connection(self.name, _sentence(error), needs_password=asks) from error
        try:
            for statement in _SESSION:
                self.run(statement)
        except psycopg.Error as error:
            raise documented(self.name, _sentence(error), _state(error)) from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def begin(self) -> None:
        self.run("BEGIN ISOLATION LEVEL READ COMMITTED")
        # What would be found at the commit is found where the rows are.
        self.run("SET CONSTRAINTS ALL IMMEDIATE")

    def finish(self) -> None:
        done = self._at_hand.execute(b"COMMIT").statusmessage
        if done != "COMMIT":
            # A server answers so where the transaction was given up before: none of it is there.
            raise SinkError(f"{self.name}: COMMIT was not done", expected="COMMIT", found=str(done), remedy=_BETWEEN)

    def undo(self) -> None:
        self.run("ROLLBACK")

    def documented(self, error: Exception) -> CdcError | None:
        if not isinstance(error, psycopg.Error):
            return None
        return documented(self.name, _sentence(error), _state(error))

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        return self._at_hand.execute(statement.encode(), values or None).rowcount

    def ask(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._at_hand.execute(question.encode(), values or None).fetchall()

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            with self._at_hand.cursor() as cursor:
                cursor.executemany(_with_percents(statement).encode(), rows)

    @staticmethod
    def moment(text: str) -> str:
        return moment(text, "{date}{time} BC")

    def values(self, columns: Sequence[TargetColumn]) -> list[str]:
        return [f"{self.mark}::{self.types[column.kind]}" for column in columns]

    def alone(self, key: OutletKey) -> None:
        """Of a connection that was lost a commit may still be running: what it does is seen behind it only."""
        number = int.from_bytes(blake2b("\0".join(key).encode(), digest_size=8).digest(), signed=True)
        self.run("SELECT pg_advisory_xact_lock(%s)", (number,))

    def columns(self, table: str) -> list[ColumnThere]:
        asked = (
            "SELECT attname, format_type(atttypid, atttypmod), attnotnull AND NOT atthasdef AND attidentity = '' "
            "FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        return [ColumnThere(*row) for row in self.ask(asked, (spelled(table),))]

    def unique_keys(self, table: str) -> list[tuple[str, ...]]:
        asked = (
            "SELECT array_agg(a.attname::text) FROM pg_index AS i "
            "CROSS JOIN LATERAL unnest(i.indkey[0:i.indnkeyatts - 1]) AS k(attnum) "
            "LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum "
            "WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indimmediate AND i.indisvalid "
            "AND i.indpred IS NULL AND i.indexprs IS NULL GROUP BY i.indexrelid"
        )
        return [tuple(key) for (key,) in self.ask(asked, (spelled(table),))]

    def loosen(self, table: str, form: TargetForm, columns: Sequence[str]) -> None:
        asked = "SELECT conname::text FROM pg_constraint WHERE conrelid = to_regclass(%s) AND contype = 'p'"
        for (name,) in self.ask(asked, (spelled(table),)):
            self.run(f"ALTER TABLE {spelled(table)} DROP CONSTRAINT {quoted(name)}")
        for column in columns:
            self.run(f"ALTER TABLE {spelled(table)} ALTER COLUMN {quoted(column)} DROP NOT NULL")
        if not any(set(key) == set(form.keys) for key in self.unique_keys(table)):
            self.run(f"ALTER TABLE {spelled(table)} ADD UNIQUE ({listed(form.keys)})")

    def holds(self, column: TargetColumn, type_there: str) -> bool:
        wanted = self.types[column.kind]
        return type_there == wanted or type_there in _WIDER.get(wanted, ()) or _is_any_text(wanted, type_there)

    def check_name(self, column: str, advice: str) -> None:
        if len(column.encode()) > _NAME_BYTES:
            raise UsageError(
                f"PostgreSQL cuts the name of column {column}",
                expected=f"at most {_NAME_BYTES} bytes",
                found=len(column.encode()),
                remedy=advice,
            )

    def ready(self, table: str, form: TargetForm) -> None:
        columns = ", ".join(f"{quoted(column.name)} {_STAGED[column.kind]}" for column in form.columns)
        self.run(f"CREATE TEMPORARY TABLE cdc_tail_stage ({columns}) ON COMMIT DELETE ROWS")
        self.run(_move(table, form))

    def shaped(self, batch: Any) -> pyarrow.RecordBatch:
        return with_texts(batch, self._texts)

    def insert(self, table: str, form: TargetForm, batches: Sequence[pyarrow.RecordBatch]) -> None:
        into = f"COPY {_STAGE} ({listed(form.names)}) FROM STDIN (FORMAT BINARY)"
        with self._at_hand.cursor() as cursor, cursor.copy(into.encode()) as copy:
            copy.write(HEADER)
            for batch in batches:
                copy.write(copy_rows(batch, self._kinds))
            copy.write(TRAILER)
        self.run(_move(table, form))

    @property
    def _at_hand(self) -> psycopg.Connection[Any]:
        assert self._connection is not None, "the outlet is open"
        return self._connection


def _move(table: str, form: TargetForm) -> str:
    """All rows of the stage whose key is not there yet."""
    values = ", ".join(
        f"{quoted(column.name)}::numeric" if column.kind == "decimal" else quoted(column.name)
        for column in form.columns
    )
    return (
        f"INSERT INTO {spelled(table)} ({listed(form.names)}) SELECT {values} FROM {_STAGE} "
        f"ON CONFLICT ({listed(form.keys)}) DO NOTHING"
    )


def _with_percents(statement: str) -> str:
    """Those in names of columns stand for no value."""
    return statement.replace("%", "%%").replace("%%s::", "%s::")


def _is_any_text(wanted: str, there: str) -> bool:
    """A `varchar(n)` refuses what is longer; it cuts nothing but spaces at the end, and those of casts only."""
    return wanted == "text" and there.startswith("character varying")


def _state(error: psycopg.Error) -> str | None:
    """The SQLSTATE of an error; psycopg has none for data that it does not send, such as a NUL."""
    return _DATA if error.sqlstate is None and isinstance(error, psycopg.DataError) else error.sqlstate


def _sentence(error: psycopg.Error) -> str:
    """The server's own words, without the lines that show where in a statement."""
    told = error.diag.message_primary or str(error)
    return " ".join(told.split()).removeprefix("connection failed: ").removesuffix(".")
