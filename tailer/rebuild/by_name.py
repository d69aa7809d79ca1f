"""Values of a native log as JSON, with the fields of user-defined types in the order of the definition.

The bytes that are made of them count fields by place. In Cassandra's logs a field keeps its place whatever its name is;
in a native log it is its name, and an earlier definition may have it elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tailer.types import CqlType, Shape

InOrder = Callable[[Any], Any]


def in_order(type_: CqlType) -> InOrder:
    """What puts the fields of a value, as `read_json` has it, in the order of the type; missing ones are null."""
    if not type_.has_fields:
        return _as_it_is
    if type_.traits.shape is Shape.UDT:
        return _fields(type_)
    parts = [in_order(part) for part in type_.arguments]
    if type_.traits.shape is Shape.MAP:
        return lambda value: _each_value(value, parts[1])
    return lambda value: _each(value, parts)


def _as_it_is(value: Any) -> Any:
    return value


def _each(value: Any, parts: list[InOrder]) -> Any:
    """Of a list, set or vector, whose elements are of one type, or a tuple."""
    if not isinstance(value, list):
        return value
    return [part if part is None else parts[number % len(parts)](part) for number, part in enumerate(value)]


def _each_value(value: Any, of_value: InOrder) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: part if part is None else of_value(part) for key, part in value.items()}


def _fields(type_: CqlType) -> InOrder:
    parts = {name: in_order(part) for name, part in type_.fields}

    def of_fields(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        unknown = value.keys() - parts.keys()
        if unknown:
            raise ValueError(f"the type {type_.text} has, and had, no field {min(unknown)!r:.80}")
        return {name: None if value.get(name) is None else part(value[name]) for name, part in parts.items()}

    return of_fields
