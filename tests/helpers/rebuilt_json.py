"""A rebuilt row as JSON, each value as SELECT JSON writes it; a column without a value is absent."""

from __future__ import annotations

from tailer.rebuild.changes import key_values
from tailer.rebuild.rows import TableRow, Value
from tailer.rebuild.table import DataColumn, KeyColumn, Plan
from tailer.types import Shape, quote
from tailer.types.parts import parts_of


def row_json(partition: bytes, row: TableRow, plan: Plan) -> dict[str, str]:
    """By column, the JSON text of its value; columns that are null are left out."""
    texts = {**_key_json(key_values(partition), plan.key), **_key_json(row.clustering, plan.clustering)}
    for column in plan.shown:
        value = row.values.get(column.name)
        if value is not None:
            texts[column.name] = value_text(column, value)
    return texts


def value_text(column: DataColumn, value: Value) -> str:
    """The JSON text of one value."""
    type_ = column.type
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return type_.json(value)
    if type_.shape is Shape.MAP:
        return "{" + ",".join([f"{type_.key.key_json(path)}:{type_.value.json(part)}" for path, part in value]) + "}"
    if type_.shape is Shape.UDT:
        texts = ["null"] * len(type_.names)
        for path, part in value:
            number = int.from_bytes(path, "big")
            texts[number] = type_.arguments[number].json(part)
        return "{" + ",".join([f"{quote(name)}:{text}" for name, text in zip(type_.names, texts, strict=True)]) + "}"
    if type_.shape is Shape.SET:
        return "[" + ",".join([type_.element.json(path) for path, _ in value]) + "]"
    return "[" + ",".join([type_.element.json(part) for _, part in value]) + "]"


def _key_json(framed: bytes, columns: tuple[KeyColumn, ...]) -> dict[str, str]:
    parts = parts_of(framed, 0, len(columns))
    return {
        column.name: column.type.json(part) for column, part in zip(columns, parts, strict=False) if part is not None
    }
