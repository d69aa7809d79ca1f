"""JSON text of the plain values of `tailer.types.values`: scalars as SELECT JSON writes them, the rest nested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailer.types.cql import CqlType, Decimals, Nested, ValueToJson
from tailer.types.jsontext import quote
from tailer.types.values import field_names, is_pairs


def value_json(type_: CqlType, decimals: Decimals) -> ValueToJson:
    """The JSON of the type's plain values, or of None."""
    traits = type_.traits
    if isinstance(traits, Nested):
        text = traits.spell(type_, decimals)
    else:
        text = quote if traits.read_text is not None and decimals == "string" else traits.spell
    return lambda value: "null" if value is None else text(value)


def array_json(type_: CqlType, decimals: Decimals) -> ValueToJson:
    """Of a list, set or vector."""
    element = value_json(type_.element, decimals)
    return lambda value: f"[{','.join(map(element, value))}]"


def fields_json(type_: CqlType, decimals: Decimals) -> ValueToJson:
    """Of a tuple or user-defined type."""
    names = field_names(type_)
    return object_json({name: value_json(part, decimals) for name, part in zip(names, type_.arguments, strict=True)})


def object_json(fields: Mapping[str, ValueToJson]) -> ValueToJson:
    """Of a dict with these fields."""
    texts = [(quote(name) + ":", name, text) for name, text in fields.items()]

    def fields_text(value: Mapping[str, Any]) -> str:
        return "{" + ",".join([label + text(value[name]) for label, name, text in texts]) + "}"

    return fields_text


def map_json(type_: CqlType, decimals: Decimals) -> ValueToJson:
    """Of a map."""
    key, element = value_json(type_.key, decimals), value_json(type_.value, decimals)
    if is_pairs(type_):
        entry = object_json({"key": key, "value": element})
        return lambda value: f"[{','.join(map(entry, value))}]"

    def map_text(value: Any) -> str:
        return "{" + ",".join([f"{_name(key(name))}:{element(part)}" for name, part in value]) + "}"

    return map_text


def _name(text: str) -> str:
    return text if text.startswith('"') else quote(text)
