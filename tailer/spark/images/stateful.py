"""Spark's row-based `transformWithState` without pandas, which it asks for and does not use."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tailer.spark.quoting import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor
    from pyspark.sql.types import StructType


def transform_with_state(
    frame: DataFrame, keys: tuple[str, ...], processor: StatefulProcessor, schema: StructType, time_mode: str
) -> DataFrame:
    """`frame.groupBy(keys).transformWithState(…)`; where pandas is missing, the same by what lies beneath it."""
    grouped: Any = frame.groupBy(*keys)
    if find_spec("pandas") is not None:
        made: DataFrame = grouped.transformWithState(processor, schema, "append", time_mode)
        return made
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
    from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    make: Any = UserDefinedFunction
    calls = TransformWithStateInPandasUdfUtils(processor, time_mode).transformWithStateUDF
    kind = PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF
    column = make(calls, schema, name=None, evalType=kind)(*[frame[quoted_name(name)] for name in frame.columns])
    session: Any = frame.sparkSession
    out = session._jsparkSession.parseDataType(schema.json())
    made_by = grouped._jgd.transformWithStateInPySpark(column._jc, out, "append", time_mode, None, "")
    return ClassicDataFrame(made_by, frame.sparkSession)
