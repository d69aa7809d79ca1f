"""Images of one node's log as Arrow batches, for who asks for one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tailer.image_state.one_transaction import ImageBatch
from tailer.options.images import ImageOptions
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.tail.deliver import deliveries
from tailer.tail.follow import Say
from tailer.tail.images.feed import ImageFeed
from tailer.tail.images.form import LeftOutValues, typed_images
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
        drained = _Drained(run, waiting, LeftOutValues(say))
        if options.table is None:
            yield from drained
        log = node_log(place, run.tail, PATIENCE_SECONDS)
        with open_tail(log, run.tail) as tail:
            drained.form = None if options.table is None else typed_images(tail, options)
            feed = ImageFeed(tail, run.stream, run.timers, say, tokens=images.tokens)
            try:
                yield from drained
                for _ in deliveries(feed, once=once, say=say):
                    yield from drained
            finally:
                # Also where nobody asks for more, or an error ends it.
                drained.left_out.report(drained.form, last=True)


class _Drained:
    """What waits, in Arrow, each time that this is gone through. `form`: of the images, None for the generic one."""

    def __init__(self, run: ImageRun, waiting: deque[ImageBatch], left_out: LeftOutValues) -> None:
        self.form: TypedImages | None = None
        self.left_out = left_out
        self._run = run
        self._waiting = waiting

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        while self._waiting:
            batch = self._waiting.popleft()
            before = self._run.images.before
            if self.form is None:
                yield batch.rows(before=before).to_arrow()
            elif len(rows := self.form.rows(batch.images, before=before)):
                yield rows.to_arrow()
            self.left_out.report(self.form)
            self._run.stream.taken(batch.number)
