"""JSON text of the plain values of `tailer.types.values`: scalars as SELECT JSON writes them, the rest nested."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from tailer.types.cql import CqlType, TypeKind
from tailer.types.jsontext import quote
from tailer.types.values import DURATION, Decimals, is_pairs, tuple_fields

ValueToJson = Callable[[Any], str]
"""A plain value, or None, to its JSON text."""

_PACKED: Final[dict[TypeKind, Callable[[Any], bytes]]] = {
    "blob": bytes,
    "custom": bytes,
    "date": lambda days: struct.pack(">I", days + 0x8000_0000),
    "double": struct.Struct(">d").pack,
    "float": struct.Struct(">f").pack,
    "time": struct.Struct(">q").pack,
    "timestamp": lambda micros: struct.pack(">q", micros // 1000),
}
"""The value's bytes again, for types whose text their own JSON knows."""

_QUOTED: Final = frozenset({"ascii", "empty", "inet", "text", "timeuuid", "uuid"})


def value_json(type_: CqlType, decimals: Decimals) -> ValueToJson:
    """The JSON of the type's plain values."""
    text = _json(type_, decimals)
    return lambda value: "null" if value is None else text(value)


def _json(type_: CqlType, decimals: Decimals) -> ValueToJson:
    kind = type_.kind
    if kind in _QUOTED:
        return quote
    if kind in _PACKED:
        pack, json = _PACKED[kind], type_.json
        return lambda value: json(pack(value))
    if kind == "boolean":
        return lambda value: "true" if value else "false"
    if kind in ("decimal", "varint") and decimals == "string":
        return quote
    if kind == "decimal":
        return "{:f}".format
    if kind == "varint":
        return lambda value: str(int(value))
    if kind == "duration":
        return _object(dict.fromkeys(DURATION, str))
    if kind == "map":
        return _map(type_, decimals)
    if kind in ("tuple", "udt"):
        names = type_.names if kind == "udt" else tuple_fields(type_)
        return _object({name: value_json(part, decimals) for name, part in zip(names, type_.arguments, strict=True)})
    if kind in ("list", "set", "vector"):
        element = value_json(type_.element, decimals)
        return lambda value: f"[{','.join(map(element, value))}]"
    return str


def _object(fields: Mapping[str, ValueToJson]) -> ValueToJson:
    texts = [(quote(name) + ":", name, text) for name, text in fields.items()]

    def object_json(value: Mapping[str, Any]) -> str:
        return "{" + ",".join([label + text(value[name]) for label, name, text in texts]) + "}"

    return object_json


def _map(type_: CqlType, decimals: Decimals) -> ValueToJson:
    key, element = value_json(type_.key, decimals), value_json(type_.value, decimals)
    if is_pairs(type_):
        entry = _object({"key": key, "value": element})
        return lambda value: f"[{','.join(map(entry, value))}]"

    def map_json(value: Any) -> str:
        return "{" + ",".join([f"{_name(key(name))}:{element(part)}" for name, part in value]) + "}"

    return map_json


def _name(text: str) -> str:
    return text if text.startswith('"') else quote(text)
