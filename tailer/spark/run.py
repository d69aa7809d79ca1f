"""Runs a query over the data source for the commands: into a sink of ours, or into files. Turns what Spark raises back
into the documented errors.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from tailer.change.batch import Batch, ChangeBatch
from tailer.errors import CdcError, SinkError, SystemFailedError
from tailer.spark.errors import find_error
from tailer.spark.source import NAME

if TYPE_CHECKING:
    # For other packages too, which do not know where pyspark keeps them.
    from pyspark.sql import DataFrame
    from pyspark.sql import SparkSession as SparkSession
    from pyspark.sql.streaming.query import StreamingQuery as StreamingQuery

POLL_SECONDS: Final = 0.1
_SINK_MARKS: Final = ("FOREACH_BATCH", "TASK_WRITE_FAILED", "PATH_", "Mkdirs failed", "Permission denied")


class Takes(Protocol):
    """Takes change rows: any Sink does."""

    def write(self, batch: Batch) -> None: ...


class SinkRun:
    """A query whose micro-batches go to a sink in this process, as change rows in log order."""

    def __init__(self, session: SparkSession, options: Mapping[str, str], sink: Takes) -> None:
        self.rows = 0
        self.batches = 0
        """Micro-batches so far, empty ones too."""
        self._sink = sink
        self._failure: BaseException | None = None
        self._writer = changes(session, options).writeStream.foreachBatch(self._take)

    def start(self, checkpoint: str, *, once: bool) -> StreamingQuery:
        return start(self._writer, checkpoint, once=once)

    def wait(self, query: StreamingQuery) -> None:
        """Until the query ends by itself. Raises what the sink raised, or the query's error."""
        try:
            wait(query)
        except CdcError:
            self.raise_failure()
            raise

    def raise_failure(self) -> None:
        """What the sink raised, if it did: Spark would only tell of it."""
        if self._failure is not None:
            raise self._failure

    def _take(self, frame: DataFrame, number: int) -> None:
        try:
            table = frame.toArrow()
            if table.num_rows:
                self._sink.write(ChangeBatch(tuple(column.to_pylist() for column in table.columns)))
                self.rows += table.num_rows
            self.batches += 1
        except (OSError, SinkError) as error:
            self._failure = error
            raise


def changes(session: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """The stream of change rows."""
    try:
        return session.readStream.format(NAME).options(**options).load()
    except Exception as error:
        raise documented(error) from error


def start(writer: Any, checkpoint: str, *, once: bool) -> StreamingQuery:
    """Start a query; `once` = all that is there now (AvailableNow)."""
    writer = writer.option("checkpointLocation", checkpoint)
    if once:
        writer = writer.trigger(availableNow=True)
    query: StreamingQuery = writer.start()
    return query


def wait(query: StreamingQuery) -> None:
    """Until the query ends by itself. Raises its error as a documented one."""
    # Sleeping here, not in the JVM: an interrupt must not break the connection.
    while query.isActive:
        time.sleep(POLL_SECONDS)
    failure = query.exception()
    if failure is not None:
        raise documented(failure)


def stop(session: SparkSession) -> None:
    """End the session and its queries, in whatever state they are: what is not committed the next run reads again."""
    with suppress(Exception):
        for query in session.streams.active:
            query.stop()
    with suppress(Exception):
        session.stop()


def documented(error: BaseException) -> CdcError:
    """The documented error in something that Spark raised; else one that shows its first line."""
    text = str(error)
    found = find_error(text)
    if found is not None:
        return found
    line = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    if any(mark in text for mark in _SINK_MARKS):
        return SinkError(f"the query's sink failed: {line}")
    return SystemFailedError(f"the Spark query failed: {line}", remedy="CDC_TAIL_DEBUG=1 shows Spark's log.")
