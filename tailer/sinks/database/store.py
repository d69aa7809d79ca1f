"""What an outlet needs of a database, and what differs from one to the next. Knows no driver and no row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tailer.errors import CdcError, SinkError
from tailer.sinks.database.columns import TargetColumn, TargetForm, ValueKind
from tailer.sinks.database.names import free_column, free_name, quoted, spelled

if TYPE_CHECKING:
    import pyarrow

    from tailer.sinks.base import Rows
    from tailer.sinks.outlet import OutletKey


class RowsRefusedError(SinkError):
    """The database refuses at least one of the rows that it was given, for what is in it."""


class ColumnThere(NamedTuple):
    """A column of a table that is there. `demanded`: a row that leaves it out is refused."""

    name: str
    type: str
    demanded: bool


class Store(ABC):
    """One database and its connection. `name`: in words, without a password. `folds`: column names that are equal but
    for case are one.

    `begin`, `finish`, `undo`, `run`, `ask` raise what the driver raises; `documented` says which error that is, and
    what may be called outside of `transaction` raises documented errors.
    """

    name: str
    folds: bool
    types: Mapping[ValueKind, str]
    mark: str
    """What stands for a value in a statement."""
    rows_from: str = ""
    """What `many` has its values in, beside the tables of its statement; empty where it gives them row by row."""
    no = "FALSE"
    name_limit = 200
    """How many bytes a table's name may have: the database's own limit, or where it has none, ours."""

    @staticmethod
    def moment(text: str) -> str:
        """A date, or a time with its date, as the database reads it. `text`: as JSON has it, where years beyond 9999
        have a sign, and years before 1 are 0, -1 and so on."""
        return text

    @abstractmethod
    def connect(self) -> None:
        """Connect, anew where it was connected. Raises documented errors."""

    @abstractmethod
    def close(self) -> None:
        """Let go; nothing that was not committed stays."""

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def finish(self) -> None:
        """What was done since `begin` is durable."""

    @abstractmethod
    def undo(self) -> None:
        """Nothing of it was done."""

    @abstractmethod
    def documented(self, error: Exception) -> CdcError | None:
        """The documented error that one of the driver's is; None for what is none of its."""

    @abstractmethod
    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """How many rows it concerned."""

    @abstractmethod
    def ask(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Inside a transaction: a statement for each of the rows, which it has by `values`."""

    def values(self, columns: Sequence[TargetColumn]) -> list[str]:
        """What stands in a statement of `many` for values of these columns, in the order of a row."""
        return [self.mark] * len(columns)

    @abstractmethod
    def alone(self, key: OutletKey) -> None:
        """Inside a transaction: wait for an earlier one under the same key that may still be on its way."""

    @abstractmethod
    def columns(self, table: str) -> list[ColumnThere]:
        """The columns of a table; empty where there is none."""

    @abstractmethod
    def unique_keys(self, table: str) -> list[tuple[str, ...]]:
        """The columns of each primary key and unique index that ON CONFLICT may name: of all rows, and of columns
        alone. From the catalogue."""

    @abstractmethod
    def holds(self, column: TargetColumn, type_there: str) -> bool:
        """Whether a column of that type keeps every value of this one as it is."""

    @abstractmethod
    def ready(self, table: str, form: TargetForm) -> None:
        """Inside a transaction: what `insert` needs; the database says here what it has against the table."""

    @abstractmethod
    def shaped(self, batch: Rows) -> pyarrow.RecordBatch:
        """The rows as `insert` takes them."""

    @abstractmethod
    def insert(self, table: str, form: TargetForm, batches: Sequence[pyarrow.RecordBatch]) -> None:
        """Inside a transaction: append the rows, but for those whose key is there."""

    def check_name(self, column: str, advice: str) -> None:
        """UsageError for a column's name that would not stay what it is. `advice`: what to do then."""
        return

    def column_type(self, column: TargetColumn) -> str:
        """The type of a column that is made for these values."""
        return self.types[column.kind]

    def retyping(self, table: str, column: str) -> str:
        """The statement that makes room for a column of another type: what is there gets another name."""
        fold = str.casefold if self.folds else str
        aside = free_column(column, self.name_limit, {fold(each.name) for each in self.columns(table)}, fold)
        return f"ALTER TABLE {spelled(table)} RENAME COLUMN {quoted(column)} TO {quoted(aside)}"

    def setting_aside(self, table: str) -> str:
        """The statement after which a table of ours is made under the name."""
        return f"ALTER TABLE {spelled(table)} RENAME TO {quoted(self.free_table(table).rpartition('.')[2])}"

    def free_table(self, table: str) -> str:
        """Inside a transaction: a name that no table has, for one that is set aside."""
        return free_name(table, self.name_limit, _Tables(self))

    def rename_column(self, table: str, before: str, after: str) -> None:
        """Inside a transaction: give a column another name."""
        self.run(f"ALTER TABLE {spelled(table)} RENAME COLUMN {quoted(before)} TO {quoted(after)}")

    def rename_table(self, table: str, after: str) -> None:
        """Inside a transaction: give a table another name in the same schema."""
        self.run(f"ALTER TABLE {spelled(table)} RENAME TO {quoted(after.rpartition('.')[2])}")

    @abstractmethod
    def loosen(self, table: str, form: TargetForm, columns: Sequence[str]) -> None:
        """Inside a transaction: these columns of the key may be null from now on, in a unique key instead of a primary
        one."""

    def easing(self, table: str, column: str) -> str:
        """The statement after which rows may leave out a column."""
        return f"ALTER TABLE {spelled(table)} ALTER COLUMN {quoted(column)} DROP NOT NULL"

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is done inside, durable behind it, or nothing. Raises documented errors."""
        try:
            self.begin()
            yield
            self.finish()
        except BaseException as error:
            # A connection that is gone has undone it.
            with suppress(Exception):
                self.undo()
            documented = self.documented(error) if isinstance(error, Exception) else None
            if documented is None:
                raise
            raise documented from error


class _Tables:
    """The tables that a database has, to ask whether a name is taken."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self._store.columns(name))
