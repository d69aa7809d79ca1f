"""What a test's log says: tables and mutations as values, with every field that the format has. Encodes nothing.

Values of keys, clusterings and cells are bytes (`values.encode` makes them); timestamps are µs, times and TTLs seconds.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

ColumnKind = Literal["partition_key", "clustering", "static", "regular"]

_FIXED = {
    "boolean": 1,
    "int": 4,
    "float": 4,
    "bigint": 8,
    "double": 8,
    "timestamp": 8,
    "uuid": 16,
    "timeuuid": 16,
    "empty": 0,
}
"""Format page 5.8: types whose values have no length prefix."""

_NATIVE = {*_FIXED, "smallint", "tinyint", "date", "time", "counter", "ascii", "text", "varchar", "blob", "varint"}
_NATIVE |= {"decimal", "inet", "duration"}
_VECTOR = re.compile(r"vector<(.+), ?(\d+)>")


def fixed_length(cql_type: str) -> int | None:
    """Bytes of a value that is written without its length, None where the length goes before it."""
    vector = _VECTOR.fullmatch(cql_type)
    if vector:
        element = fixed_length(vector[1])
        return None if element is None else element * int(vector[2])
    return _FIXED.get(cql_type)


@dataclass(frozen=True)
class Column:
    """A column as `system_schema.columns` describes it; `type` is CQL text."""

    name: str
    kind: ColumnKind
    type: str
    position: int = -1
    desc: bool = False

    @property
    def name_bytes(self) -> bytes:
        return self.name.encode()

    @property
    def fixed(self) -> int | None:
        return fixed_length(self.type)

    @property
    def complex(self) -> bool:
        """Non-frozen list, set, map or user-defined type: anything that is neither native nor frozen."""
        head = self.type.partition("<")[0]
        return self.type not in _NATIVE and head not in ("frozen", "tuple", "vector") and not self.type.startswith("'")


@dataclass(frozen=True)
class Table:
    """A table; `columns` in any order."""

    id: UUID
    keyspace: str
    name: str
    columns: tuple[Column, ...]
    cdc: bool = True
    flags: tuple[str, ...] = ("compound",)

    def of_kind(self, kind: ColumnKind) -> tuple[Column, ...]:
        """Key and clustering columns by position, the others as they were given."""
        return tuple(sorted((c for c in self.columns if c.kind == kind), key=lambda column: column.position))

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True)
class Deletion:
    """When something was deleted: timestamp and local deletion time."""

    ts: int
    ldt: int


NO_DELETION = Deletion(-(2**63), 2**31 - 1)
"""Stands for "none" in the complex columns of a row where another one has a deletion (format page 5.3)."""


@dataclass(frozen=True)
class Liveness:
    """A row's marker: what an INSERT sets. `ttl` and `expires` both or neither."""

    ts: int
    ttl: int | None = None
    expires: int | None = None


@dataclass(frozen=True)
class Cell:
    """One cell. A tombstone has `deleted` = its local deletion time and no value; an expiring one `ttl` and `expires`.

    `path` is there for cells of complex columns. `like_row` = 1 uses the row's timestamp, 2 its ttl and expiry too.
    """

    value: bytes = b""
    ts: int = 0
    ttl: int | None = None
    expires: int | None = None
    deleted: int | None = None
    path: bytes | None = None
    like_row: int = 0


@dataclass(frozen=True)
class Complex:
    """A complex column's part of a row: a deletion of all of it, if any, and cells."""

    cells: tuple[Cell, ...] = ()
    deletion: Deletion | None = None


@dataclass(frozen=True)
class Row:
    """A row, or the static row (then `clustering` is empty). `cells` by column name; None in a clustering = null."""

    clustering: tuple[bytes | None, ...] = ()
    liveness: Liveness | None = None
    deletion: Deletion | None = None
    cells: tuple[tuple[str, Cell | Complex], ...] = ()


class Bound(enum.IntEnum):
    """Kinds of range tombstone markers (format page 5.5)."""

    EXCL_END = 0
    INCL_START = 1
    EXCL_END_INCL_START = 2
    INCL_END_EXCL_START = 5
    INCL_END = 6
    EXCL_START = 7

    @property
    def boundary(self) -> bool:
        return self in (Bound.EXCL_END_INCL_START, Bound.INCL_END_EXCL_START)


@dataclass(frozen=True)
class Marker:
    """A range tombstone marker; a boundary has two deletions: of the range that ends, and of the one that starts."""

    kind: Bound
    clustering: tuple[bytes | None, ...]
    deletions: tuple[Deletion, ...]


@dataclass(frozen=True)
class Update:
    """What one mutation does to one partition of one table.

    `regular` and `static_columns`: names in the column lists; None = those that occur.
    """

    table: Table
    key: bytes
    unfiltereds: tuple[Row | Marker, ...] = ()
    static: Row | None = None
    deletion: Deletion | None = None
    regular: tuple[str, ...] | None = None
    static_columns: tuple[str, ...] | None = None


Mutation = tuple[Update, ...]
