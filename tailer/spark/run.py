"""Runs a query over the data source for the commands: into a sink of ours, or into files. Turns what Spark raises back
into the documented errors. Loads PySpark when a query is made: the commands look for it first.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tailer.errors import CdcError, SinkError, SystemFailedError
from tailer.spark.errors import find_error
from tailer.spark.progress import Figures, ProgressReader, Told, nobody
from tailer.spark.session import spark_line
from tailer.spark.sinks.base import QuerySink
from tailer.spark.sinks.console import ConsoleSink, Takes

if TYPE_CHECKING:
    # For other packages too, which do not know where pyspark keeps them.
    from pyspark.sql import DataFrame as DataFrame
    from pyspark.sql import SparkSession as SparkSession
    from pyspark.sql.streaming.query import StreamingQuery as StreamingQuery

POLL_SECONDS: Final = 0.2
WAIT_MILLIS: Final = 5000
"""How long the source of a query of ours may wait for data: the less often Spark asks, the less an idle query costs."""
_SINK_MARKS: Final = (
    "FOREACH_BATCH",
    "TASK_WRITE_FAILED",
    "PATH_",
    "Mkdirs failed",
    "Permission denied",
    "DELTA_",
    "org.apache.iceberg",
)


class SinkRun:
    """A query whose micro-batches go to a sink in this process, as change rows in log order."""

    def __init__(self, session: SparkSession, options: Mapping[str, str], sink: Takes) -> None:
        self._sink = ConsoleSink(sink, None)
        self._writer = self._sink.writer(changes(session, options))

    @property
    def rows(self) -> int:
        return self._sink.rows

    @property
    def batches(self) -> int:
        """Micro-batches so far, empty ones too."""
        return self._sink.batches

    def start(self, checkpoint: str, *, once: bool) -> StreamingQuery:
        return start(self._writer, checkpoint, once=once)

    def wait(self, query: StreamingQuery) -> None:
        """Until the query ends by itself. Raises what the sink raised, or the query's error."""
        with _failure_of(self._sink):
            wait(query)


def run_query(
    session: SparkSession,
    options: Mapping[str, str],
    sink: QuerySink,
    checkpoint: str,
    *,
    once: bool,
    watch: Callable[[Callable[[], Figures]], None],
    told: Told = nobody,
    made: Callable[[DataFrame], DataFrame] = lambda frame: frame,
) -> None:
    """A whole query, until it ends by itself. `watch` is called often, with what tells how far the query is; when it
    asks, `told` hears of each micro-batch since it asked last. `made`: what is made of the rows before the sink."""
    patience = {} if once else {"waitMillis": str(WAIT_MILLIS)}
    frame = made(changes(session, {**patience, **_limit(session, options, sink, once=once), **options}))
    sink.prepare(session, frame)
    figures = Figures()
    for _ in range(_runs(session, once)):
        query = start(sink.writer(frame), checkpoint, once=once)
        progress = ProgressReader(query, told, figures)
        with _failure_of(sink):
            wait(query, partial(watch, progress.read))
        # What came since it was asked last is in the sums of the next.
        progress.read()
    sink.close()


def _limit(session: SparkSession, options: Mapping[str, str], sink: QuerySink, *, once: bool) -> dict[str, str]:
    """The sink's limit of a micro-batch, where nothing else sets one."""
    # Before 4.2 AvailableNow is one micro-batch: a limit would end the run there.
    whole = once and _one_batch(session)
    return {} if whole or options.get("readOn") == "driver" else {"maxBytesPerTrigger": sink.max_bytes}


def _runs(session: SparkSession, once: bool) -> int:
    """How often a query is started until it has read what was there at first."""
    # Where a run is one micro-batch, behind a kill it is the one that was not finished: the rest comes with a second.
    return 2 if once and _one_batch(session) else 1


def _one_batch(session: SparkSession) -> bool:
    """Whether AvailableNow is one micro-batch of a Python source: there was no such trigger for them before 4.2."""
    return spark_line(session.version) < (4, 2)


@contextmanager
def _failure_of(sink: QuerySink) -> Iterator[None]:
    """What the sink raised, if it did: Spark would only tell of it."""
    try:
        yield
    except CdcError:
        if sink.failure is not None:
            raise sink.failure from None
        raise


def changes(session: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """The stream of change rows."""
    from tailer.spark.source import NAME

    try:
        return session.readStream.format(NAME).options(**options).load()
    except Exception as error:
        raise documented(error) from error


def start(writer: Any, checkpoint: str, *, once: bool) -> StreamingQuery:
    """Start a query; `once` = all that is there now (AvailableNow)."""
    writer = writer.option("checkpointLocation", checkpoint)
    if once:
        writer = writer.trigger(availableNow=True)
    try:
        query: StreamingQuery = writer.start()
    except Exception as error:
        raise documented(error) from error
    return query


def wait(query: StreamingQuery, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Until the query ends by itself. Raises its error as a documented one."""
    with needs_jvm():
        # Sleeping here, not in the JVM: an interrupt must not break the connection.
        while query.isActive:
            time.sleep(POLL_SECONDS)
            meanwhile()
        failure = query.exception()
    if failure is not None:
        raise documented(failure)


@contextmanager
def needs_jvm() -> Iterator[None]:
    """SystemFailedError where Spark's JVM ends within the block (killed, or out of memory)."""
    # py4j logs each call that finds no JVM with a traceback, to the root logger.
    log = logging.getLogger()
    log.addFilter(_is_of_other_calls)
    try:
        yield
    except Exception as error:
        if not _is_of_ended_jvm(error):
            raise
        raise _jvm_ended() from error
    finally:
        log.removeFilter(_is_of_other_calls)


def _is_of_ended_jvm(error: BaseException) -> bool:
    """Whether a call found no JVM. A Py4JJavaError is an exception of Java's: there the JVM is alive."""
    from py4j.protocol import Py4JError, Py4JJavaError

    return isinstance(error, Py4JError | ConnectionError | EOFError) and not isinstance(error, Py4JJavaError)


def _jvm_ended() -> SystemFailedError:
    return SystemFailedError(
        "Spark's JVM has ended",
        remedy="Start again: the query goes on from its checkpoint. If it ends again, give it more memory "
        "(--conf spark.driver.memory=4g); CDC_TAIL_DEBUG=1 shows Spark's log.",
    )


def _is_of_other_calls(record: logging.LogRecord) -> bool:
    return record.msg != "Exception while sending command." or os.environ.get("CDC_TAIL_DEBUG") == "1"


def stop(session: SparkSession) -> None:
    """End the session and its queries, in whatever state they are: what is not committed the next run reads again."""
    with suppress(Exception):
        for query in session.streams.active:
            query.stop()
    with suppress(Exception):
        session.stop()


_CAUSE: Final = "Caused by: "


def documented(error: BaseException) -> CdcError:
    """The documented error in something that Spark raised; else one that shows its first line."""
    if _is_of_ended_jvm(error):
        return _jvm_ended()
    texts = [str(each) for each in _causes(error)]
    found = next(filter(None, map(find_error, texts)), None)
    if found is not None:
        return found
    line = _first_sentence(texts) or type(error).__name__
    if any(mark in text for text in texts for mark in _SINK_MARKS):
        return SinkError(f"the query's sink failed: {line}")
    return SystemFailedError(f"the Spark query failed: {line}", remedy="CDC_TAIL_DEBUG=1 shows Spark's log.")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """It, and what caused it, the last one last. What Spark raised keeps its cause under a name of its own."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = getattr(cause, "_cause", None)


def _first_sentence(texts: Sequence[str]) -> str:
    """The first line of the first; with the last cause behind it where it only says that there is one."""
    first, *more = [[line.strip() for line in text.splitlines() if line.strip()] for text in texts]
    if not first or not first[0].endswith(":"):
        return first[0] if first else ""
    told = [lines[0] for lines in more if lines]
    causes = [line.removeprefix(_CAUSE) for line in first if line.startswith(_CAUSE)]
    return " ".join([first[0], *[*first[1:2], *causes, *told][-1:]])
