"""A table of a DuckDB file. Knows no position.

DuckDB lets no other process in while one has the file open for writing: it is opened for each transaction.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from errno import EMFILE
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tailer.errors import CdcError, SinkError, SystemFailedError, UsageError
from tailer.sinks.database.chosen import outlet_of
from tailer.sinks.database.columns import TargetColumn, TargetForm, ValueKind
from tailer.sinks.database.names import beside, listed, quoted, spelled
from tailer.sinks.database.outlet import file_of, target_of
from tailer.sinks.database.store import ColumnThere, RowsRefusedError, Store
from tailer.sinks.database.texts import moment
from tailer.sinks.outlet import Outlet, OutletContext, OutletKey, TargetAwayError
from tailer.system_errors import system_error

_TYPES: Final[Mapping[ValueKind, str]] = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "text": "VARCHAR", "binary": "BLOB", "date": "DATE", "timestamp": "TIMESTAMP WITH TIME ZONE",
    "json": "JSON",
}  # fmt: skip
"""Of what is not in here DuckDB says itself which type it is: decimals, and what is nested."""
_WIDER: Final[Mapping[str, frozenset[str]]] = {
    "TINYINT": frozenset({"SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}),
    "SMALLINT": frozenset({"INTEGER", "BIGINT", "HUGEINT"}),
    "INTEGER": frozenset({"BIGINT", "HUGEINT"}),
    "BIGINT": frozenset({"HUGEINT"}),
    "FLOAT": frozenset({"DOUBLE"}),
    "JSON": frozenset({"VARCHAR"}),
}
_STAGE: Final = "cdc_tail_stage"

_ERRORS: Final[tuple[tuple[type[Exception], type[CdcError], str], ...]] = (
    (duckdb.ConstraintException, RowsRefusedError, ""),
    (duckdb.DataError, RowsRefusedError, ""),
    (duckdb.InvalidInputException, RowsRefusedError, ""),
    (duckdb.TransactionException, TargetAwayError, ""),
    (duckdb.PermissionException, UsageError, "Give this user the right to write it."),
    (duckdb.IOException, SystemFailedError, "Look after its disk and rights."),
    (duckdb.OutOfMemoryException, SystemFailedError, "Commit fewer rows at once (--commit-rows)."),
    (duckdb.FatalException, SystemFailedError, ""),
    (duckdb.InternalException, SystemFailedError, ""),
    (duckdb.Error, SinkError, ""),
)
"""The first that fits."""
_INFINITE_DAYS: Final = 2**31 - 1

_SAYS: Final[tuple[tuple[str, type[CdcError], str], ...]] = (
    ("lock on file", TargetAwayError, "Which program has it open?"),
    ("No space left", SystemFailedError, "Free space, and start again."),
    ("not a valid DuckDB database", UsageError, "Give --to the path of a DuckDB file."),
    ("Permission denied", UsageError, "Give this user the right to write it."),
    ("No such file or directory", UsageError, "Make the folder first."),
)
"""DuckDB has one class for all that goes wrong with files."""


def open_outlet(to: str, values: Mapping[str, Any], context: OutletContext) -> Outlet:
    """`duckdb:FILE`."""
    file = file_of(to)
    if file.startswith("md:"):
        raise UsageError("--to", expected="duckdb:FILE of this machine", found=repr(to))
    target = target_of(values, context)
    return outlet_of(DuckdbStore(Path(file), target.form), target, values, context)


class DuckdbStore(Store):
    """One file."""

    folds = True
    types = _TYPES
    mark = "?"
    rows_from = f"{_STAGE} AS v"

    def __init__(self, file: Path, form: TargetForm) -> None:
        self.name = str(file)
        self._file = file
        self._form = form
        self._connection: duckdb.DuckDBPyConnection | None = None

    def connect(self) -> None:
        """It is opened for each transaction."""
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def begin(self) -> None:
        self._connection = duckdb.connect(self._file)
        self._connection.begin()

    def finish(self) -> None:
        self._at_hand.commit()
        self.close()

    def undo(self) -> None:
        """Closing it undoes what was not committed."""
        self.close()

    def documented(self, error: Exception) -> CdcError | None:
        if not isinstance(error, duckdb.Error):
            return None
        sentence = " ".join(str(error).split("\n\nLINE", 1)[0].split())
        told = f"{self.name}: {sentence}"
        if "Too many open files" in sentence:
            return system_error(told, OSError(EMFILE, os.strerror(EMFILE)))
        # A commit that could not be written says so as an error of the transaction.
        if isinstance(error, duckdb.IOException | duckdb.TransactionException):
            for words, kind, remedy in _SAYS:
                if words in sentence:
                    return kind(told, remedy=remedy)
        kind, remedy = next((kind, remedy) for made, kind, remedy in _ERRORS if isinstance(error, made))
        return kind(told, remedy=remedy)

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        rows = self.ask(statement, values)
        return int(rows[0][0]) if rows else 0

    def ask(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._at_hand.execute(question, list(values) or None).fetchall()

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            columns = [pa.array(map(_text, values)) for values in zip(*rows, strict=True)]
            self._at_hand.register(_STAGE, pa.table(columns, names=[f"c{at}" for at in range(len(columns))]))
            self.run(statement)
            self._at_hand.unregister(_STAGE)

    @staticmethod
    def moment(text: str) -> str:
        return moment(text, "{date} (BC){time}")

    def values(self, columns: Sequence[TargetColumn]) -> list[str]:
        return [f"CAST(v.c{at} AS {self.types[column.kind]})" for at, column in enumerate(columns)]

    def alone(self, key: OutletKey) -> None:
        """Who has the file open is alone."""

    def columns(self, table: str) -> list[ColumnThere]:
        schema, _, name = table.rpartition(".")
        asked = (
            "SELECT column_name, data_type, NOT is_nullable AND column_default IS NULL FROM duckdb_columns() "
            "WHERE table_name = ? AND schema_name = ? AND NOT internal AND database_name = current_database() "
            "ORDER BY column_index"
        )
        return [ColumnThere(*row) for row in self.ask(asked, (name, schema or "main"))]

    def unique_keys(self, table: str) -> list[tuple[str, ...]]:
        schema, _, name = table.rpartition(".")
        where = "table_name = ? AND schema_name = ? AND database_name = current_database()"
        values = (name, schema or "main")
        asked = f"SELECT constraint_column_names FROM duckdb_constraints() WHERE {where} AND constraint_type IN (?, ?)"
        keys = [tuple(key) for (key,) in self.ask(asked, (*values, "PRIMARY KEY", "UNIQUE"))]
        indexes = self.ask(f"SELECT expressions FROM duckdb_indexes() WHERE {where} AND is_unique", values)
        # A list as text; an expression stands in brackets, and is no column's name.
        return [*keys, *(tuple(_names_in(text)) for (text,) in indexes)]

    def rename_column(self, table: str, before: str, after: str) -> None:
        indexes = self._without_indexes(table)
        super().rename_column(table, before, after)
        self._with_indexes(table, indexes, {before: after})

    def rename_table(self, table: str, after: str) -> None:
        indexes = self._without_indexes(table)
        super().rename_table(table, after)
        self._with_indexes(after, indexes, {})

    def _without_indexes(self, table: str) -> list[tuple[str, bool, list[str]]]:
        """Drop the indexes that somebody made: DuckDB renames nothing of a table that has one. Name, whether it is
        unique, and columns of each."""
        schema, _, name = table.rpartition(".")
        asked = (
            "SELECT index_name, is_unique, expressions FROM duckdb_indexes() WHERE table_name = ? AND schema_name = ?"
        )
        asked += " AND database_name = current_database()"
        found = [(index, unique, _names_in(text)) for index, unique, text in self.ask(asked, (name, schema or "main"))]
        columns = {column.name for column in self.columns(table)}
        drops = {index: f"DROP INDEX {spelled(beside(table, index))}" for index, _, _ in found}
        for index, _, names in found:
            if not columns.issuperset(names):
                raise SinkError(
                    f"DuckDB renames nothing of table {table} of {self.name} while it has the index {index}, which is "
                    "of an expression",
                    remedy=f"Run: {drops[index]}; make it again when this is done.",
                )
        for drop in drops.values():
            self.run(drop)
        return found

    def _with_indexes(
        self, table: str, indexes: Sequence[tuple[str, bool, list[str]]], renamed: Mapping[str, str]
    ) -> None:
        for index, unique, names in indexes:
            columns = listed(tuple(renamed.get(name, name) for name in names))
            self.run(f"CREATE {'UNIQUE ' if unique else ''}INDEX {quoted(index)} ON {spelled(table)} ({columns})")

    def loosen(self, table: str, form: TargetForm, columns: Sequence[str]) -> None:
        """DuckDB changes no primary key: the table is made again."""
        described = self.ask(f"DESCRIBE {spelled(table)}")
        texts = [f"{quoted(name)} {type_}" for name, type_, *_ in described]
        made = f"{table}_cdc_tail"
        indexes = self._without_indexes(table)
        names = listed(tuple(name for name, *_ in described))
        self.run(f"CREATE TABLE {spelled(made)} ({', '.join(texts)}, UNIQUE ({listed(form.keys)}))")
        self.run(f"INSERT INTO {spelled(made)} ({names}) SELECT {names} FROM {spelled(table)}")
        self.run(f"DROP TABLE {spelled(table)}")
        self.rename_table(made, table)
        self._with_indexes(table, indexes, {})

    def holds(self, column: TargetColumn, type_there: str) -> bool:
        wanted = self.column_type(column)
        return type_there == wanted or type_there in _WIDER.get(wanted, ())

    def column_type(self, column: TargetColumn) -> str:
        return self.types.get(column.kind) or self._own_types[column.name]

    def ready(self, table: str, form: TargetForm) -> None:
        self._move(table, form, form.schema.empty_table())

    def shaped(self, batch: Any) -> pa.RecordBatch:
        shaped: pa.RecordBatch = batch.to_arrow()
        return shaped

    def insert(self, table: str, form: TargetForm, batches: Sequence[pa.RecordBatch]) -> None:
        if any(map(_has_infinity, batches)):
            raise RowsRefusedError(f"{self.name}: a date that DuckDB takes for infinity")
        self._move(table, form, pa.Table.from_batches(batches))

    def _move(self, table: str, form: TargetForm, rows: pa.Table) -> None:
        self._at_hand.register(_STAGE, rows)
        self.run(
            f"INSERT INTO {spelled(table)} ({listed(form.names)}) SELECT {listed(form.names)} FROM {_STAGE} "
            f"ON CONFLICT ({listed(form.keys)}) DO NOTHING"
        )
        self._at_hand.unregister(_STAGE)

    @cached_property
    def _own_types(self) -> Mapping[str, str]:
        """What DuckDB makes of the Arrow types of our columns, by name."""
        with duckdb.connect(":memory:") as connection:
            connection.register(_STAGE, self._form.schema.empty_table())
            described = connection.execute(f"DESCRIBE SELECT * FROM {_STAGE}").fetchall()
        return {name: type_ for name, type_, *_ in described}

    @property
    def _at_hand(self) -> duckdb.DuckDBPyConnection:
        assert self._connection is not None, "inside a transaction"
        return self._connection


def _names_in(text: str) -> list[str]:
    """The columns in DuckDB's text of an index: [pk, '"a b"']."""
    parts = text.strip("[]").split(", ")
    return [part.strip("'").removeprefix('"').removesuffix('"').replace('""', '"') for part in parts]


def _text(value: Any) -> str | bytes | None:
    """A value of a row that is cast to what it is in a statement."""
    return value if value is None or isinstance(value, bytes) else str(value)


def _has_infinity(batch: pa.RecordBatch) -> bool:
    """Whether a date is one of the two numbers of days that mean infinity to DuckDB, which it would take without a
    word."""
    leaves = (leaf for column in batch.columns for leaf in _leaves(column))
    dates = (leaf.cast(pa.int32()) for leaf in leaves if leaf.type == pa.date32())
    return any(pc.any(pc.equal(pc.abs(pc.cast(days, pa.int64())), _INFINITE_DAYS)).as_py() for days in dates)


def _leaves(column: pa.Array) -> Iterator[pa.Array]:
    """The arrays of plain values that a column is made of."""
    if pa.types.is_map(column.type):
        yield from _leaves(column.keys)
        yield from _leaves(column.items)
    elif pa.types.is_list(column.type):
        yield from _leaves(column.flatten())
    elif pa.types.is_struct(column.type):
        for part in column.flatten():
            yield from _leaves(part)
    else:
        yield column
