"""The columns of a kept table of a lakehouse while its source is altered: one rule for Delta and Iceberg.

`tailer.schema.migration` says what a change of the definition does to a kept table; here is what it does to columns of
Spark types. A column or field that the target lacks is added. One that has another type is set aside under another name
(`NAME_before`). One that the source has no longer stays, and is null in rows that are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tailer.schema.migration import Rule, migration_steps
from tailer.schema.model import TableDefinition
from tailer.spark.quoting import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

Path = tuple[str, ...]
"""A column, or a field within one: names, `element`, `key` and `value`."""

_ADDS_ALONE: Final[frozenset[Rule]] = frozenset({"add_column", "add_first_static"})
"""Rules by which no stored row reads differently."""


class Migration(NamedTuple):
    """What becomes of a kept table between two definitions of one life of its source.

    `renewed`: every stored row is written anew. `renamed`: key columns, by their names before and after. `emptied`:
    columns that stay and have no values any more.
    """

    renewed: bool = False
    renamed: tuple[tuple[str, str], ...] = ()
    emptied: tuple[str, ...] = ()


NO_MIGRATION: Final = Migration()


def migration(before: TableDefinition, after: TableDefinition) -> Migration:
    """By the migration rules. A native log's table has no rule of its own: its columns are their names."""
    steps = migration_steps(before, after)
    renamed = tuple((step.before, step.column) for step in steps if step.rule == "rename_key")
    dropped = [step.column for step in steps if step.rule == "drop_column"]
    names = {column.name for column in after.columns if not column.dropped}
    emptied = [name for name in (*dropped, *(old for old, _ in renamed)) if name not in names]
    return Migration(any(step.rule not in _ADDS_ALONE for step in steps), renamed, tuple(emptied))


def same_key(before: TableDefinition, after: TableDefinition) -> bool:
    """Whether keys of rows mean the same by both definitions; names of columns do not matter."""
    keys = [
        [(column.type, column.desc) for column in (*each.partition_key, *each.clustering)] for each in (before, after)
    ]
    return keys[0] == keys[1] and len(before.clustering) == len(after.clustering)


def set_aside(there: StructType, want: StructType) -> list[tuple[str, str]]:
    """Columns of the target whose type cannot hold what is wanted of their name, each with its new name."""
    taken = {field.name.casefold() for field in (*there, *want)}
    known = {field.name.casefold(): field for field in there}
    found: list[tuple[str, str]] = []
    for field in want:
        has = known.get(field.name.casefold())
        if has is not None and not holds(has.dataType, field.dataType):
            name, number = f"{has.name}_before", 1
            while name.casefold() in taken:
                number += 1
                name = f"{has.name}_before_{number}"
            taken.add(name.casefold())
            found.append((has.name, name))
    return found


def holds(there: DataType, want: DataType) -> bool:
    """Whether a column of type `there` takes values of `want`, if need be with fields added in its structs.

    A lakehouse may keep a small number as a wider one.
    """
    from pyspark.sql.types import ArrayType, ByteType, IntegerType, LongType, MapType, ShortType, StructType

    if isinstance(there, StructType) and isinstance(want, StructType):
        known = {field.name.casefold(): field.dataType for field in there}
        same = [(known[field.name.casefold()], field.dataType) for field in want if field.name.casefold() in known]
        return bool(same) and all(holds(*pair) for pair in same)
    if isinstance(there, ArrayType) and isinstance(want, ArrayType):
        return holds(there.elementType, want.elementType)
    if isinstance(there, MapType) and isinstance(want, MapType):
        return holds(there.keyType, want.keyType) and holds(there.valueType, want.valueType)
    numbers = [ByteType, ShortType, IntegerType, LongType]
    kinds = [number for number in numbers if isinstance(want, number)]
    return there == want or (
        bool(kinds) and any(isinstance(there, each) for each in numbers[numbers.index(kinds[0]) :])
    )


def missing(there: DataType, want: DataType, path: Path = ()) -> Iterator[tuple[Path, DataType]]:
    """Columns and fields of structs that the target lacks; names quoted."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(there, StructType) and isinstance(want, StructType):
        known = {field.name.casefold(): field.dataType for field in there}
        for field in want:
            inside = (*path, quoted_name(field.name))
            has = known.get(field.name.casefold())
            if has is None:
                yield inside, field.dataType
            else:
                yield from missing(has, field.dataType, inside)
    elif isinstance(there, ArrayType) and isinstance(want, ArrayType):
        yield from missing(there.elementType, want.elementType, (*path, "element"))
    elif isinstance(there, MapType) and isinstance(want, MapType):
        yield from missing(there.keyType, want.keyType, (*path, "key"))
        yield from missing(there.valueType, want.valueType, (*path, "value"))


def fitted(rows: DataFrame, schema: StructType) -> DataFrame:
    """The columns of `schema` in these types: fields of structs by their names, those that rows lack as null."""
    from pyspark.sql import functions as F

    have = {field.name.casefold(): field.dataType for field in rows.schema}
    return rows.select(
        *(
            _fitted(F.col(quoted_name(field.name)), have[field.name.casefold()], field.dataType).alias(field.name)
            for field in schema
        )
    )


def _fitted(column: Column, have: DataType, want: DataType) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, MapType, StructType

    if have == want:
        return column
    if isinstance(have, StructType) and isinstance(want, StructType):
        known = {field.name.casefold(): field for field in have}
        parts = []
        for field in want:
            has = known.get(field.name.casefold())
            value = F.lit(None).cast(field.dataType)
            if has is not None:
                value = _fitted(column.getField(has.name), has.dataType, field.dataType)
            parts.append(value.alias(field.name))
        return F.when(column.isNotNull(), F.struct(*parts))
    if isinstance(have, ArrayType) and isinstance(want, ArrayType):
        inner, wanted = have.elementType, want.elementType
        return F.transform(column, lambda each: _fitted(each, inner, wanted))
    if isinstance(have, MapType) and isinstance(want, MapType):
        keys, values = (have.keyType, want.keyType), (have.valueType, want.valueType)

        def entry(each: Column) -> Column:
            return F.struct(_fitted(each["key"], *keys), _fitted(each["value"], *values))

        return F.map_from_entries(F.transform(F.map_entries(column), entry))
    return column.cast(want)


def own_of_target(there: StructType, merged: Sequence[str], emptied: Sequence[str]) -> tuple[StructType, list[str]]:
    """The target's columns that merged rows have, in the target's types; and those that are null from now on."""
    from pyspark.sql.types import StructType

    names = {name.casefold() for name in merged}
    void = {name.casefold() for name in emptied} - names
    own = StructType([field for field in there if field.name.casefold() in names])
    return own, [field.name for field in there if field.name.casefold() in void]
