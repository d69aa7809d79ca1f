"""The floor of the Spark benchmarks: data sources that do what Spark asks of one and nothing else.

`empty_live` waits for a sidecar as `cdc_tail` does and yields one ready-made Arrow batch for each change of it;
`empty_backlog` yields that batch again and again. The batch is in an Arrow file that the option `batch` names. Neither
reads a log, decodes, remembers or checks anything. Shares no code with `tailer`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import inotify_simple
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

WAIT_SECONDS = 0.5
TICK_SECONDS = 40.0
"""As `cdc_tail` has them by default."""

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow as _AvailableNow
except ImportError:

    class _AvailableNow:  # type: ignore[no-redef]
        """Spark 4.0 and 4.1 have none."""


class _Empty(DataSource):
    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._given = dict(options)

    def schema(self) -> StructType:
        return from_arrow_schema(read_batch(self._given["batch"]).schema)


class EmptyLive(_Empty):
    """Options: `sidecar`, a file whose first line is a number; `batch`."""

    @classmethod
    def name(cls) -> str:
        return "empty_live"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _LiveReader(Path(self._given["sidecar"]), self._given["batch"])


class EmptyBacklog(_Empty):
    """Options: `batch`; `partitions`; `rows`, how many each partition yields."""

    @classmethod
    def name(cls) -> str:
        return "empty_backlog"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _BacklogReader(int(self._given["partitions"]), int(self._given["rows"]), self._given["batch"])


class _LiveReader(DataSourceStreamReader):
    def __init__(self, sidecar: Path, batch: str) -> None:
        self._sidecar, self._batch = sidecar, batch
        self._watch: Any = None
        self._tick = 0
        self._woken = time.monotonic()

    def initialOffset(self) -> dict[str, int]:
        return {"tick": 0, "end": self._end()}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:
        """Behind what the sidecar says, at once or within half a second; a tick keeps the worker alive."""
        if self._watch is None:
            self._watch = inotify_simple.INotify()
            self._watch.add_watch(str(self._sidecar.parent), inotify_simple.flags.CLOSE_WRITE)
        start = start or self.initialOffset()
        deadline = time.monotonic() + WAIT_SECONDS
        while (end := self._end()) == start["end"]:
            if time.monotonic() - self._woken >= TICK_SECONDS:
                self._tick += 1
                break
            left = deadline - time.monotonic()
            if left <= 0:
                return start
            self._watch.read(timeout=max(1, int(left * 1000)))
        self._woken = time.monotonic()
        return {"tick": self._tick, "end": end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        if start == end:
            return []
        return [InputPartition(start["end"] != end["end"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        batch = read_batch(self._batch)
        if partition.value:
            yield batch

    def _end(self) -> int:
        text = self._sidecar.read_bytes().split(b"\n")[0]
        # Empty for a moment: truncated, and not written yet.
        while not text:
            text = self._sidecar.read_bytes().split(b"\n")[0]
        return int(text)


class _BacklogReader(DataSourceStreamReader, _AvailableNow):
    def __init__(self, partitions: int, rows: int, batch: str) -> None:
        self._partitions, self._rows, self._batch = partitions, rows, batch

    def initialOffset(self) -> dict[str, int]:
        return {"at": 0}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:
        return {"at": 1}

    def getDefaultReadLimit(self) -> Any:
        from pyspark.sql.streaming.datasource import ReadAllAvailable

        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        pass

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [] if start == end else [InputPartition(number) for number in range(self._partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        batch = read_batch(self._batch)
        left = self._rows
        while left > 0:
            yield batch.slice(0, left)
            left -= batch.num_rows


@cache
def read_batch(file: str) -> pa.RecordBatch:
    """Once for a process's life."""
    with pa.ipc.open_file(file) as reader:
        return reader.get_batch(0)


def write_batch(batch: pa.RecordBatch, file: Path) -> None:
    with pa.ipc.new_file(str(file), batch.schema) as writer:
        writer.write_batch(batch)
