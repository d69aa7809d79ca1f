"""The columns of an Iceberg table: it is made with those that rows have, and gets what it lacks later.

Iceberg keeps a smallint and a tinyint as int (`kept_columns.holds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailer.errors import UsageError
from tailer.spark.kept_columns import missing, set_aside
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


def create_iceberg(spark: SparkSession, name: str, schema: StructType, *, replace: bool = False) -> None:
    """An empty table; `name` is quoted. `replace`: instead of the one that is there, whose snapshots stay."""
    # Rows are replaced one by one: files beside say which are gone, instead of all neighbours written once more.
    modes = {f"write.{act}.mode": "merge-on-read" for act in ("delete", "update", "merge")}
    writer = spark.createDataFrame([], schema).writeTo(name).using("iceberg").tableProperty("format-version", "2")
    for setting, value in modes.items():
        writer = writer.tableProperty(setting, value)
    if replace:
        writer.createOrReplace()
    else:
        writer.create()


def alter_iceberg(spark: SparkSession, name: str, want: StructType, renamed: Sequence[tuple[str, str]]) -> None:
    """The columns that are wanted, by the rules of `kept_columns`; `name` is quoted."""
    there = spark.table(name).schema
    names, wanted = {field.casefold() for field in there.names}, {field.casefold() for field in want.names}
    moved = [
        (before, after)
        for before, after in renamed
        if before.casefold() in names and before.casefold() not in wanted and after.casefold() not in names
    ]
    for before, after in moved:
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN {quoted_name(before)} TO {quoted_name(after)}")
    for before, after in set_aside(spark.table(name).schema, want):
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN {quoted_name(before)} TO {quoted_name(after)}")
    widen_iceberg(spark, name, spark.table(name).schema, want)


def widen_iceberg(spark: SparkSession, name: str, there: StructType, want: StructType) -> None:
    """Adds the columns and fields of structs that are missing, behind the others; `name` is quoted."""
    added = [f"{'.'.join(path)} {_ddl(kind)}" for path, kind in missing(there, want)]
    if added:
        spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({', '.join(added)})")


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
