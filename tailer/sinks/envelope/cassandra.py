"""The format `debezium-cassandra`: messages as Debezium's connector for Cassandra writes them, without their schema.

    {"ts_ms": …, "op": "i", "source": {…}, "after": {"id": {"value": 1, "deletion_ts": null, "set": true}, "v": null}}

Each column of the table is in `after`: null where it was not touched, else what was written. `_range_start` and
`_range_end` are the bounds of a range delete. What the connector leaves out or cannot tell is here too: static rows,
user-defined types that are not frozen, and in `source` what was done by element (`deltas`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from tailer.errors import DefinitionError, SinkError
from tailer.position import Position
from tailer.schema.model import Column, TableDefinition
from tailer.sinks.envelope.changes import BYTES, Changes
from tailer.sinks.envelope.cql_names import clustering_class, cql_name, printed
from tailer.sinks.envelope.java_values import JAVA
from tailer.sinks.envelope.spelling import NULL, Spell, is_multi
from tailer.types import CqlType, Shape, parse_type

CONNECTOR: Final = "cassandra"

_OPS: Final = {
    "insert": "i", "update": "u", "delete_row": "d", "delete_partition": "d", "delete_range": "r", "truncate": "t",
}  # fmt: skip
_FIELDS: Final = (
    "op", "is_static", "range", "cells", "write_ts", "expires_at", "node", "segment", "offset", "event_id", "table_id",
)  # fmt: skip
_INT64_MAX: Final = 2**63 - 1

_fields_of: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class _Element(msgspec.Struct):
    """What was put into a non-frozen column."""

    put: msgspec.Raw = msgspec.Raw(NULL)


class _Own(msgspec.Struct):
    """What a cell has of its own."""

    expires_at: int | msgspec.UnsetType | None = msgspec.UNSET


class _Column(NamedTuple):
    name: str
    type: CqlType
    spell: Spell
    is_static: bool


class _Table(NamedTuple):
    """A table's columns; `data`: regular ones by name, then static ones."""

    partition: list[_Column]
    clustering: list[_Column]
    data: list[_Column]
    bounds: list[tuple[str, CqlType, str]]


class _Row(NamedTuple):
    """One change row: JSON objects as bytes, and what _FIELDS names."""

    partition: bytes
    clustering: bytes
    assigned: bytes
    deltas: bytes | None
    keyspace: str
    table: str
    op: str
    is_static: bool
    range: str | None
    cells: str | None
    write_ts: int | None
    expires_at: int | None
    node: str
    segment: int
    offset: int
    event_id: str
    table_id: str


class Connector:
    """Makes keys and values. `version`, `name`: as `source` says them."""

    def __init__(self, version: str, name: str) -> None:
        self._about = {"version": version, "connector": CONNECTOR, "name": name}
        self._tables: dict[str, tuple[TableDefinition, _Table]] = {}

    def made(self, changes: Changes, at_ms: int) -> tuple[pa.Array, pa.Array]:
        """Keys and values of the rows. DefinitionError for a table that nothing defines, SinkError for a row that its
        definition does not fit."""
        keys: list[bytes | None] = []
        values: list[bytes] = []
        for row in _rows(changes):
            table = self._table(changes, row)
            try:
                keys.append(_key(row, table))
                values.append(msgspec.json.encode(self._value(row, table, at_ms)))
            except (ValueError, KeyError) as error:
                raise SinkError(
                    f"a row of {row.keyspace}.{row.table} does not fit the table's definition: {error}",
                    at=Position(row.segment, row.offset),
                    remedy="Use --format debezium or rows, which need no definition.",
                ) from error
        return pa.array(keys, BYTES), pa.array(values, BYTES)

    def _value(self, row: _Row, table: _Table, at_ms: int) -> dict[str, Any]:
        op = "u" if row.is_static else _OPS[row.op]
        after = None if row.op == "truncate" else _after(row, table)
        return {"ts_ms": at_ms, "op": op, "source": self._source(row), "after": after}

    def _source(self, row: _Row) -> dict[str, Any]:
        us = row.write_ts
        ns = None if us is None else us * 1000
        told = {
            **self._about, "ts_ms": None if us is None else us // 1000, "snapshot": "false", "db": "NULL",
            "sequence": None, "ts_us": us, "ts_ns": None if ns is None or abs(ns) > _INT64_MAX else ns,
            "cluster": self._about["name"], "file": f"CommitLog-{row.segment}.log", "pos": row.offset,
            "keyspace": row.keyspace, "table": row.table, "node": row.node, "segment": row.segment,
            "offset": row.offset, "event_id": row.event_id,
        }  # fmt: skip
        if row.is_static:
            told["static"] = True
        if row.deltas is not None:
            told["deltas"] = msgspec.Raw(row.deltas)
        return told

    def _table(self, changes: Changes, row: _Row) -> _Table:
        id = row.table_id.replace("-", "")
        definition = changes.tables(id)
        if definition is None:
            raise DefinitionError(
                f"nothing defines {row.keyspace}.{row.table}",
                at=Position(row.segment, row.offset),
                remedy="Give its definition: this format has every column of a table in each message.",
            )
        known = self._tables.get(id)
        if known is None or known[0] is not definition:
            known = self._tables[id] = definition, _table_of(definition)
        return known[1]


def _rows(changes: Changes) -> Iterator[_Row]:
    keyspace, table = changes.names()
    columns = [changes.partition, changes.clustering, changes.assigned, changes.deltas, keyspace, table]
    columns += [changes.column(name) for name in _FIELDS]
    for values in zip(*(column.to_pylist() for column in columns), strict=True):
        yield _Row(*values)


def _table_of(definition: TableDefinition) -> _Table:
    partition, clustering = (_columns(each, definition) for each in (definition.partition_key, definition.clustering))
    live = [column for column in definition.data_columns if not column.dropped]
    data = _columns(sorted(live, key=lambda column: (column.kind == "static", column.name)), definition)
    bounds = [
        (cql_name(column.name), known.type, clustering_class(known.type, column.desc))
        for column, known in zip(definition.clustering, clustering, strict=True)
    ]
    return _Table(partition, clustering, data, bounds)


def _columns(columns: Any, definition: TableDefinition) -> list[_Column]:
    made = []
    column: Column
    for column in columns:
        type_ = parse_type(column.type, definition.types)
        made.append(_Column(column.name, type_, JAVA.of(type_), column.kind == "static"))
    return made


def _key(row: _Row, table: _Table) -> bytes | None:
    """Every key column; null for those of the clustering that the change does not name."""
    if not row.partition:
        return None
    values = [*_key_values(row.partition, table.partition), *_key_values(row.clustering, table.clustering)]
    names = [column.name for column in (*table.partition, *table.clustering)]
    return msgspec.json.encode(dict(zip(names, values, strict=True)))


def _key_values(fields: bytes, columns: list[_Column]) -> list[Any]:
    """By place: key columns may have been renamed since."""
    found = list(_fields_of(b"{" + fields + b"}").values())
    found += [msgspec.Raw(NULL)] * (len(columns) - len(found))
    return [column.spell(value) for column, value in zip(columns, found, strict=True)]


def _after(row: _Row, table: _Table) -> dict[str, Any]:
    """A cell for each column, null for those that the change did not touch."""
    gone = row.op in ("delete_row", "delete_partition")
    after: dict[str, Any] = {}
    for column, value in zip(table.partition, _key_values(row.partition, table.partition), strict=True):
        after[column.name] = _cell(value)
    for column, value in zip(table.clustering, _key_values(row.clustering, table.clustering), strict=True):
        after[column.name] = _cell(value) if row.clustering else None
        if row.op == "delete_partition":
            after[column.name] = _cell(None, row.write_ts)
    if gone:
        after |= {
            column.name: _cell(None, row.write_ts) if column.is_static or not row.is_static else None
            for column in table.data
        }
    else:
        after |= _written(row, table)
    bounds = _decoded(row.range)
    for side in ("start", "end"):
        after[f"_range_{side}"] = _bound(bounds, side, table) if row.op == "delete_range" else None
    return after


def _written(row: _Row, table: _Table) -> dict[str, Any]:
    """The cells of columns that are not of the key. One that was dropped since is none of the table's any more, and
    what was written into it is void."""
    assigned, deltas = _fields_of(b"{" + row.assigned + b"}"), _decoded(row.deltas)
    own = _decoded(row.cells)
    cells: dict[str, Any] = {}
    for column in table.data:
        value = deltas.get(column.name) if is_multi(column.type) else assigned.get(column.name)
        if value is None or column.type.shape is Shape.COUNTER:
            cells[column.name] = None
        elif is_multi(column.type):
            cells[column.name] = _cell(_put(value, column))
        else:
            spelled = column.spell(value)
            cells[column.name] = _cell(spelled, _expiry(row, own.get(column.name)) if bytes(value) != NULL else None)
    return cells


def _put(value: msgspec.Raw, column: _Column) -> Any:
    """The elements that were put, as if they were all: the form has no word for a change by element."""
    shape = column.type.shape
    put = msgspec.Raw(NULL) if bytes(value) == NULL else msgspec.json.decode(value, type=_Element).put
    if bytes(put) == NULL:
        return None if shape is Shape.UDT else column.spell(msgspec.Raw(b"{}" if shape is Shape.MAP else b"[]"))
    if shape is Shape.LIST:
        pairs = msgspec.json.decode(put, type=list[tuple[str, msgspec.Raw]])
        put = msgspec.Raw(b"[" + b",".join(bytes(element) for _, element in pairs) + b"]")
    return column.spell(put)


def _cell(value: Any, deletion_ts: int | None = None) -> dict[str, Any]:
    return {"value": value, "deletion_ts": deletion_ts, "set": True}


def _expiry(row: _Row, own: msgspec.Raw | None) -> int | None:
    """When a cell expires, in microseconds."""
    seconds = row.expires_at
    if own is not None:
        told = msgspec.json.decode(own, type=_Own).expires_at
        seconds = seconds if told is msgspec.UNSET else told
    return None if seconds is None else seconds * 1_000_000


def _bound(bounds: Mapping[str, msgspec.Raw], side: str, table: _Table) -> dict[str, Any]:
    inclusive = msgspec.json.decode(bounds[f"{side}_inclusive"], type=bool)
    values = msgspec.json.decode(bounds[side], type=dict[str, msgspec.Raw] | None) or {}
    return {
        "method": f"{'INCL' if inclusive else 'EXCL'}_{side.upper()}_BOUND",
        "values": [
            {"name": name, "value": printed(value, type_), "type": java}
            for (name, type_, java), value in zip(table.bounds, values.values(), strict=False)
        ],
    }


def _decoded(text: str | bytes | None) -> dict[str, msgspec.Raw]:
    return {} if text is None else _fields_of(text)
