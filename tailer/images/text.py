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
        """The partition key as a change row has it."""
        return _object(_key_texts(key_values(partition), self._key))

    def clustering(self, clustering: bytes) -> str | None:
        """The clustering as a change row has it, of framed values; None where the table has none."""
        return _object(_key_texts(clustering, self._clustering)) if self._clustering else None

    def row(
        self, partition: bytes, clustering: bytes, values: Mapping[str, Value | None], *, static: bool, complete: bool
    ) -> str:
        """A whole row: all its columns where it is complete, else those that `values` has."""
        texts = _key_texts(key_values(partition), self._key)
        if not static:
            texts += _key_texts(clustering, self._clustering)
        for column in self.static if static else self.regular:
            name = column.name
            if name in values:
                value = values[name]
                texts.append(self._names[name] + ("null" if value is None else value_text(column, value)))
            elif complete:
                texts.append(self._names[name] + "null")
        return _object(texts)


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
            texts[number] = type_.arguments[number].json(part)
        return _object([f"{quote(name)}:{text}" for name, text in zip(type_.names, texts, strict=True)])
    if type_.shape is Shape.SET:
        return "[" + ",".join([type_.element.json(path) for path, _ in value]) + "]"
    return "[" + ",".join([type_.element.json(part) for _, part in value]) + "]"


def _key_texts(framed: bytes, columns: Sequence[tuple[str, KeyColumn]]) -> list[str]:
    parts = parts_of(framed, 0, len(columns))
    texts = [
        name + ("null" if part is None else column.type.json(part))
        for (name, column), part in zip(columns, parts, strict=False)
    ]
    return texts


def _object(texts: Sequence[str]) -> str:
    return "{" + ",".join(texts) + "}"
