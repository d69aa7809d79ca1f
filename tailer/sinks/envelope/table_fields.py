"""The columns of a table by its definition, each with what spells its values; for formats that have a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from tailer.errors import DefinitionError
from tailer.position import Position
from tailer.schema.model import Column, TableDefinition
from tailer.sinks.envelope.changes import Changes
from tailer.sinks.envelope.spelling import NULL, Spell, Spelling
from tailer.typed_decode import json_decoder
from tailer.types import CqlType, parse_type

fields_in: Final = json_decoder(dict[str, msgspec.Raw]).decode


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
        """The fields of other columns, spelled. What was written into one that was dropped since is void."""
        found = fields_in(b"{" + assigned + b"}")
        return {column.name: column.spell(found[column.name]) for column in self.data if column.name in found}


class TableFieldsBook:
    """The tables of some rows, each made ready once for as long as its definition stays the same."""

    def __init__(self, spelling: Spelling) -> None:
        self._spelling = spelling
        self._known: dict[str, TableFields] = {}

    def of(self, changes: Changes) -> Mapping[str, TableFields]:
        """Those of the rows, by table id as rows have it. DefinitionError where nothing defines one."""
        keyspace, table = changes.names()
        ids = changes.column("table_id")
        found: dict[str, TableFields] = {}
        for id in ids.unique().to_pylist():
            definition = changes.tables(id.replace("-", ""))
            if definition is None:
                row = ids.index(id).as_py()
                raise DefinitionError(
                    f"nothing defines {keyspace[row]}.{table[row]}",
                    at=Position(changes.column("segment")[row].as_py(), changes.column("offset")[row].as_py()),
                    remedy="Give its definition: in this format each message goes by it.",
                )
            known = self._known.get(id)
            if known is None or known.definition is not definition:
                known = self._known[id] = self._fields(definition)
            found[id] = known
        return found

    def _fields(self, definition: TableDefinition) -> TableFields:
        key = [*definition.partition_key, *definition.clustering]
        live = [column for column in definition.data_columns if not column.dropped]
        data = sorted(live, key=lambda column: (column.kind == "static", column.name))
        columns = [tuple(self._column(column, definition) for column in each) for each in (key, data)]
        return TableFields(definition, columns[0], len(definition.partition_key), columns[1])

    def _column(self, column: Column, definition: TableDefinition) -> FieldColumn:
        type_ = parse_type(column.type, definition.types)
        return FieldColumn(column.name, type_, self._spelling.of(type_), column.kind == "static")
