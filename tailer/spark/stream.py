"""The stream reader: what Spark calls, handed on. Nothing is opened before the source runner makes its first call.

One class serves Spark 4.0 to 4.3: before 4.2 `latestOffset` is called without arguments, and there is no
`Trigger.AvailableNow` for Python sources (there it is one batch of everything).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from tailer.options.to_spark import SourceOptions
from tailer.spark.errors import told
from tailer.spark.offsets import Json

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

    from tailer.spark.planner import Planner

    class AvailableNow:
        """The mixin of Spark 4.2 and newer."""

else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow as AvailableNow
    except ImportError:

        class AvailableNow:
            """Spark 4.0 and 4.1 have none."""


class CdcTailStreamReader(DataSourceStreamReader, AvailableNow):
    """Pickled for the workers before it is used: there it only reads partitions."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._planner: Planner | None = None
        self._batch_end: Json | None = None

    def initialOffset(self) -> Json:
        with told():
            return self._running().initial()

    def latestOffset(self, start: Json | None = None, limit: Any = None) -> Json:
        """`limit` is obeyed where Spark passes one; before 4.2 the option is."""
        max_bytes = self._options.batch_bytes if limit is None else getattr(limit, "max_bytes", None)
        with told():
            self._batch_end = self._running().latest(start, max_bytes)
        return self._batch_end

    def getDefaultReadLimit(self) -> Any:
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

        max_bytes = self._options.batch_bytes
        return ReadAllAvailable() if max_bytes is None else ReadMaxBytes(max_bytes)

    def reportLatestOffset(self) -> Json | None:
        with told():
            return self._running().report(self._batch_end)

    def prepareForTriggerAvailableNow(self) -> None:
        with told():
            self._running().prepare_available_now()

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        with told():
            return [InputPartition(job) for job in self._running().partitions(start, end)]

    def commit(self, end: Json) -> None:
        with told():
            self._running().commit(end)

    def stop(self) -> None:
        # Spark seldom calls it: the process is killed instead.
        if self._planner is not None:
            self._planner.close()

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return read_partition(partition, self._schema)

    def _running(self) -> Planner:
        if self._planner is None:
            from tailer.spark.form import check_form, typed_form
            from tailer.spark.named import check_tables
            from tailer.spark.planner import Planner

            check_tables(self._options)
            form = typed_form(self._options)
            if form is not None:
                check_form(form, self._schema, self._options.tail.extra_columns)
            self._planner = Planner(self._options, form)
        return self._planner


def read_partition(partition: InputPartition, schema: StructType) -> Iterator[pyarrow.RecordBatch]:
    """The rows of one partition in a DataFrame's columns, on an executor."""
    with told():
        # Loaded for an empty partition too: its purpose is a worker that is ready.
        from tailer.spark.change_columns import with_changes
        from tailer.spark.executor import read_job
        from tailer.spark.fit import arrow_columns, fit

        want = arrow_columns(schema)
        if partition.value:
            for batch in read_job(partition.value):
                yield fit(with_changes(batch, schema), want)
