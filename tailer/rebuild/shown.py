"""A row as SELECT JSON shows it, as the values that rebuilding gives of one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailer.rebuild.rows import Value
from tailer.rebuild.table import DataColumn, Plan
from tailer.types import Shape


def values_shown(plan: Plan, fields: Mapping[str, Any]) -> dict[str, Value]:
    """The values of columns that are not null, in today's columns. `fields`: by name, as `read_json` gives them.

    ValueError for a value that is none of its column.
    """
    shown = {column.name: column for column in plan.shown}
    return {name: _value(shown[name], value) for name, value in fields.items() if value is not None and name in shown}


def _value(column: DataColumn, value: Any) -> Value:
    match column.type.shape:
        case Shape.COUNTER:
            return int(value)
        case Shape.LIST:
            return [(b"", column.encode_element(part)) for part in value]
        case Shape.SET:
            return [(column.path(part), b"") for part in value]
        case Shape.MAP:
            return [(column.path(key), column.encode_element(part)) for key, part in value.items()]
        case Shape.UDT:
            # By place: fields may have been renamed since.
            fields = enumerate(zip(column.encode_fields, value.values(), strict=False))
            return [(at.to_bytes(2, "big"), encode(part)) for at, (encode, part) in fields if part is not None]
    return column.encode(value)
