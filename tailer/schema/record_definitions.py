"""Definitions of a native log: the record of one, and the definition that readers use. Opens nothing.

A change names its table by id and fingerprint together, wherever it stands: that pair, as 48 hex digits, is the key of
a native definition, where one of Cassandra has its id alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tailer.errors import DefinitionError
from tailer.position import Position
from tailer.scan.record.record import TABLE_KEY_BYTES, ColumnItem, Definition, TypeItem, fingerprint_of
from tailer.schema.model import Column, ColumnKind, TableDefinition, TypeField
from tailer.types import CqlType, Shape, parse_type

KINDS: Final[tuple[ColumnKind, ...]] = ("partition_key", "clustering", "static", "regular")
"""The word of each number that a record has for a column's kind."""

KEY_DIGITS: Final = 2 * TABLE_KEY_BYTES


_REMEDY: Final = "Mend the declaration of the table in the program that writes the log."


def definition_key(table_id: bytes, fingerprint: bytes) -> str:
    """The key of a native definition: 48 hex digits."""
    return (table_id + fingerprint).hex()


def is_native(key: str) -> bool:
    """Whether a definition's key is one of a native log; a table id of Cassandra's is shorter."""
    return len(key) == KEY_DIGITS


def record_of(definition: TableDefinition) -> Definition:
    """The record of a definition, whose columns stand in the order partition key, clustering, static, regular."""
    table_id = bytes.fromhex(definition.id)
    columns = tuple(
        ColumnItem(column.name, KINDS.index(column.kind), column.type, column.desc) for column in definition.columns
    )
    types = tuple(
        TypeItem(name, tuple((field.name, field.type) for field in fields)) for name, fields in definition.types.items()
    )
    what = table_id, definition.keyspace, definition.table, definition.cdc, columns, types
    return Definition(fingerprint_of(*what), *what)


def definition_of(record: Definition, at: Position | None = None) -> TableDefinition:
    """The definition that a record says. DefinitionError for one that cannot be a table's.

    The fingerprint is not computed again: it covers elements that a newer writer may have added, too.
    """
    made = TableDefinition(
        id=record.table_id.hex(),
        keyspace=record.keyspace,
        table=record.table,
        columns=tuple(_columns(record)),
        cdc=record.cdc,
        types={
            item.name: tuple(TypeField(name, type_) for name, type_ in item.fields)
            for item in sorted(record.types, key=lambda item: item.name)
        },
    )
    check_definition(made, at)
    return made


def without_columns(record: Definition) -> TableDefinition:
    """Which table a record is of, where its columns cannot be used."""
    return TableDefinition(record.table_id.hex(), record.keyspace, record.table, (), cdc=record.cdc)


def with_removed(
    newest: Mapping[str, tuple[TypeField, ...]], earlier: Mapping[str, tuple[TypeField, ...]]
) -> dict[str, tuple[TypeField, ...]]:
    """User-defined types of a native log with what they had before: fields that were removed stand behind the others.

    Each change names the very definition by which it was written, so that a field is its name, and one that was renamed
    is another one.
    """
    made = {**earlier, **newest}
    for name, fields in newest.items():
        known = {field.name for field in fields}
        made[name] = (*fields, *(field for field in earlier.get(name, ()) if field.name not in known))
    return made


def with_earlier(newest: TableDefinition, earlier: Iterable[TableDefinition]) -> TableDefinition:
    """A native table's newest definition with the columns that were removed from it, as dropped ones, and their types.

    `earlier`: what it was before, oldest first.
    """
    for definition in reversed(list(earlier)):
        known = {column.name for column in newest.columns}
        gone = [
            msgspec.structs.replace(column, dropped=True)
            for column in definition.data_columns
            if column.name not in known
        ]
        types = with_removed(newest.types, definition.types)
        newest = msgspec.structs.replace(newest, columns=(*newest.columns, *gone), types=types)
    return newest


def check_definition(definition: TableDefinition, at: Position | None = None) -> None:
    """DefinitionError for what no native log can hold: no key, columns named twice or in no order, counters."""
    names = [column.name for column in definition.columns]
    kinds = [KINDS.index(column.kind) for column in definition.columns]
    if len(set(names)) != len(names) or not all(names):
        raise _refused(definition, at, "names of columns, each once", ", ".join(names))
    if kinds != sorted(kinds) or 0 not in kinds:
        raise _refused(definition, at, "columns in the order key, clustering, static, regular", kinds)
    for column in definition.columns:
        type_ = _type_of(column, definition, at)
        if type_.shape is Shape.COUNTER:
            raise _refused(definition, at, "columns that hold values", f"the counter {column.name}")
        if type_.complex and column.kind in ("partition_key", "clustering"):
            raise _refused(definition, at, "frozen types in the key", f"{column.name} {column.type}")


def _type_of(column: Column, definition: TableDefinition, at: Position | None) -> CqlType:
    try:
        return parse_type(column.type, definition.types)
    except DefinitionError as error:
        raise DefinitionError(
            f"the definition of {definition.name}, column {column.name}: {error.what}",
            at=at,
            expected=error.expected,
            found=error.found,
            remedy=_REMEDY,
        ) from None


def _columns(record: Definition) -> list[Column]:
    counts = [0, 0, 0, 0]
    columns = []
    for item in record.columns:
        position = counts[item.kind] if item.kind < 2 else -1
        counts[item.kind] += 1
        columns.append(Column(item.name, KINDS[item.kind], item.type, position, item.desc))
    return columns


def _refused(of: Definition | TableDefinition, at: Position | None, expected: str, found: object) -> DefinitionError:
    return DefinitionError(
        f"the definition of {of.keyspace}.{of.table} is none that a native log can have",
        at=at,
        expected=expected,
        found=found,
        remedy=_REMEDY,
    )
