"""Images of one node's log as Arrow batches, for who asks for one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tailer.image_state.one_transaction import ImageBatch
from tailer.images.image import Image
from tailer.images.image_rows import ImageRows
from tailer.options.images import ImageOptions
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.tail.deliver import deliveries
from tailer.tail.follow import Say
from tailer.tail.images.feed import ImageFeed
from tailer.tail.images.run import ImageRun, image_run
from tailer.tail.node_log import PATIENCE_SECONDS, node_log
from tailer.tail.open import open_tail

if TYPE_CHECKING:
    import pyarrow

    from tailer.images.typed import TypedImages


def image_batches(
    place: LogPlace, options: TailOptions, images: ImageOptions, *, once: bool, say: Say
) -> Iterator[pyarrow.RecordBatch]:
    """The images of a log; a batch is taken when the next one is asked for. Raises the documented errors."""
    waiting: deque[ImageBatch] = deque()

    def give(batch: ImageBatch) -> bool:
        waiting.append(batch)
        return False

    with image_run([(options.node, place)], options, images, give, say, once=once) as run:
        drained = _Drained(run, waiting, options)
        yield from drained
        log = node_log(place, run.tail, PATIENCE_SECONDS)
        with open_tail(log, run.tail) as tail:
            feed = ImageFeed(tail, run.stream, run.timers, say, tokens=images.tokens)
            for _ in deliveries(feed, once=once, say=say):
                yield from drained


class _Drained:
    """What waits, in Arrow, each time that this is gone through."""

    def __init__(self, run: ImageRun, waiting: deque[ImageBatch], options: TailOptions) -> None:
        self._run = run
        self._waiting = waiting
        self._table, self._options = options.table, options.typed
        self._typed: TypedImages | None = None

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        while self._waiting:
            batch = self._waiting.popleft()
            yield from self._shown(ImageRows(batch.images, before=self._run.images.before))
            self._run.stream.taken(batch.number)

    def _shown(self, rows: ImageRows) -> Iterator[pyarrow.RecordBatch]:
        if self._table is None:
            yield rows.to_arrow()
        elif wanted := [image for image in rows.images if f"{image.keyspace}.{image.table}" == self._table]:
            yield self._form(wanted[0]).to_arrow(wanted)

    def _form(self, first: Image) -> TypedImages:
        if self._typed is None:
            from tailer.images.typed import TypedImages

            newest = self._run.stream.definition(first.table_id.replace("-", ""))
            assert newest is not None, "its image is of a table that the state knows"
            self._typed = TypedImages(newest, self._options)
        return self._typed
