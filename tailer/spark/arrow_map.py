"""Spark's `mapInArrow` without pandas, which it asks for and does not use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tailer.errors import UsageError
from tailer.spark.quoting import quoted_name

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

ArrowMap = Callable[[Iterable["pyarrow.RecordBatch"]], Iterator["pyarrow.RecordBatch"]]


def map_in_arrow(frame: DataFrame, function: ArrowMap, schema: StructType | str) -> DataFrame:
    """`frame.mapInArrow(function, schema)`; where pandas is missing, the same by what lies beneath it."""
    if find_spec("pandas") is not None:
        return frame.mapInArrow(function, schema)
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    if not isinstance(frame, ClassicDataFrame):
        raise UsageError(
            "Spark Connect maps Arrow batches with pandas only", remedy="Install it: pip install 'pandas>=2.2,<3'."
        )
    make: Any = UserDefinedFunction
    mapped = make(function, schema, name=None, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column = mapped(*[frame[quoted_name(name)] for name in frame.columns])
    return ClassicDataFrame(frame._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)
