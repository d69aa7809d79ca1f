"""A table of `generated.py` as a definition, and mutations of it as what rows are made of."""

from __future__ import annotations

from collections.abc import Sequence

from tailer.rows.place import Place
from tailer.rows.prepared import Prepared, prepare
from tailer.rows.table_masks import NO_MASKING, Masking
from tailer.scan.index import Index, Status
from tailer.scan.mutation.scan import scan
from tailer.schema.model import Column, TableDefinition, TypeField
from tests.helpers.logs.model import Table, Update
from tests.helpers.logs.mutation import encode_mutation
from tests.unit.rows.typed.generated import TYPES


def definition_of(table: Table) -> TableDefinition:
    columns = tuple(Column(c.name, c.kind, c.type, c.position) for c in table.columns)
    types = {name: tuple(TypeField(*field) for field in fields) for name, fields in TYPES}
    return TableDefinition(table.id.hex, table.keyspace, table.name, columns, cdc=True, types=types)


Scanned = tuple[Index, bytes, Prepared, Place]


def scanned(
    definition: TableDefinition, mutations: Sequence[tuple[Update, ...]], masking: Masking = NO_MASKING
) -> Scanned:
    """What rows are made of: the mutations' index, their bytes, the table, and where they stand."""
    data, starts, sizes = b"", [], []
    for mutation in mutations:
        payload = encode_mutation(mutation)
        starts.append(len(data) + 8)
        sizes.append(len(payload))
        data += bytes(8) + payload + bytes(4)
    prepared = prepare({definition.id: definition}, [definition.id], masking=masking)
    index = scan(data, starts, sizes, prepared.scan_tables)
    assert index.stopped.status == Status.OK, index.stopped
    return index, data, prepared, Place("local", 1_700_000_000_001, [start - 8 for start in starts])
