"""A Spark query of images that keeps what each attempt at a micro-batch had; to be killed, and begun again:

    python -m tests.server.spark_attempts OPTIONS CHECKPOINT OUT

    OUT/rows/BATCH-….arrow       change rows, as a task had them of the source
    OUT/images/BATCH-….jsonl     the images of a micro-batch, before it is committed

`OPTIONS`: of the source, as JSON. A file has its name once it is whole.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow

from tailer.images.image_rows import ImageRows
from tailer.spark.arrow_map import map_in_arrow
from tailer.spark.images import SETTINGS, images
from tailer.spark.images.typed import images_of
from tailer.spark.run import run_query, stop
from tailer.spark.session import open_session
from tailer.spark.sinks.base import PlainSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS: Final = "rows"
IMAGES: Final = "images"
HELD_SECONDS: Final = 0.4
"""So long a batch is written and not committed: who wants to kill it there finds it there."""


class Attempts(PlainSink):
    """Takes micro-batches, also those that it had."""

    name = "files of each attempt"
    max_bytes = "8m"

    def __init__(self, out: Path) -> None:
        self._folder = out / IMAGES

    def writer(self, frame: DataFrame) -> Any:
        return frame.writeStream.foreachBatch(self.take)

    def take(self, frame: DataFrame, number: int) -> None:
        table = frame.toArrow()
        if table.num_rows:
            put(self._folder, f"{number}-{uuid4().hex}.jsonl", ImageRows(images_of(table)).json_lines())
            time.sleep(HELD_SECONDS)


def kept(out: Path) -> Callable[[DataFrame], DataFrame]:
    """Has tasks keep the rows that they have, before anything is made of them."""
    folder = out / ROWS

    def keep(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "it is a task"
        number = context.getLocalProperty("streaming.sql.batchId")
        for batch in batches:
            if batch.num_rows:
                put(folder, f"{number}-{uuid4().hex}.arrow", in_file(batch))
            yield batch

    return lambda frame: map_in_arrow(frame, keep, frame.schema)


def in_file(batch: pyarrow.RecordBatch) -> bytes:
    """As a file of Arrow's."""
    out = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(out, batch.schema) as writer:
        writer.write_batch(batch)
    return out.getvalue().to_pybytes()


def put(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{name}"
    temporary.write_bytes(data)
    temporary.rename(folder / name)


def main(options: dict[str, str], checkpoint: Path, out: Path) -> None:
    def say(line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    session = open_session("attempts", say, conf=SETTINGS)
    try:
        keep = kept(out)
        made = {"made": lambda frame: images(keep(frame), image="after")}
        run_query(session, options, Attempts(out), str(checkpoint), once=False, watch=lambda figures: None, **made)
    finally:
        stop(session)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
