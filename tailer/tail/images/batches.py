"""Images of one node's log as Arrow batches, for who asks for one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tailer.image_state.one_transaction import ImageBatch
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


def image_batches(
    place: LogPlace, options: TailOptions, images: ImageOptions, *, once: bool, say: Say
) -> Iterator[pyarrow.RecordBatch]:
    """The images of a log; a batch is taken when the next one is asked for. Raises the documented errors."""
    waiting: deque[ImageBatch] = deque()

    def give(batch: ImageBatch) -> bool:
        waiting.append(batch)
        return False

    with image_run([(options.node, place)], options, images, give, say, once=once) as run:
        yield from _drained(run, waiting)
        log = node_log(place, run.tail, PATIENCE_SECONDS)
        with open_tail(log, run.tail) as tail:
            feed = ImageFeed(tail, run.stream, run.timers, say, tokens=images.tokens)
            for _ in deliveries(feed, once=once, say=say):
                yield from _drained(run, waiting)


def _drained(run: ImageRun, waiting: deque[ImageBatch]) -> Iterator[pyarrow.RecordBatch]:
    while waiting:
        batch = waiting.popleft()
        yield ImageRows(batch.images, before=run.images.before).to_arrow()
        run.stream.taken(batch.number)
