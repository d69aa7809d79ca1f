"""The format `debezium-cassandra`: messages as Debezium's connector for Cassandra writes them, without their schema.

    {"ts_ms": …, "op": "i", "source": {…}, "after": {"id": {"value": 1, "deletion_ts": null, "set": true}, "v": null}}

Each column of the table is in `after`: null where it was not touched, else what was written. `_range_start` and
`_range_end` are the bounds of a range delete. What the connector leaves out or cannot tell is here too: static rows,
user-defined types that are not frozen, and in `source` what was done by element (`deltas`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import pyarrow as pa

from tailer.sinks.envelope.changes import BYTES, Changes, fields_in
from tailer.sinks.envelope.cql_names import clustering_class, printed
from tailer.sinks.envelope.java_values import JAVA
from tailer.sinks.envelope.row_values import RowValues, rows_of
from tailer.sinks.envelope.spelling import NULL, digits
from tailer.sinks.envelope.table_fields import FieldColumn, TableFields, TableFieldsBook
from tailer.typed_decode import decode_json
from tailer.types import Shape
from tailer.types.cql_name import cql_name

CONNECTOR: Final = "cassandra"

_OPS: Final = {
    "insert": "i", "update": "u", "snapshot": "i", "delete_row": "d", "delete_partition": "d", "delete_range": "r",
    "truncate": "t", "schema": "schema", "snapshot_range": "snapshot_range",
}  # fmt: skip
_INT64_MAX: Final = 2**63 - 1


class _Element(msgspec.Struct):
    """What was done to a non-frozen column."""

    put: msgspec.Raw = msgspec.Raw(NULL)
    removed: list[msgspec.Raw] = []


class _Own(msgspec.Struct):
    """What a cell has of its own."""

    expires_at: int | msgspec.UnsetType | None = msgspec.UNSET


class Connector:
    """Makes keys and values. `version`, `name`: as `source` says them."""

    def __init__(self, version: str, name: str) -> None:
        self._about = {"version": version, "connector": CONNECTOR, "name": name}
        self._tables = TableFieldsBook(JAVA)

    def made(self, changes: Changes, at_ms: int) -> tuple[pa.Array, pa.Array]:
        """Keys and values of the rows. DefinitionError for a table that nothing defines, SinkError for a row that its
        definition does not fit."""
        keys: list[bytes | None] = []
        values: list[bytes] = []
        tables = self._tables.of(changes)
        for row, table in zip(rows_of(changes), tables.by_row(), strict=True):
            try:
                key = table.key_values(row.partition, row.clustering) if row.partition else None
                keys.append(None if key is None else msgspec.json.encode(key))
                after = None if key is None else _after(row, table, key)
                source = self._source(row) | ({"set": table.names_set(row.assigned)} if row.puts else {})
                told = {"ts_ms": at_ms, "op": _op(row), "source": source, "after": after}
                values.append(msgspec.json.encode(told))
            except (ValueError, KeyError) as error:
                raise row.misfit(error) from error
        return pa.array(keys, BYTES), pa.array(values, BYTES)

    def _source(self, row: RowValues) -> dict[str, Any]:
        us = row.write_ts
        ns = None if us is None or abs(us * 1000) > _INT64_MAX else us * 1000
        told: dict[str, Any] = {
            **self._about, "ts_ms": row.write_ms, "snapshot": str(row.op == "snapshot").lower(), "db": "NULL",
            "sequence": None, "ts_us": us, "ts_ns": ns, "cluster": self._about["name"],
            "file": f"CommitLog-{row.segment}.log", "pos": row.offset,
            "keyspace": row.keyspace, "table": row.table, "node": row.node, "segment": row.segment,
            "offset": row.offset, "event_id": row.event_id,
        }  # fmt: skip
        # `cluster` is the connector's own word: the name that was given, where nobody asked for the server's.
        told |= row.extras
        if row.is_static:
            told["static"] = True
        if row.deltas is not None:
            told["deltas"] = msgspec.Raw(row.deltas)
        return told


def _op(row: RowValues) -> str:
    """A static row is never deleted as a row: its columns are."""
    return "u" if row.is_static else _OPS[row.op]


def _after(row: RowValues, table: TableFields, key: Mapping[str, Any]) -> dict[str, Any]:
    """A cell for each column, null for those that the change did not touch."""
    after: dict[str, Any] = {}
    for number, (name, value) in enumerate(key.items()):
        there = number < table.partition or row.clustering
        after[name] = _cell(value) if there else None
        if not there and row.op == "delete_partition":
            after[name] = _cell(None, row.write_ts)
    if row.op in ("delete_row", "delete_partition"):
        for column in table.data:
            after[column.name] = _cell(None, row.write_ts) if column.is_static or not row.is_static else None
    else:
        after |= _written(row, table)
    bounds = {} if row.range is None else fields_in(row.range)
    for side in ("start", "end"):
        after[f"_range_{side}"] = _bound(bounds, side, table) if row.op == "delete_range" else None
    return after


def _written(row: RowValues, table: TableFields) -> dict[str, Any]:
    """The cells of columns that are not of the key. One that was dropped since is none of the table's any more, and
    what was written into it is void."""
    assigned = fields_in(b"{" + row.assigned + b"}")
    deltas, own = (fields_in(each or "{}") for each in (row.deltas, row.cells))
    cells: dict[str, Any] = dict.fromkeys((column.name for column in table.data), None)
    for column in table.data:
        shape = column.type.shape
        at_once = shape in (Shape.SIMPLE, Shape.COUNTER)
        value = (assigned if at_once else deltas).get(column.name)
        if value is None:
            continue
        if not at_once:
            cells[column.name] = _cell(_put(value, column))
        else:
            expires = None if bytes(value) == NULL else _expiry(row, own.get(column.name))
            cells[column.name] = _cell(column.spell(value), expires)
    return cells


def _put(value: msgspec.Raw, column: FieldColumn) -> Any:
    """The elements that were put, as if they were all, and of a map the removed keys with null: the form has no word
    for a change by element."""
    shape = column.type.shape
    change = _Element() if bytes(value) == NULL else decode_json(value, _Element)
    if shape is Shape.MAP:
        put = fields_in(change.put) if bytes(change.put) != NULL else {}
        gone = dict.fromkeys(map(digits, change.removed), msgspec.Raw(NULL))
        return column.spell(msgspec.Raw(msgspec.json.encode({**put, **gone})))
    if bytes(change.put) == NULL:
        return None if shape is Shape.UDT else []
    if shape is Shape.LIST:
        pairs = decode_json(change.put, list[tuple[str, msgspec.Raw]])
        return column.spell(msgspec.Raw(msgspec.json.encode([element for _, element in pairs])))
    return column.spell(change.put)


def _cell(value: Any, deletion_ts: int | None = None) -> dict[str, Any]:
    return {"value": value, "deletion_ts": deletion_ts, "set": True}


def _expiry(row: RowValues, own: msgspec.Raw | None) -> int | None:
    """When a cell expires, in microseconds."""
    seconds = row.expires_at
    if own is not None:
        told = decode_json(own, _Own).expires_at
        seconds = seconds if told is msgspec.UNSET else told
    return None if seconds is None else seconds * 1_000_000


def _bound(bounds: Mapping[str, msgspec.Raw], side: str, table: TableFields) -> dict[str, Any]:
    inclusive = decode_json(bounds[f"{side}_inclusive"], bool)
    values = decode_json(bounds[side], dict[str, msgspec.Raw] | None) or {}
    told = [
        {
            "name": cql_name(column.name),
            "value": printed(value, column.type),
            "type": clustering_class(column.type, definition.desc),
        }
        for column, definition, value in zip(
            table.key[table.partition :], table.definition.clustering, values.values(), strict=False
        )
    ]
    return {"method": f"{'INCL' if inclusive else 'EXCL'}_{side.upper()}_BOUND", "values": told}
