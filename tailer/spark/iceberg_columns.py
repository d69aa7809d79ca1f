"""The columns of an Iceberg table: it is made with those that rows have, and gets what it lacks later.

Iceberg keeps a smallint and a tinyint as int: only what is missing is looked for, never another type. Rows of a type
that a column cannot take are refused when they are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tailer.errors import UsageError
from tailer.spark.quoting import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType


def iceberg_name(name: str) -> str:
    """A table's name, quoted. UsageError unless it has a catalog."""
    parts = name.split(".")
    if len(parts) < 2 or not all(parts) or "/" in name:
        raise UsageError("the Iceberg table", expected="CATALOG.DATABASE.TABLE, as the session knows it", found=name)
    return ".".join(map(quoted_name, parts))


def create_iceberg(spark: SparkSession, name: str, schema: StructType) -> None:
    """An empty table; `name` is quoted."""
    # Rows are replaced one by one: files beside say which are gone, instead of all neighbours written once more.
    modes = {f"write.{act}.mode": "merge-on-read" for act in ("delete", "update", "merge")}
    writer = spark.createDataFrame([], schema).writeTo(name).using("iceberg").tableProperty("format-version", "2")
    for setting, value in modes.items():
        writer = writer.tableProperty(setting, value)
    writer.create()


def widen_iceberg(spark: SparkSession, name: str, there: StructType, want: StructType) -> None:
    """Adds the columns and fields of structs that are missing, behind the others; `name` is quoted."""
    added = [f"{'.'.join(path)} {_ddl(kind)}" for path, kind in _missing((), there, want)]
    if added:
        spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({', '.join(added)})")


def _missing(path: tuple[str, ...], there: DataType, want: DataType) -> Iterator[tuple[tuple[str, ...], DataType]]:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(there, StructType) and isinstance(want, StructType):
        known = {field.name.casefold(): field.dataType for field in there}
        for field in want:
            inside = (*path, quoted_name(field.name))
            has = known.get(field.name.casefold())
            if has is None:
                yield inside, field.dataType
            else:
                yield from _missing(inside, has, field.dataType)
    elif isinstance(there, ArrayType) and isinstance(want, ArrayType):
        yield from _missing((*path, "element"), there.elementType, want.elementType)
    elif isinstance(there, MapType) and isinstance(want, MapType):
        yield from _missing((*path, "key"), there.keyType, want.keyType)
        yield from _missing((*path, "value"), there.valueType, want.valueType)


def _ddl(kind: DataType) -> str:
    """A type as SQL has it, names of fields quoted."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, StructType):
        return f"struct<{', '.join(f'{quoted_name(field.name)}: {_ddl(field.dataType)}' for field in kind)}>"
    if isinstance(kind, ArrayType):
        return f"array<{_ddl(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{_ddl(kind.keyType)}, {_ddl(kind.valueType)}>"
    return kind.simpleString()
