"""The table of format page 11 and its kin, prepared; and mutations all the way to printed rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from tailer.rows.generic.build import Built
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared, prepare
from tailer.scan.index import Status
from tailer.scan.mutation.scan import scan
from tailer.schema.model import Column, TableDefinition, TypeField
from tests.unit.rows.twins import build_both
from tests.unit.scan.mutations import TABLE

SEGMENT = 1700000000001
OFFSET = 28
"""Where the one section's first entry starts, in a plain segment."""

KEYS = (Column("pk", "partition_key", "int", 0), Column("ck", "clustering", "text", 0))
EXAMPLE = TableDefinition(
    TABLE.hex(),
    "ks",
    "t",
    (
        *KEYS,
        Column("v", "regular", "int"),
        Column("m", "regular", "map<text, int>"),
        Column("s", "static", "text"),
    ),
    cdc=True,
)


def table(*columns: Column, types: Mapping[str, tuple[TypeField, ...]] | None = None) -> TableDefinition:
    """A table with the id and the keys of the example."""
    return TableDefinition(TABLE.hex(), "ks", "t", (*KEYS, *columns), cdc=True, types=types or {})


def prepared(*definitions: TableDefinition, wanted: Collection[str] | None = None, **options: Any) -> Prepared:
    known = {definition.id: definition for definition in definitions}
    return prepare(known, known.keys() if wanted is None else wanted, **options)


def built(*payloads: bytes, tables: Prepared, node: str = "local") -> Built:
    """The change rows of entries that lie one behind the other from OFFSET on."""
    data, starts = b"", []
    for payload in payloads:
        data += b"\xcc" * 8
        starts.append(len(data))
        data += payload + b"\xcc" * 4
    index = scan(data, starts, [len(payload) for payload in payloads], tables.scan_tables)
    assert index.stopped.status == Status.OK, index.stopped
    return build_both(index, data, tables, Place(node, SEGMENT, [OFFSET + start - 8 for start in starts]))


def printed(*payloads: bytes, definition: TableDefinition = EXAMPLE) -> list[str]:
    """The JSON lines of the rows; no entry may fail."""
    made = built(*payloads, tables=prepared(definition))
    assert made.faults == []
    return made.batch.json_lines().decode().splitlines()


def told(line: str, *names: str) -> str:
    """Only those columns of a row, as text."""
    row = json.loads(line)
    return ", ".join(f"{name}={json.dumps(row[name], separators=(',', ':'), ensure_ascii=False)}" for name in names)
