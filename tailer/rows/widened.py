"""Change rows with columns that no log has: where a node stands, whether it is the first replica. Behind all others.

Both forms, and whichever twin made the rows: what is added goes by their keyspace and token alone. Knows no log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tailer.rows.batch import COLUMNS, Batch, ChangeBatch, RowKind, TableName
from tailer.rows.typed.batch import TypedBatch
from tailer.schema.extras import ORIGIN, PRIMARY, Extras, Origin
from tailer.schema.ring import Primaries
from tailer.schema.typed import META
from tailer.types import quote

if TYPE_CHECKING:
    import pyarrow

Rows: TypeAlias = Batch | TypedBatch
"""Rows as they are made, in either form."""

Flags = list[bool | None]
"""By row whether it is of a first replica; None where that cannot be told."""

_WORDS: Final = {True: "true", False: "false", None: "null"}


@dataclass(frozen=True, slots=True)
class WidenedBatch:
    """Rows of either form, and what was asked for besides. `primary`: of each row, empty where nobody asked for it."""

    rows_alone: Rows
    extras: Extras
    primary: Sequence[bool | None] = ()

    def __len__(self) -> int:
        return len(self.rows_alone)

    def kinds(self) -> Mapping[RowKind, int]:
        """How many rows there are of each keyspace, table and operation."""
        return self.rows_alone.kinds()

    def column(self, name: str) -> Any:
        """The values of one column, by its name in the generic form."""
        return self._added()[name] if name in self.extras.columns else self.rows_alone.column(name)

    def slice(self, start: int, stop: int | None = None) -> WidenedBatch:
        """The rows from `start` to before `stop`, as Python slices count."""
        return replace(self, rows_alone=self.rows_alone.slice(start, stop), primary=self.primary[start:stop])

    def rows_by_table(self) -> Mapping[TableName, int]:
        """How many rows are of each table."""
        return self.rows_alone.rows_by_table()

    def json_lines(self) -> bytes:
        """As of the rows alone, with the columns behind; a line feed never stands inside a row's text."""
        lines, prefix, origin = self.rows_alone.json_lines(), self._prefix, self.extras.origin
        known = "" if origin is None else _fields(origin, prefix)
        if not self.extras.primary:
            return lines.replace(b"}\n", f"{known}}}\n".encode())
        ends = {flag: f"{known},{quote(prefix + PRIMARY)}:{word}}}\n".encode() for flag, word in _WORDS.items()}
        return b"".join(
            line.removesuffix(b"}") + ends[flag] for line, flag in zip(lines.split(b"\n"), self.primary, strict=False)
        )

    def to_arrow(self) -> pyarrow.RecordBatch:
        """An Arrow record batch of `widened_schema()`."""
        import pyarrow

        alone = self.rows_alone.to_arrow()
        schema = widened_schema(alone.schema, self.extras.columns, self._prefix)
        fields = [schema.field(number) for number in range(alone.num_columns, len(schema))]
        added = zip(fields, self._added().values(), strict=True)
        arrays = [*alone.columns, *(pyarrow.array(values, field.type) for field, values in added)]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

    @property
    def _prefix(self) -> str:
        return _prefix(self.rows_alone)

    def _added(self) -> dict[str, list[Any]]:
        """The columns that are added, by name, in order."""
        origin, rows = self.extras.origin, len(self)
        added: dict[str, list[Any]] = {}
        if origin is not None:
            added = {name: [getattr(origin, name)] * rows for name in origin.__struct_fields__}
        return added | ({PRIMARY: list(self.primary)} if self.extras.primary else {})


def widened(rows: Rows | WidenedBatch, extras: Extras, ring: Primaries | None) -> Rows | WidenedBatch:
    """The rows as they were asked for: without those that another replica gives, and with the columns behind.

    What cannot be told (no token: `truncate` and `schema`; no ring; a keyspace of another strategy) stays.
    """
    assert not isinstance(rows, WidenedBatch), "rows are widened once"
    flags = _flags(rows, ring) if extras.by_ring else []
    if extras.replicas == "primary" and False in flags:
        wanted = [flag is not False for flag in flags]
        rows, flags = _chosen(rows, wanted), list(compress(flags, wanted))
    return WidenedBatch(rows, extras, flags if extras.primary else ()) if extras.columns else rows


def with_columns(alone: Rows, columns: Mapping[str, list[Any]]) -> Rows | WidenedBatch:
    """The rows with columns of these that were made before, by their names in the generic form; others are left out.

    Where a node stands is the same in all rows.
    """
    if not len(alone) or columns.keys().isdisjoint((*ORIGIN, PRIMARY)):
        return alone
    origin = Origin(*(columns[name][0] for name in ORIGIN)) if ORIGIN[0] in columns else None
    return WidenedBatch(alone, Extras(origin, PRIMARY in columns), columns.get(PRIMARY, ()))


def widened_schema(schema: pyarrow.Schema, columns: Sequence[str], prefix: str = "") -> pyarrow.Schema:
    """The Arrow schema of rows with these columns behind. `prefix`: of the typed form."""
    import pyarrow

    types = {PRIMARY: pyarrow.bool_()}
    for name in columns:
        schema = schema.append(pyarrow.field(prefix + name, types.get(name, pyarrow.string())))
    return schema


def _flags(rows: Rows, ring: Primaries | None) -> Flags:
    import numpy as np

    tokens, keyspaces = _tokens(rows)
    flags: Flags = [None] * len(tokens)
    for keyspace in set(keyspaces) if ring is not None else ():
        places = [at for at, name in enumerate(keyspaces) if name == keyspace and tokens[at] is not None]
        held = ring.holds(keyspace, np.array([tokens[at] for at in places], np.int64)) if ring is not None else None
        if held is not None:
            for at, flag in zip(places, held.tolist(), strict=True):
                flags[at] = flag
    return flags


def _tokens(rows: Rows) -> tuple[list[int | None], list[str]]:
    """Token and keyspace of each row."""
    if not isinstance(rows, TypedBatch):
        return rows.column("token"), rows.column("keyspace")
    tokens = rows.batch.column(len(rows.form.columns) + META.index("token")).to_pylist()
    return tokens, [rows.form.typed.table.partition(".")[0]] * len(tokens)


def _chosen(rows: Rows, wanted: Sequence[bool]) -> Rows:
    if not isinstance(rows, TypedBatch):
        return ChangeBatch(tuple(list(compress(rows.column(name), wanted)) for name in COLUMNS))
    import pyarrow

    return replace(rows, batch=rows.batch.filter(pyarrow.array(wanted, pyarrow.bool_())))


def _prefix(rows: Rows) -> str:
    """Of the names of columns that are not the table's own."""
    return rows.form.typed.prefix if isinstance(rows, TypedBatch) else ""


def _fields(origin: Any, prefix: str) -> str:
    """The inside of a JSON object, with a comma in front of each."""
    names = origin.__struct_fields__
    return "".join(f",{quote(prefix + name)}:{quote(getattr(origin, name))}" for name in names)
