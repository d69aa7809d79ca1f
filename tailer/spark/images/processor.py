"""Images as Spark's stateful processor: its maps as maps of bytes, its timers, and what it takes and gives.

What is done with them is the bucket's business. Loaded where Spark has row-based `transformWithState`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, StructField, StructType

from tailer.images.forgetting import late_sentence
from tailer.images.image import COLUMNS, Image
from tailer.rebuild.changes import NEEDED
from tailer.spark.errors import told
from tailer.spark.executor_log import say
from tailer.spark.images.bucket import Bucket
from tailer.spark.images.job import Job, unpacked
from tailer.spark.images.maps import Maps
from tailer.typed_decode import json_decoder

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        MapState,
        StatefulProcessorHandle,
        TimerValues,
    )

SAID: Final = (*NEEDED, "row", "event_id")
"""The columns of a change row that travel to a task, as one JSON text; those that are null are left out."""

_NOTHING: Final = dict.fromkeys(SAID)
_KEY: Final = StructType([StructField("key", BinaryType())])
_VALUE: Final = StructType([StructField("value", BinaryType())])


class SparkMap:
    """A map of bytes in Spark's state."""

    def __init__(self, state: MapState) -> None:
        self._state = state

    def get(self, key: bytes) -> bytes | None:
        found: Any = self._state.getValue((key,))
        return None if found is None else bytes(found[0])

    def put(self, key: bytes, value: bytes) -> None:
        self._state.updateValue((key,), (value,))

    def remove(self, key: bytes) -> None:
        self._state.removeKey((key,))

    def keys(self) -> Iterator[bytes]:
        found: Iterator[Any] = self._state.keys()
        return (bytes(key[0]) for key in found)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        return ((bytes(key[0]), bytes(value[0])) for key, value in self._state.iterator())


class ImageProcessor(StatefulProcessor):
    """Of a packed job. Keys are a table's id and the number of a bucket, rows `said` and `now_us`."""

    def __init__(self, job: bytes) -> None:
        self._packed = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        """A task begins."""
        self._handle = handle
        self._job: Job = unpacked(self._packed)
        self._maps = Maps(*(SparkMap(handle.getMapState(name, _KEY, _VALUE)) for name in Maps._fields))

    def handleInputRows(self, key: Any, rows: Any, timerValues: TimerValues) -> Iterator[Row]:
        """A batch's rows of one bucket."""
        table_id, number = key
        with told():
            given = list(rows)
            changes = [{**_NOTHING, "table_id": table_id, **_decoded(row.said)} for row in given]
            bucket = Bucket(table_id, number, self._maps, self._job, given[0].now_us)
            return self._given(bucket, bucket.take(changes))

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Something in a bucket may be due."""
        with told():
            table_id, number = key
            now_us = timerValues.getCurrentProcessingTimeInMs() * 1000
            bucket = Bucket(table_id, number, self._maps, self._job, now_us)
            return self._given(bucket, bucket.expire())

    def close(self) -> None:
        """A task has ended: all was put into Spark's state bucket by bucket."""

    def _given(self, bucket: Bucket, images: Iterable[Image]) -> Iterator[Row]:
        due = bucket.close()
        if bucket.late_facts:
            say(f"warning: {late_sentence(bucket.late_facts)} Is forget_after too short?")
        if due is not None and self._job.expirations:
            self._handle.registerTimer(due * 1000)
        before = self._job.before
        return iter([_row(image if before else msgspec.structs.replace(image, before=None)) for image in images])


def _row(image: Image) -> Row:
    values = msgspec.structs.asdict(image)
    values["changed"] = list(image.changed)
    return Row(**{name: values[name] for name in COLUMNS})


def _decoded(said: str) -> dict[str, Any]:
    return _DECODER.decode(said)


_DECODER: Final = json_decoder(dict[str, Any])
