"""Which column of a typed form holds a column of a definition, where one name had several columns.

A column that was dropped and added again is another column; so is one of an earlier table of the same name. Where its
values are of the same type they share the form's column; else the earlier one has a name of its own (`dropped_name`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.schema.usertypes import closure
from tailer.types import CqlType, Shape, parse_type
from tailer.types.cql import Native
from tailer.types.kinds import CUSTOM

Types = Mapping[str, tuple[TypeField, ...]]


def fits(have: CqlType, want: CqlType, by_name: bool = False) -> bool:
    """Whether values of `have` can be read as `want`: the same, or a user-defined type that gained fields since.

    `by_name`: those of a native log, whose fields may lie in other places there (`relaid`).
    """
    if have.kind != want.kind:
        return isinstance(have.traits, Native) and have.traits.within == want.kind
    if have.dimension != want.dimension or (have.traits is CUSTOM and have.text != want.text):
        return False
    if have.traits.shape is Shape.UDT and by_name:
        fields = dict(want.fields)
        return all(name in fields and fits(part, fields[name], True) for name, part in have.fields)
    inner = [fits(part, other, by_name) for part, other in zip(have.arguments, want.arguments, strict=False)]
    if have.traits.shape is Shape.UDT:
        return len(have.arguments) <= len(want.arguments) and all(inner)
    return len(have.arguments) == len(want.arguments) and all(inner)


def same_values(have: CqlType, want: CqlType, by_name: bool = False) -> bool:
    """Whether values of another column of type `have` mean the same as `want`: they fit, and every field has its name.

    Fields of one column may be renamed; two types with other names of fields are two types.
    """
    return fits(have, want, by_name) and (by_name or _has_names(have, want))


def _has_names(have: CqlType, want: CqlType) -> bool:
    if have.names != want.names[: len(have.names)]:
        return False
    return all(_has_names(part, other) for part, other in zip(have.arguments, want.arguments, strict=False))


def column_key(table_id: str, column: Column) -> str:
    """Names one column among all that had its name. `dropped_time` tells of a live one when the one before it ended,
    and of a dropped one when it ended itself."""
    if column.dropped:
        return ended_key(table_id, column.name, column.dropped_time)
    return live_key(table_id, column.name, column.type, column.dropped_time)


def live_key(table_id: str, name: str, type_text: str, since: int | None) -> str:
    """The same of a live column. The type tells columns apart that were dropped with one timestamp."""
    return f"{table_id} since {since} {type_text} {name}"


def ended_key(table_id: str, name: str, until: int | None) -> str:
    """The same of a dropped one."""
    return f"{table_id} until {until} {name}"


def dropped_name(name: str, type_: CqlType) -> str:
    """The name of an earlier column in the form: `b_dropped_text`; of a type that has parts with a digest of them."""
    if not type_.arguments and isinstance(type_.traits, Native):
        return f"{name}_dropped_{type_.kind}"
    digest = blake2b(_spelled(type_).encode(), digest_size=4).hexdigest()
    return f"{name}_dropped_{type_.kind}_{digest}"


def _spelled(type_: CqlType) -> str:
    """A type with the fields of its user-defined types, which its text only names."""
    parts = ", ".join(map(_spelled, type_.arguments))
    return f"{type_.text} {type_.dimension} {'/'.join(type_.names)} ({parts})"


@dataclass
class EarlierColumn:
    """A column as its definitions had it, by the last one in which it lived. `keys`: see `column_key`."""

    column: Column
    types: Types
    keys: set[str] = field(default_factory=set)

    @property
    def type(self) -> CqlType:
        return parse_type(self.column.type, self.types)

    def own_types(self, types: Types, by_name: bool) -> Types:
        """The user-defined types that it needs where those of the form are others by now; else none."""
        needed = closure([self.column.type], self.types.get)
        if not needed or same_values(self.type, parse_type(self.column.type, types), by_name):
            return {}
        return needed


def columns_of(definitions: Iterable[TableDefinition]) -> list[EarlierColumn]:
    """Every data column that lived in one of the definitions, which are given oldest first; in the order of its end."""
    found: dict[str, EarlierColumn] = {}
    last: dict[tuple[str, str], EarlierColumn] = {}
    for definition in definitions:
        for column in definition.data_columns:
            key, of_name = column_key(definition.id, column), (definition.id, column.name)
            if column.dropped:
                if of_name in last:
                    last[of_name].keys.add(key)
                continue
            before = last.get(of_name)
            if before is not None and key not in before.keys:
                # Its DROP may be told of in no definition of its own.
                before.keys.add(ended_key(definition.id, column.name, column.dropped_time))
            made = found.pop(key, None) or EarlierColumn(column, definition.types, {key})
            made.column, made.types = column, definition.types
            found[key] = last[of_name] = made
    return list(found.values())
