"""The format `debezium-avro`: Debezium's envelope in Avro, its schema by the table's definition.

With a registry a message is its wire form (a zero byte, four or eight bytes of the schema's id, the record), for keys
and values. Without one a value is an Avro object container of one record, which any Avro reader opens by itself, and
keys are JSON. Needs fastavro; the extra is `avro`.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import fastavro
import pyarrow as pa

from tailer.schema.extras import PRIMARY
from tailer.sinks.envelope.avro_values import AVRO, AvroTypes, avro_name, avro_names
from tailer.sinks.envelope.changes import BYTES, Changes
from tailer.sinks.envelope.debezium import CONNECTOR, Parts
from tailer.sinks.envelope.images import NUMBERS
from tailer.sinks.envelope.row_values import RowValues, rows_of
from tailer.sinks.envelope.table_fields import TableFields, TableFieldsBook
from tailer.sinks.envelope.topics import TopicNames
from tailer.sinks.image_ids import IMAGE_ID

MAGIC: Final = b"\0"
_TEXTS: Final = ("cells", "deltas", "range", "txn", "attrs")


class Registry(Protocol):
    """Where schemas are kept."""

    def id_of(self, subject: str, schema: str) -> int:
        """The id of a schema under a subject, registered if it is not there."""
        ...


class _Schemas(NamedTuple):
    """Of a definition: parsed schemas, what stands before a record, and the columns' names in Avro."""

    fields: TableFields
    key: Any
    value: Any
    key_head: bytes
    value_head: bytes
    names: Mapping[str, str]


class DebeziumAvro:
    """Makes keys and values. `name`: as `source` says it; namespaces begin with it. `topics`: what subjects are named
    after (`TOPIC-key`, `TOPIC-value`). `id_bytes`: of a schema's id in a message, 4 or 8."""

    def __init__(
        self, version: str, name: str, topics: TopicNames, registry: Registry | None, id_bytes: int = 4
    ) -> None:
        self._about = {"version": version, "connector": CONNECTOR, "name": name}
        self._topics = topics
        self._registry = registry
        self._id_bytes = id_bytes
        self._tables = TableFieldsBook(AVRO)
        self._known: dict[tuple[TableFields, tuple[str, ...]], _Schemas] = {}

    def made(self, changes: Changes, at_ms: int) -> tuple[pa.Array, pa.Array]:
        """Keys and values of the rows. DefinitionError for a table that nothing defines, SinkError for a row that its
        definition does not fit or a schema that the registry refuses."""
        fields = self._tables.of(changes)
        tables = [self._schemas(each, changes.more) for each in fields.tables]
        ops = Parts(changes, "").op.cast(pa.string()).to_pylist()
        keys: list[bytes | None] = []
        values: list[bytes] = []
        for row, op, number in zip(rows_of(changes), ops, fields.number.tolist(), strict=True):
            table = tables[number]
            try:
                key = table.fields.key_values(row.partition, row.clustering) if row.partition else {}
                keys.append(self._key(_renamed(key, table), table) if key else None)
                told = {"op": op, "ts_ms": at_ms, "source": self._source(row, table), **_sides(row, key, table)}
                values.append(self._value(told, table))
            except (ValueError, KeyError, OverflowError) as error:
                raise row.misfit(error) from error
        json_keys = changes.key
        return json_keys if self._registry is None else pa.array(keys, BYTES), pa.array(values, BYTES)

    def _key(self, key: Mapping[str, Any], table: _Schemas) -> bytes | None:
        return None if self._registry is None else table.key_head + _record(key, table.key)

    def _value(self, told: Mapping[str, Any], table: _Schemas) -> bytes:
        if self._registry is not None:
            return table.value_head + _record(told, table.value)
        out = io.BytesIO()
        # The marker is random otherwise, and the same row would be other bytes each time.
        fastavro.writer(out, table.value, [told], sync_marker=table.value_head)
        return out.getvalue()

    def _source(self, row: RowValues, table: _Schemas) -> dict[str, Any]:
        """Every field of it; null for what the row has not. `set`: in `after` nothing tells null from not set."""
        names_set = [table.names[name] for name in table.fields.names_set(row.assigned)] if row.puts else None
        texts = {name: _text(getattr(row, name)) for name in _TEXTS}
        return {
            **self._about, **texts, "ts_ms": row.write_ms, "ts_us": row.write_ts, "keyspace": row.keyspace,
            "table": row.table, "node": row.node, "segment": row.segment, "offset": row.offset,
            "event_id": row.event_id, "partial": row.partial, "set": names_set, "static": row.is_static, "ttl": row.ttl,
            "expires_at": row.expires_at, **row.extras,
        }  # fmt: skip

    def _schemas(self, fields: TableFields, more: tuple[str, ...]) -> _Schemas:
        known = self._known.get((fields, more))
        if known is None:
            known = self._known[fields, more] = self._made(fields, more)
        return known

    def _made(self, fields: TableFields, more: tuple[str, ...]) -> _Schemas:
        definition = fields.definition
        parts = (self._about["name"], definition.keyspace, definition.table)
        namespace = ".".join(map(avro_name, parts))
        names = avro_names([column.name for column in (*fields.key, *fields.data)], definition.name)
        key, value = key_schema(fields, namespace, names), value_schema(fields, namespace, names, more)
        if self._registry is None:
            heads = b"", hashlib.md5(json.dumps(value).encode(), usedforsecurity=False).digest()
        else:
            topic = self._topics.of(definition.keyspace, definition.table)
            heads = self._head(f"{topic}-key", key), self._head(f"{topic}-value", value)
        return _Schemas(fields, fastavro.parse_schema(key), fastavro.parse_schema(value), *heads, names)

    def _head(self, subject: str, schema: Mapping[str, Any]) -> bytes:
        assert self._registry is not None
        return MAGIC + self._registry.id_of(subject, json.dumps(schema)).to_bytes(self._id_bytes, "big")


def key_schema(fields: TableFields, namespace: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Of a table's keys. Columns allow null: a change of a whole partition has no clustering ones."""
    types = AvroTypes(f"{namespace}.key")
    columns = [_column(names[column.name], types.nullable(column.type)) for column in fields.key]
    return {"type": "record", "name": "Key", "namespace": namespace, "fields": columns}


def value_schema(
    fields: TableFields, namespace: str, names: Mapping[str, str], more: Sequence[str] = ()
) -> dict[str, Any]:
    """Of a table's envelopes. `more`: of `source`."""
    types = AvroTypes(namespace)
    columns = [_column(names[each.name], types.nullable(each.type)) for each in (*fields.key, *fields.data)]
    row = {"type": "record", "name": "Value", "namespace": namespace, "fields": columns}
    described = [
        _column("before", ["null", row]),
        _column("after", ["null", f"{namespace}.Value"]),
        {"name": "source", "type": _source_schema(namespace, more)},
        {"name": "op", "type": "string"},
        _column("ts_ms", ["null", "long"]),
    ]
    return {"type": "record", "name": "Envelope", "namespace": namespace, "fields": described}


def _source_schema(namespace: str, more: Sequence[str]) -> dict[str, Any]:
    text, number = ["null", "string"], ["null", "long"]
    kinds = {PRIMARY: ["null", "boolean"], **dict.fromkeys(NUMBERS, number)}
    fields: dict[str, Any] = {
        **dict.fromkeys(("version", "connector", "name"), "string"), "ts_ms": number, "ts_us": number,
        **dict.fromkeys(("keyspace", "table"), "string"), "node": "string", "segment": "long", "offset": "long",
        "event_id": "string", "partial": "boolean", "set": ["null", {"type": "array", "items": "string"}],
        "static": "boolean", "ttl": ["null", "int"], "expires_at": number,
        **dict.fromkeys(_TEXTS, text),
        **{name: kinds.get(name, text) for name in more},
    }  # fmt: skip
    if IMAGE_ID in more:
        # What time alone did has no row of a log behind it.
        fields |= {"node": text, "segment": number, "offset": number, "event_id": text}
    listed = [
        _column(name, type_) if isinstance(type_, list) else {"name": name, "type": type_}
        for name, type_ in fields.items()
    ]
    return {"type": "record", "name": "Source", "namespace": namespace, "fields": listed}


def _column(name: str, type_: list[Any]) -> dict[str, Any]:
    return {"name": name, "type": type_, "default": None}


def _sides(row: RowValues, key: dict[str, Any], table: _Schemas) -> dict[str, Any]:
    """What was there before and after."""
    after = _renamed({**key, **table.fields.values(row.assigned)}, table) if row.puts else None
    former = None if row.former is None else _renamed({**key, **table.fields.values(row.former)}, table)
    return {"before": former, "after": after}


def _renamed(values: Mapping[str, Any], table: _Schemas) -> dict[str, Any]:
    return {table.names[name]: value for name, value in values.items()}


def _record(value: Mapping[str, Any], schema: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def _text(value: str | bytes | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
