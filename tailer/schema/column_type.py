"""The type of a table's column: that of a key's column tells all byte strings apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from tailer.schema.model import ColumnKind, TypeField
from tailer.types import CqlType, parse_type
from tailer.types.collections import key_type

_KEY_KINDS: Final[frozenset[ColumnKind]] = frozenset(("partition_key", "clustering"))


class TypedText(Protocol):
    """A column as definitions or typed forms have it."""

    @property
    def kind(self) -> ColumnKind: ...

    @property
    def type(self) -> str: ...


def column_type(column: TypedText, types: Mapping[str, Sequence[TypeField]]) -> CqlType:
    """The type of a column's values. `types`: the user-defined ones of its keyspace. DefinitionError; see `parse_type`.

    Types with texts differ from those that are parsed from the same words where the column is of the key.
    """
    type_ = parse_type(column.type, types)
    return key_type(type_) if column.kind in _KEY_KINDS else type_
