"""Definitions of tables and types as values: what the decoder needs of a table, and nothing of where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

ColumnKind = Literal["partition_key", "clustering", "static", "regular"]
"""The words of `system_schema.columns.kind`."""


class Column(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column. `type` is CQL text as `system_schema` spells it; `position` counts within its kind, -1 if it has none.

    `dropped` columns are kept: entries written before the drop still carry them; cells at or before `dropped_time` (µs)
    are void for whoever rebuilds the table. A column dropped and added again is one live column with a `dropped_time`
    and, where the log or a server says it, the `added_time` (µs) at which it was added again. `dropped_at`: when the
    column was dropped (µs), where `dropped_time` is another time because DROP had one (USING TIMESTAMP).
    `raw` is the name's bytes as hex digits where they are not the UTF-8 of `name` (names given through Thrift).
    """

    name: str
    kind: ColumnKind
    type: str
    position: int = -1
    desc: bool = False
    dropped: bool = False
    dropped_time: int | None = None
    raw: str = ""
    added_time: int | None = None
    dropped_at: int | None = None

    @property
    def name_bytes(self) -> bytes:
        """The name as a mutation's column list spells it."""
        return bytes.fromhex(self.raw) if self.raw else self.name.encode()


class TypeField(msgspec.Struct, frozen=True):
    """A field of a user-defined type."""

    name: str
    type: str


class TableDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """One table as it was from some position on; complete in itself, so it can travel to an executor.

    `id` is the table id as 32 hex digits. `types` holds every user-defined type that a column needs, nested ones too.
    `cdc` is the table's flag; a view of a table that captures is told apart by `view`. `dropped_time`: of a dropped
    table the timestamp (µs) of the DROP in the log, None where the log does not show it.
    """

    id: str
    keyspace: str
    table: str
    columns: tuple[Column, ...]
    cdc: bool = False
    view: bool = False
    counter: bool = False
    dropped: bool = False
    types: Mapping[str, tuple[TypeField, ...]] = {}
    dropped_time: int | None = None

    @property
    def name(self) -> str:
        """`keyspace.table`, as users write it."""
        return f"{self.keyspace}.{self.table}"

    @property
    def partition_key(self) -> tuple[Column, ...]:
        return self._ordered("partition_key")

    @property
    def clustering(self) -> tuple[Column, ...]:
        return self._ordered("clustering")

    @property
    def data_columns(self) -> tuple[Column, ...]:
        """Static and regular columns, dropped ones too."""
        return tuple(column for column in self.columns if column.kind in ("static", "regular"))

    def _ordered(self, kind: str) -> tuple[Column, ...]:
        chosen = [column for column in self.columns if column.kind == kind and not column.dropped]
        return tuple(sorted(chosen, key=lambda column: column.position))
