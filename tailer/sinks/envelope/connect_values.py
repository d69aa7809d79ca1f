"""Types and values as Kafka Connect's JSON converter has them with schemas: Debezium's names for what Connect has none.

A decimal or varint is a string of its digits: Connect's own would need one scale for all. Knows no message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tailer.sinks.envelope.spelling import Spelling, blob, digits, duration, text_of
from tailer.types import CqlType
from tailer.types.cql import Native
from tailer.types.kinds import MAP
from tailer.types.times import duration_bytes, duration_json, parse_date, parse_key_time, parse_timestamp
from tailer.types.values import field_names

_TYPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "tinyint": {"type": "int8"},
    "smallint": {"type": "int16"},
    "int": {"type": "int32"},
    "bigint": {"type": "int64"},
    "counter": {"type": "int64"},
    "boolean": {"type": "boolean"},
    "float": {"type": "float"},
    "double": {"type": "double"},
    "blob": {"type": "bytes"},
    "date": {"type": "int32", "name": "io.debezium.time.Date", "version": 1},
    "time": {"type": "int64", "name": "io.debezium.time.NanoTime", "version": 1},
    "timestamp": {"type": "int64", "name": "io.debezium.time.Timestamp", "version": 1},
    "uuid": {"type": "string", "name": "io.debezium.data.Uuid", "version": 1},
    "timeuuid": {"type": "string", "name": "io.debezium.data.Uuid", "version": 1},
}
"""By CQL's word; all others are strings."""

TEXT: Final = {"type": "string", "optional": True}
JSON_TEXT: Final = {**TEXT, "name": "io.debezium.data.Json", "version": 1}


def connect_type(type_: CqlType, name: str) -> dict[str, Any]:
    """A type's schema, which allows null. `name`: what names of structures in it begin with."""
    return {**_plain(type_, name), "optional": True}


def struct(name: str, fields: Mapping[str, Mapping[str, Any]], *, optional: bool = False) -> dict[str, Any]:
    """A structure of that name."""
    listed = [{**type_, "field": field} for field, type_ in fields.items()]
    return {"type": "struct", "fields": listed, "optional": optional, "name": name}


def duration_text(value: msgspec.Raw) -> str:
    """As `SELECT JSON` has it."""
    return text_of(msgspec.Raw(duration_json(duration_bytes(duration(value))).encode()))


def _plain(type_: CqlType, name: str) -> dict[str, Any]:
    if isinstance(type_.traits, Native):
        return dict(_TYPES.get(type_.kind, {"type": "string"}))
    if type_.traits is MAP:
        return {"type": "map", "keys": {"type": "string", "optional": False}, "values": connect_type(type_.value, name)}
    if type_.traits.takes == 1:
        return {"type": "array", "items": connect_type(type_.element, name)}
    parts = zip(field_names(type_), type_.arguments, strict=True)
    own = f"{name}.{type_.text.removeprefix('frozen<').removesuffix('>')}" if type_.names else f"{name}.tuple"
    return struct(own, {field: connect_type(part, name) for field, part in parts})


def _number(value: msgspec.Raw) -> msgspec.Raw:
    if bytes(value).startswith(b'"'):
        # The converter would read the string as 0.
        raise ValueError(f"{text_of(value)} is no number that Connect's JSON converter can read")
    return value


CONNECT: Final = Spelling(
    {
        "blob": blob,
        "date": lambda value: parse_date(text_of(value)),
        "decimal": digits,
        "double": _number,
        "duration": duration_text,
        "float": _number,
        "time": lambda value: parse_key_time(text_of(value)),
        "timestamp": lambda value: parse_timestamp(text_of(value)),
        "varint": digits,
    },
    "_{}".format,
)
