"""What a table's declaration says, as readers have it: its columns in order, its definition and the record of that.

Knows no value.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tailer.errors import CdcError, UsageError
from tailer.scan.record.record import Definition, decode_record, encode_record
from tailer.schema.model import Column as ColumnDefinition
from tailer.schema.model import ColumnKind, TableDefinition, TypeField
from tailer.schema.record_definitions import KINDS, check_definition, record_of


class Column(NamedTuple):
    """A column: `type` is CQL text; `desc` is for clustering columns."""

    name: str
    type: str
    kind: ColumnKind = "regular"
    desc: bool = False


def id_of(name: str) -> uuid.UUID:
    """The id of a table that was given none."""
    return uuid.uuid5(uuid.NAMESPACE_URL, name)


def model_of(
    name: str, columns: Sequence[Column], cdc: bool, types: Mapping[str, Mapping[str, str]], id: uuid.UUID | None
) -> TableDefinition:
    """The table of that name, `keyspace.table`. Nothing of it is checked but the name."""
    keyspace, dot, table = name.partition(".")
    if not (dot and keyspace and table) or "." in table:
        raise UsageError("the name of a table", expected="keyspace.table", found=name)
    given = {each: tuple(TypeField(*field) for field in fields.items()) for each, fields in types.items()}
    made_id = id_of(name) if id is None else id
    return TableDefinition(made_id.hex, keyspace, table, _ordered(columns), cdc, types=given)


def checked_record(model: TableDefinition) -> Definition:
    """The definition's record. UsageError for a table that no log can have."""
    try:
        check_definition(model)
        record = record_of(model)
        # What stands in it (a flag that is no bool, a name that is no text) is read as everybody will read it.
        decode_record(encode_record(record))
    except CdcError as error:
        raise UsageError(error.what, expected=error.expected, found=error.found, remedy=error.remedy) from None
    return record


def _ordered(columns: Sequence[Column]) -> tuple[ColumnDefinition, ...]:
    made = []
    for kind in KINDS:
        of_kind = [each for each in columns if each.kind == kind]
        keys = kind in KINDS[:2]
        made += [
            ColumnDefinition(each.name, kind, each.type, number if keys else -1, each.desc)
            for number, each in enumerate(of_kind)
        ]
    return tuple(made)
