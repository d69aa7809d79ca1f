"""Rows as JSON text, each value as SELECT JSON writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailer.rebuild.changes import key_values
from tailer.rebuild.rows import Value
from tailer.rebuild.table import DataColumn, KeyColumn, Plan
from tailer.types import Shape, quote
from tailer.types.parts import parts_of


class RowText:
    """The texts of one table's rows and keys, by its definition."""

    def __init__(self, plan: Plan) -> None:
        self._key = [(f"{quote(column.name)}:", column) for column in plan.key]
        self._clustering = [(f"{quote(column.name)}:", column) for column in plan.clustering]
        live = [column for column in plan.columns.values() if not column.dropped]
        self.static = tuple(column for column in live if column.static)
        """The columns of static rows."""
        self.regular = tuple(column for column in live if not column.static)
        """The columns of other rows, those of the key aside."""
        self._names = {column.name: f"{quote(column.name)}:" for column in live}

    def partition_key(self, partition: bytes) -> str:
        """The partition key as a change row has it, without the braces."""
        return _key_text(key_values(partition), self._key)

    def clustering(self, clustering: bytes) -> str | None:
        """The clustering likewise, of framed values; None where the table has none."""
        return _key_text(clustering, self._clustering) if self._clustering else None

    def row(self, key: str, values: Mapping[str, Value | None], *, static: bool, complete: bool) -> str:
        """A row: all its columns where it is complete, else those that `values` has, behind the `key`."""
        texts = [key]
        for column in self.static if static else self.regular:
            name = column.name
            value = values.get(name)
            if value is not None:
                texts.append(self._names[name] + value_text(column, value))
            elif complete or name in values:
                texts.append(self._names[name] + "null")
        return "{" + ",".join(texts) + "}"


def value_text(column: DataColumn, value: Value) -> str:
    """The JSON text of one value."""
    type_ = column.type
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return type_.json(value)
    if type_.shape is Shape.MAP:
        return _object([f"{type_.key.key_json(path)}:{type_.value.json(part)}" for path, part in value])
    if type_.shape is Shape.UDT:
        texts = ["null"] * len(type_.names)
        for path, part in value:
            number = int.from_bytes(path, "big")
            # A field that the type does not have is of a type of an earlier incarnation of the table.
            if number < len(texts):
                texts[number] = type_.arguments[number].json(part)
        return _object([f"{quote(name)}:{text}" for name, text in zip(type_.names, texts, strict=True)])
    if type_.shape is Shape.SET:
        return "[" + ",".join([type_.element.json(path) for path, _ in value]) + "]"
    return "[" + ",".join([type_.element.json(part) for _, part in value]) + "]"


def _key_text(framed: bytes, columns: Sequence[tuple[str, KeyColumn]]) -> str:
    parts = zip(columns, parts_of(framed, 0, len(columns)), strict=False)
    return ",".join([name + ("null" if part is None else column.type.json(part)) for (name, column), part in parts])


def _object(texts: Sequence[str]) -> str:
    return "{" + ",".join(texts) + "}"
