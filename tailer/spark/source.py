"""The Spark data source `cdc_tail` (architecture section 7). Its constructor runs in several processes: it parses
options, and opens nothing. `schema()` runs once per load, and looks named tables up.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import BooleanType, DataType, IntegerType, LongType, StringType, StructField, StructType

from tailer.errors import UsageError
from tailer.options.to_spark import parse_options
from tailer.sinks.arrow import schema_of
from tailer.spark.change_columns import change_fields
from tailer.spark.errors import told
from tailer.spark.form import form_schema, typed_form
from tailer.spark.named import check_tables
from tailer.spark.own_start import begun

NAME = "cdc_tail"

_TYPES: dict[str, type[DataType]] = {
    "string": StringType,
    "bool": BooleanType,
    "int32": IntegerType,
    "int64": LongType,
}


class CdcTailSource(DataSource):
    """`spark.readStream.format("cdc_tail")` and `spark.read.format("cdc_tail")`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        with told():
            self._parsed = parse_options(options)
            self._ends = any(name.lower() == "endingoffsets" for name in options)

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        with told():
            parsed = begun(self._parsed)
            check_tables(parsed)
            form = typed_form(parsed)
            more = self._parsed.tail.extra_columns
            if form is None:
                return generic_schema(more)
            added = change_fields(form) if self._parsed.change_columns else []
            return StructType([*form_schema(form, more), *added])

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from tailer.spark.stream import CdcTailStreamReader

        with told():
            self._check_schema(schema)
            if self._ends:
                raise UsageError("endingOffsets is for batch reads", remedy="A stream has no end: leave it out.")
            parsed = begun(self._parsed)
        return CdcTailStreamReader(parsed, schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        from tailer.spark.batch import CdcTailReader

        with told():
            self._check_schema(schema)
            parsed = begun(self._parsed)
            if parsed.snapshots:
                raise UsageError(
                    "startingOffsets=snapshot is for streams", remedy="A batch read is of the log alone: leave it out."
                )
        return CdcTailReader(parsed, schema)

    def _check_schema(self, schema: StructType) -> None:
        """The generic form's columns are as they are; a typed one's are looked at where its table is looked up."""
        whole = generic_schema(self._parsed.tail.extra_columns)
        if self._parsed.tail.table is None and schema != whole:
            raise UsageError(
                "the columns cannot be chosen",
                expected=whole.simpleString(),
                found=schema.simpleString(),
                remedy="Leave out .schema(...), and select what you need.",
            )


def generic_schema(more: Sequence[str] = ()) -> StructType:
    """The change row's columns as Spark types. `more`: the columns behind all others."""
    return StructType([StructField(field.name, _TYPES[str(field.type)]()) for field in schema_of(None, more)])
