"""The columns of a table by its definition, each with what spells its values; for formats that have a schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np

from tailer.errors import DefinitionError
from tailer.position import Position
from tailer.schema.column_type import column_type
from tailer.schema.model import Column, TableDefinition
from tailer.sinks.envelope.changes import Changes, fields_in
from tailer.sinks.envelope.spelling import NULL, Spell, Spelling
from tailer.types import CqlType


class FieldColumn(NamedTuple):
    """A column with its type, and what spells its values."""

    name: str
    type: CqlType
    spell: Spell
    is_static: bool


@dataclass(frozen=True, slots=True, eq=False)
class TableFields:
    """`key`: partition key, then clustering columns. `data`: regular columns by name, then static ones; none that was
    dropped. `partition`: how many of `key` are of the partition key."""

    definition: TableDefinition
    key: tuple[FieldColumn, ...]
    partition: int
    data: tuple[FieldColumn, ...]

    def key_values(self, partition: bytes, clustering: bytes) -> dict[str, Any]:
        """The fields of a key, spelled. By place: key columns may have been renamed since; null for those that the
        change does not name."""
        found = [*fields_in(b"{" + partition + b"}").values()]
        found += [msgspec.Raw(NULL)] * (self.partition - len(found))
        found += fields_in(b"{" + clustering + b"}").values()
        found += [msgspec.Raw(NULL)] * (len(self.key) - len(found))
        return {column.name: column.spell(value) for column, value in zip(self.key, found, strict=True)}

    def values(self, assigned: bytes) -> dict[str, Any]:
        """The fields of other columns, spelled. Those that the definition has not, or has as dropped, are left out."""
        found = fields_in(b"{" + assigned + b"}")
        return {column.name: column.spell(found[column.name]) for column in self.data if column.name in found}

    def names_set(self, assigned: bytes) -> list[str]:
        """The names of these, in the same order."""
        found = fields_in(b"{" + assigned + b"}")
        return [column.name for column in self.data if column.name in found]


class FieldsOfRows(NamedTuple):
    """`tables`: of each definition that the rows have. `number`: in `tables`, of each row's."""

    tables: list[TableFields]
    number: np.ndarray[tuple[int], np.dtype[np.int64]]

    def by_row(self) -> Iterator[TableFields]:
        """Of each row."""
        return (self.tables[number] for number in self.number.tolist())


class TableFieldsBook:
    """The tables of some rows, each definition made ready once."""

    def __init__(self, spelling: Spelling) -> None:
        self._spelling = spelling
        self._known: dict[str, list[TableFields]] = {}

    def of(self, changes: Changes) -> FieldsOfRows:
        """Those of the rows. DefinitionError where nothing defines one."""
        found, number = changes.definitions
        made: list[TableFields] = []
        for count, definition in enumerate(found):
            if definition is None:
                keyspace, table = changes.names()
                row = int(np.flatnonzero(number == count)[0])
                raise DefinitionError(
                    f"nothing defines {keyspace[row]}.{table[row]}",
                    at=Position(changes.column("segment")[row].as_py(), changes.column("offset")[row].as_py()),
                    remedy="Give its definition: in this format each message goes by it.",
                )
            made.append(self._ready(definition))
        return FieldsOfRows(made, number)

    def _ready(self, definition: TableDefinition) -> TableFields:
        known = self._known.setdefault(definition.id, [])
        held = next((each for each in known if each.definition is definition or each.definition == definition), None)
        if held is None:
            held = self._fields(definition)
            known.append(held)
        return held

    def _fields(self, definition: TableDefinition) -> TableFields:
        key = [*definition.partition_key, *definition.clustering]
        live = [column for column in definition.data_columns if not column.dropped]
        data = sorted(live, key=lambda column: (column.kind == "static", column.name))
        columns = [tuple(self._column(column, definition) for column in each) for each in (key, data)]
        return TableFields(definition, columns[0], len(definition.partition_key), columns[1])

    def _column(self, column: Column, definition: TableDefinition) -> FieldColumn:
        type_ = column_type(column, definition.types)
        return FieldColumn(column.name, type_, self._spelling.of(type_), column.kind == "static")
