"""Tables declared by a CQL file, whose values come as JSON: what a program without types of its own writes.

The JSON is the one that change rows print (`SELECT JSON`), read with `tailer.types.read_json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from uuid import UUID

from tailer.errors import UsageError
from tailer.schema.cql_file import read_cql
from tailer.schema.follow import SchemaState
from tailer.schema.model import TableDefinition
from tailer.types.encode import encoder, key_encoder
from writer_hooks.cell_arrays import Encoders
from writer_hooks.declared_table import Table
from writer_hooks.table_model import Column, id_of

JSON: Final = Encoders(encoder, key_encoder)
"""Values as `read_json` has them."""


def read_tables(path: Path) -> dict[str, Table]:
    """The tables of a CQL file by name, for values as JSON. An id that the file does not say is made of the name.

    UsageError for a file that does not parse, and for a table that no native log can have.
    """
    state = SchemaState()
    state.apply(read_cql(path))
    for name in sorted(state.unbound):
        keyspace, _, table = name.partition(".")
        state.bind(keyspace, table, id_of(name).hex)
    tables = {each.name: _table(each) for each in state.definitions.values() if not (each.dropped or each.view)}
    if not tables:
        raise UsageError("no table in the CQL file", file=str(path), remedy="It needs CREATE TABLE, with cdc = true.")
    return tables


def _table(definition: TableDefinition) -> Table:
    keys = (*definition.partition_key, *definition.clustering)
    live = [each for each in definition.columns if not each.dropped and each.kind in ("static", "regular")]
    columns = [Column(each.name, each.type, each.kind, each.desc) for each in (*keys, *live)]
    types = {name: {field.name: field.type for field in fields} for name, fields in definition.types.items()}
    return Table(definition.name, columns, cdc=definition.cdc, types=types, id=UUID(definition.id), encoders=JSON)
