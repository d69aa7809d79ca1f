"""Typed rows as people are shown them: the same as the generic row of the same change, out of the typed JSON line.

Knows the form's columns and no layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from tailer.schema.typed import TypedTable
from tailer.sinks.row_text import Fields, Range, Row
from tailer.typed_decode import decode_json, json_decoder
from tailer.types import CqlType
from tailer.types.cql import Native
from tailer.types.kinds import MAP
from tailer.types.values import field_names, is_pairs

_WITHOUT_CLUSTERING: Final = frozenset({"delete_range", "delete_partition", "truncate"})
_NULL: Final = b"null"

_decode_fields: Final = json_decoder(dict[str, msgspec.Raw]).decode


class TypedRows:
    """Reads the lines of one typed form."""

    def __init__(self, typed: TypedTable) -> None:
        self._keyspace, _, self._table = typed.table.partition(".")
        self._prefix = typed.prefix
        self._key = [column.name for column in typed.columns if column.kind == "partition_key"]
        self._clustering = [column.name for column in typed.columns if column.kind == "clustering"]
        types = {column.name: typed.type_of(column) for column in typed.columns}
        self._quoted = {name: type_ for name, type_ in types.items() if holds_texts(type_)}

    def read(self, line: bytes) -> Row:
        """The row of a JSON line."""
        fields = _decode_fields(line)
        op: str = self._meta(fields, "op", str)
        static: bool = self._meta(fields, "is_static", bool)
        key = {} if op == "truncate" else self._own(fields, self._key)
        clustering = {} if static or op in _WITHOUT_CLUSTERING else self._own(fields, self._clustering)
        assigned: list[str] | None = self._meta(fields, "set", list[str] | None)
        deltas: dict[str, msgspec.Raw] = self._meta(fields, "deltas", dict[str, msgspec.Raw] | None) or {}
        return Row(
            self._keyspace,
            self._table,
            self._meta(fields, "table_id", str),
            op,
            key,
            clustering,
            static,
            {**self._own(fields, assigned or ()), **deltas},
            self._meta(fields, "range", Range | None),
            self._meta(fields, "write_ts", int | None),
            self._meta(fields, "ttl", int | None),
        )

    def _meta(self, fields: Fields, name: str, type_: Any) -> Any:
        return decode_json(fields[self._prefix + name], type_)

    def _own(self, fields: Fields, names: Iterable[str]) -> dict[str, msgspec.Raw]:
        """Columns of the table's own; decimals as numbers again."""
        own: dict[str, msgspec.Raw] = {}
        for name in names:
            value, type_ = fields[name], self._quoted.get(name)
            own[name] = value if type_ is None else msgspec.Raw(bare(type_, value))
        return own


def holds_texts(type_: CqlType) -> bool:
    """Whether a value of the type holds numbers that the form may have as text, for they know no bounds."""
    if isinstance(type_.traits, Native):
        return type_.traits.read_text is not None
    return any(map(holds_texts, type_.arguments))


def bare(type_: CqlType, value: msgspec.Raw) -> bytes:
    """A value's JSON with those numbers as the generic form spells them: by all their digits, not in quotes."""
    text = bytes(value)
    if text == _NULL or not holds_texts(type_):
        return text
    if isinstance(type_.traits, Native):
        return text.strip(b'"')
    if type_.traits is MAP and not is_pairs(type_):
        return _object({name: (type_.value, each) for name, each in _decode_fields(text).items()})
    if type_.traits is MAP:
        entries = decode_json(text, list[dict[str, msgspec.Raw]])
        return _array(_object({"key": (type_.key, e["key"]), "value": (type_.value, e["value"])}) for e in entries)
    if text.startswith(b"{"):
        types, fields = dict(zip(field_names(type_), type_.arguments, strict=True)), _decode_fields(text)
        return _object({name: (types[name], each) for name, each in fields.items()})
    return _array(bare(type_.element, each) for each in decode_json(text, list[msgspec.Raw]))


def _object(fields: Mapping[str, tuple[CqlType, msgspec.Raw]]) -> bytes:
    texts = (msgspec.json.encode(name) + b":" + bare(*field) for name, field in fields.items())
    return b"{" + b",".join(texts) + b"}"


def _array(texts: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(texts) + b"]"
