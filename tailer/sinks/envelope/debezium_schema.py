"""The format `debezium` with schemas: keys and values as Kafka Connect's JSON converter writes them.

    {"schema": {"type": "struct", "name": "cdc-tail.shop.orders.Envelope", …}, "payload": {"before": null, …}}

A schema is by the definition that was in force for the row: columns that were dropped before are not there. Every value
is spelled anew, so it is slower than without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
import pyarrow as pa

from tailer.rows.arrow_texts import joined
from tailer.schema.extras import PRIMARY
from tailer.sinks.envelope.changes import BYTES, Changes
from tailer.sinks.envelope.connect_values import CONNECT, JSON_TEXT, TEXT, connect_type, struct
from tailer.sinks.envelope.debezium import Parts, about
from tailer.sinks.envelope.images import NUMBERS
from tailer.sinks.envelope.row_values import rows_of
from tailer.sinks.envelope.table_fields import FieldsOfRows, TableFields, TableFieldsBook

_NUMBER: Final = {"type": "int64", "optional": True}
_FLAG: Final = {"type": "boolean", "optional": True}
SOURCE: Final[Mapping[str, Mapping[str, Any]]] = {
    **dict.fromkeys(("version", "connector", "name"), TEXT),
    **dict.fromkeys(("ts_ms", "ts_us"), _NUMBER),
    **dict.fromkeys(("keyspace", "table", "node"), TEXT),
    **dict.fromkeys(("segment", "offset"), _NUMBER),
    "event_id": TEXT,
    "partial": _FLAG,
    "set": {"type": "array", "items": {"type": "string", "optional": False}, "optional": True},
    "static": _FLAG,
    "ttl": {"type": "int32", "optional": True},
    "expires_at": _NUMBER,
    **dict.fromkeys(("cells", "deltas", "range"), JSON_TEXT),
    "txn": TEXT,
    "attrs": JSON_TEXT,
}
"""The fields of `source`."""


def source_fields(more: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """The same, and those of columns that were asked for besides."""
    kinds = {PRIMARY: _FLAG, **dict.fromkeys(NUMBERS, _NUMBER)}
    return {**SOURCE, **{name: kinds.get(name, TEXT) for name in more}}


class DebeziumWithSchema:
    """Makes keys and values. `version`, `name`: as `source` says them; names of schemas begin with `name`."""

    def __init__(self, version: str, name: str) -> None:
        self._about = about(version, name)
        self._tables = TableFieldsBook(CONNECT)
        self._schemas: Callable[[TableFields, tuple[str, ...]], tuple[bytes, bytes]] = lru_cache(maxsize=256)(
            lambda table, more: schemas_of(table, name, more)
        )

    def made(self, changes: Changes, at_ms: int) -> tuple[pa.Array, pa.Array]:
        """Keys and values of the rows. DefinitionError for a table that nothing defines, SinkError for a row that its
        definition does not fit, or that has a number which Connect's JSON cannot hold."""
        tables = self._tables.of(changes)
        keys, before, after, names_set = _payloads(changes, tables)
        schemas = [self._schemas(table, changes.more) for table in tables.tables]
        numbers = pa.array(tables.number)
        of_key, of_value = (pa.array([pair[side] for pair in schemas], BYTES).take(numbers) for side in (0, 1))
        parts = Parts(changes, self._about, names_set, flat=True)
        payload = ('{"before":', before, ',"after":', after, ',"source":', parts.source)
        key = joined('{"schema":', of_key, ',"payload":', keys, "}")
        told = ('{"schema":', of_value, ',"payload":', *payload)
        return key, joined(*told, ',"op":"', parts.op, f'","ts_ms":{at_ms}}}}}')


def schemas_of(table: TableFields, name: str, more: Sequence[str] = ()) -> tuple[bytes, bytes]:
    """The schemas of a table's keys and values. `more`: of `source`."""
    begin = f"{name}.{table.definition.keyspace}.{table.definition.table}"
    key = {
        column.name: {**connect_type(column.type, begin), "optional": number >= table.partition}
        for number, column in enumerate(table.key)
    }
    row = key | {column.name: connect_type(column.type, begin) for column in table.data}
    fields = {
        "before": struct(f"{begin}.Value", row, optional=True),
        "after": struct(f"{begin}.Value", row, optional=True),
        "source": struct(f"{name}.Source", source_fields(more)),
        "op": {"type": "string", "optional": False},
        "ts_ms": _NUMBER,
    }
    return msgspec.json.encode(struct(f"{begin}.Key", key)), msgspec.json.encode(struct(f"{begin}.Envelope", fields))


def _payloads(changes: Changes, tables: FieldsOfRows) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
    """Keys, what was there before and after, and the names of the columns that were set; null for no key, no row."""
    keys: list[bytes | None] = []
    before: list[bytes] = []
    after: list[bytes] = []
    names_set: list[bytes | None] = []
    for row, table in zip(rows_of(changes), tables.by_row(), strict=True):
        try:
            key = table.key_values(row.partition, row.clustering) if row.partition else {}
            keys.append(msgspec.json.encode(key) if key else None)
            told = table.values(row.assigned) if row.puts else None
            after.append(msgspec.json.encode(None if told is None else {**key, **told}))
            names_set.append(None if told is None else msgspec.json.encode([*told]))
            former = None if row.former is None else {**key, **table.values(row.former)}
            before.append(msgspec.json.encode(former))
        except (ValueError, KeyError) as error:
            raise row.misfit(error) from error
    return pa.array(keys, BYTES), pa.array(before, BYTES), pa.array(after, BYTES), pa.array(names_set, BYTES)
