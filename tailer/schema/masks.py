"""Which columns are masked, and how, as values: what a user asks for, held against definitions. Knows no bytes, no row.

What a definition says of a hashed column is no longer what rows have of it: whoever takes rows takes `Masks.shown`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, get_args

import msgspec

from tailer.errors import UsageError
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.schema.typed import TypedTable
from tailer.types import Shape, parse_type
from tailer.types.kinds import BY_NAME, TEXT

How = Literal["hash", "null", "last4", "exclude"]
"""`exclude` is an option of its own; the others are words of --mask."""

_WORDS: Final = get_args(How)[:-1]
_KEY_KINDS: Final = ("partition_key", "clustering")
_HASHED: Final = {
    Shape.SIMPLE: TEXT.name,
    Shape.LIST: f"list<{TEXT.name}>",
    Shape.SET: f"set<{TEXT.name}>",
    Shape.MAP: f"map<{TEXT.name}, {TEXT.name}>",
}
"""What a hash makes of a type: one text of a whole value, or one of each element, and of each key of a map."""


class ColumnMask(msgspec.Struct, frozen=True, array_like=True, order=True):
    """What becomes of one column; `table` is `keyspace.table`."""

    table: str
    column: str
    how: How


class Masks(msgspec.Struct, frozen=True, omit_defaults=True):
    """`columns` in order, one of each column. `tables`: those that are left out as a whole.

    `key`: the fingerprint of the key that hashes are made with, empty where there is none.
    """

    columns: tuple[ColumnMask, ...] = ()
    tables: tuple[str, ...] = ()
    key: str = ""

    def __bool__(self) -> bool:
        return bool(self.columns or self.tables)

    @property
    def hashes(self) -> bool:
        """Whether a key is needed."""
        return any(mask.how == "hash" for mask in self.columns)

    def of(self, table: str) -> dict[str, How]:
        """By column what becomes of it in `keyspace.table`."""
        return {mask.column: mask.how for mask in self.columns if mask.table == table}

    def shown(self, definition: TableDefinition) -> TableDefinition:
        """The definition that fits the rows as they come out."""
        how = self.of(definition.name)
        if not how:
            return definition
        kept = (column for column in definition.columns if how.get(column.name) != "exclude")
        columns = tuple(
            msgspec.structs.replace(column, type=hashed_type(definition, column))
            if how.get(column.name) == "hash"
            else column
            for column in kept
        )
        return msgspec.structs.replace(definition, columns=columns)

    def shown_typed(self, typed: TypedTable) -> TypedTable:
        """The typed form that fits the rows as they come out."""
        how = self.of(typed.table)
        if not how:
            return typed
        columns = tuple(
            msgspec.structs.replace(
                column, type=_hashed(typed.table, column.source, column.type, {**typed.types, **column.types})
            )
            if how.get(column.source) == "hash"
            else column
            for column in typed.columns
            if how.get(column.source) != "exclude"
        )
        return msgspec.structs.replace(typed, columns=columns)

    def also(self, table: str, names: Mapping[str, str]) -> Masks:
        """These and the same ones for columns by the names that they are given; `names`: by their own."""
        how = self.of(table)
        more = [ColumnMask(table, new, how[name]) for name, new in names.items() if name in how]
        return msgspec.structs.replace(self, columns=(*self.columns, *more)) if more else self

    def under(self, names: Iterable[Collection[str]]) -> Masks:
        """These and the same ones for tables under each of their names; `names`: those of one table each."""
        columns, tables = {(mask.table, mask.column): mask for mask in self.columns}, {*self.tables}
        for same in names:
            if not tables.isdisjoint(same):
                tables.update(same)
            for mask in [mask for mask in self.columns if mask.table in same]:
                for name in same:
                    columns.setdefault((name, mask.column), ColumnMask(name, mask.column, mask.how))
        return msgspec.structs.replace(self, columns=tuple(sorted(columns.values())), tables=tuple(sorted(tables)))

    def check(self, definition: TableDefinition) -> None:
        """UsageError for a mask that a column of this definition cannot have."""
        for name, how in self.of(definition.name).items():
            for column in definition.columns:
                if column.name == name:
                    _check_column(definition, column, how)


NO_MASKS: Final = Masks()


def masks_of(masks: Iterable[str], excluded: Iterable[str]) -> Masks:
    """What `ks.t.column=WORD` and `ks.t.column` or `ks.t` ask for. UsageError."""
    columns: dict[tuple[str, str], How] = {}
    tables: set[str] = set()
    for text in masks:
        place, _, word = text.strip().rpartition("=")
        table, column = _place(place)
        if word not in _WORDS or not column:
            raise UsageError("--mask", expected=f"keyspace.table.column={'|'.join(_WORDS)}", found=repr(text))
        _add(columns, table, column, word)
    for text in excluded:
        table, column = _place(text.strip())
        if not table or "=" in text:
            raise UsageError("--exclude", expected="keyspace.table.column or keyspace.table", found=repr(text))
        if column:
            _add(columns, table, column, "exclude")
        else:
            tables.add(table)
    return Masks(tuple(sorted(ColumnMask(*place, how) for place, how in columns.items())), tuple(sorted(tables)))


def hashed_type(definition: TableDefinition, column: Column) -> str:
    """The type of a column whose values are hashed. UsageError where its values cannot be."""
    return _hashed(definition.name, column.name, column.type, definition.types)


def check_known(masks: Masks, definitions: Iterable[TableDefinition], *, may_come: bool = False) -> tuple[str, ...]:
    """The tables among the masks' that none of the definitions is of: all that are known, earlier ones too.

    UsageError for a column that no definition of its table has, unless it `may_come`, for a mask that its column cannot
    have, and for a hashed key column that a definition has under a name that is not hashed.
    """
    by_name: dict[str, list[TableDefinition]] = {}
    for definition in definitions:
        by_name.setdefault(definition.name, []).append(definition)
    for table in dict.fromkeys(mask.table for mask in masks.columns):
        of_name = by_name.get(table, [])
        for definition in of_name:
            masks.check(definition)
        if of_name and not may_come:
            _check_columns(table, masks.of(table), of_name)
        _check_renamed(table, masks.of(table), of_name)
    named = (*(mask.table for mask in masks.columns), *masks.tables)
    return tuple(table for table in dict.fromkeys(named) if table not in by_name)


def _place(text: str) -> tuple[str, str]:
    """Table and column; a column's name may have dots in it."""
    keyspace, _, rest = text.partition(".")
    table, _, column = rest.partition(".")
    return (f"{keyspace}.{table}", column) if keyspace and table else ("", "")


def _add(columns: dict[tuple[str, str], How], table: str, column: str, how: str) -> None:
    known = columns.setdefault((table, column), how)  # type: ignore[arg-type]  # one of _WORDS, or exclude
    if known != how:
        raise UsageError(f"two masks for {table}.{column}", expected="one", found=f"{known} and {how}")


def _hashed(table: str, column: str, text: str, types: Mapping[str, tuple[TypeField, ...]]) -> str:
    shape = parse_type(text, types).shape
    if shape not in _HASHED:
        raise UsageError(
            f"--mask {table}.{column}=hash: a counter, or a user-defined type that is not frozen, has no hash",
            expected="another type",
            found=text,
            remedy="Use null, or leave the column out with --exclude.",
        )
    return _HASHED[shape]


def _check_column(definition: TableDefinition, column: Column, how: How) -> None:
    where = f"{definition.name}.{column.name}"
    if column.kind in _KEY_KINDS and how != "hash":
        asked = f"--exclude {where}" if how == "exclude" else f"--mask {where}={how}"
        raise UsageError(
            f"{asked}: it is a column of the primary key, where this would make one row of many",
            expected="hash, or no mask",
            found=how,
            remedy=f"Use {where}=hash with --mask-key FILE, or leave the table out: --exclude {definition.name}.",
        )
    if how == "last4" and not _is_text(parse_type(column.type, definition.types).kind):
        raise UsageError(
            f"--mask {where}=last4",
            expected=f"a column of type {TEXT.name}",
            found=column.type,
            remedy="Use hash or null.",
        )
    if how == "hash":
        hashed_type(definition, column)


def _is_text(kind: str) -> bool:
    """Whether all values of a type are texts."""
    return kind == TEXT.name or (kind in BY_NAME and BY_NAME[kind].within == TEXT.name)


def _check_columns(table: str, how: Iterable[str], of_name: list[TableDefinition]) -> None:
    known = {column.name for definition in of_name for column in definition.columns}
    for name in how:
        if name not in known:
            raise UsageError(
                f"no column {name!r} in {table}, which --mask or --exclude names",
                expected=", ".join(sorted(known)),
                found=name,
                remedy="Correct the name; one that is added later is waited for with --mask-may-come.",
            )


def _check_renamed(table: str, how: Mapping[str, How], of_name: list[TableDefinition]) -> None:
    """A key column may have been renamed: its earlier values stand in the log under its earlier name."""
    hashed = {
        (definition.id, column.kind, column.position)
        for definition in of_name
        for column in definition.columns
        if column.kind in _KEY_KINDS and column.name in how
    }
    for definition in of_name:
        for column in definition.columns:
            if (definition.id, column.kind, column.position) in hashed and column.name not in how:
                raise UsageError(
                    f"a hashed key column of {table} has another name in a part of the log",
                    expected=f"--mask {table}.{column.name}=hash too",
                    found=", ".join(how),
                    remedy="Name it by all its names.",
                )
