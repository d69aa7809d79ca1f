"""Change rows in batches: the columns of architecture section 4, as lists, JSON lines or Arrow. Knows no log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from tailer.types import quote

if TYPE_CHECKING:
    import pyarrow

Row = tuple[
    str, str, str, str, str,  # node, keyspace, table, table_id, op
    str | None, str | None, bool, str | None, str | None,  # partition_key, clustering, is_static, columns, range
    int | None, int | None, int | None, str | None, int | None,  # write_ts, ttl, expires_at, cells, token
    int, int, int, str, str | None, str | None,  # segment, offset, row, event_id, txn, attrs
]  # fmt: skip
"""One change row, in column order. A plain tuple: a log has many."""


def _texts(column: Sequence[Any]) -> list[str]:
    """Strings, most of them the same few."""
    known = {value: "null" if value is None else quote(value) for value in set(column)}
    return [known[value] for value in column]


def _json(column: Sequence[Any]) -> list[Any]:
    return ["null" if value is None else value for value in column]


def _booleans(column: Sequence[Any]) -> list[str]:
    return ["true" if value else "false" for value in column]


class _Column(NamedTuple):
    name: str
    arrow: str
    render: Callable[[Sequence[Any]], list[Any]]


_COLUMNS: Final = (
    _Column("node", "string", _texts),
    _Column("keyspace", "string", _texts),
    _Column("table", "string", _texts),
    _Column("table_id", "string", _texts),
    _Column("op", "string", _texts),
    _Column("partition_key", "string", _json),
    _Column("clustering", "string", _json),
    _Column("is_static", "bool", _booleans),
    _Column("columns", "string", _json),
    _Column("range", "string", _json),
    _Column("write_ts", "int64", _json),
    _Column("ttl", "int32", _json),
    _Column("expires_at", "int64", _json),
    _Column("cells", "string", _json),
    _Column("token", "int64", _json),
    _Column("segment", "int64", _json),
    _Column("offset", "int64", _json),
    _Column("row", "int64", _json),
    _Column("event_id", "string", _texts),
    _Column("txn", "string", _texts),
    _Column("attrs", "string", _json),
)

COLUMNS: Final = tuple(column.name for column in _COLUMNS)
"""The names of a change row's columns, in order."""


class TableName(NamedTuple):
    """A table of some rows: `keyspace.table`, and its id as rows have it."""

    table: str
    id: str


_LINE: Final = "{" + ",".join(f'"{name}":%s' for name in COLUMNS) + "}\n"


RowKind = tuple[str, str, str]
"""Keyspace, table and operation of a row."""


class Batch(Protocol):
    """Change rows, however they are held."""

    def __len__(self) -> int: ...

    def kinds(self) -> Mapping[RowKind, int]:
        """How many rows there are of each kind that there is."""
        ...

    def column(self, name: str) -> list[Any]:
        """The values of one of COLUMNS."""
        ...

    def rows(self) -> Iterator[Row]:
        """The rows one by one."""
        ...

    def slice(self, start: int, stop: int | None = None) -> Batch:
        """The rows from `start` to before `stop`, as Python slices count."""
        ...

    def rows_by_table(self) -> Mapping[TableName, int]:
        """How many rows are of each table."""
        ...

    def json_lines(self) -> bytes:
        """One JSON object a row, each ended by a newline: nested objects, compact, UTF-8, all columns in order."""
        ...

    def to_arrow(self) -> pyarrow.RecordBatch:
        """An Arrow record batch of `arrow_schema()`; JSON columns are strings."""
        ...


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Change rows as one list per column of COLUMNS; JSON columns hold their text, absent values are None."""

    columns: tuple[list[Any], ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> ChangeBatch:
        columns = tuple(list(column) for column in zip(*rows, strict=True))
        return cls(columns or tuple([] for _ in COLUMNS))

    def __len__(self) -> int:
        return len(self.columns[0])

    def kinds(self) -> Mapping[RowKind, int]:
        return Counter(zip(*map(self.column, ("keyspace", "table", "op")), strict=True))

    def column(self, name: str) -> list[Any]:
        return self.columns[COLUMNS.index(name)]

    def rows(self) -> Iterator[Row]:
        return zip(*self.columns, strict=True)

    def slice(self, start: int, stop: int | None = None) -> ChangeBatch:
        """The rows from `start` to before `stop`, as Python slices count."""
        return ChangeBatch(tuple(column[start:stop] for column in self.columns))

    def rows_by_table(self) -> dict[TableName, int]:
        """How many rows are of each table."""
        counts = Counter(zip(*map(self.column, ("keyspace", "table", "table_id")), strict=True))
        return {TableName(f"{keyspace}.{table}", id): rows for (keyspace, table, id), rows in counts.items()}

    def json_lines(self) -> bytes:
        """One JSON object a row, each ended by a newline: nested objects, compact, UTF-8, all columns in order."""
        texts = [column.render(values) for column, values in zip(_COLUMNS, self.columns, strict=True)]
        return "".join(map(_LINE.__mod__, zip(*texts, strict=True))).encode()

    def to_arrow(self) -> pyarrow.RecordBatch:
        """The same rows as an Arrow record batch of `arrow_schema()`; JSON columns are strings."""
        import pyarrow

        from tailer.rows.arrow import array

        schema = arrow_schema()
        arrays = [array(values, field.type) for values, field in zip(self.columns, schema, strict=True)]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


@cache
def arrow_schema() -> pyarrow.Schema:
    """The Arrow schema of change rows."""
    import pyarrow

    types = {
        "string": pyarrow.string(), "bool": pyarrow.bool_(), "int32": pyarrow.int32(), "int64": pyarrow.int64()
    }  # fmt: skip
    return pyarrow.schema([(column.name, types[column.arrow]) for column in _COLUMNS])
