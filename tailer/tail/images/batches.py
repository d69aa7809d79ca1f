"""Images of one node's log as Arrow batches, for who asks for one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tailer.image_state.one_transaction import ImageBatch
from tailer.images.image_rows import ImageRows
from tailer.options.images import ImageOptions
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.reading.reader import left_out_notices
from tailer.schema.typed import TypedOptions
from tailer.tail.deliver import deliveries
from tailer.tail.follow import Say
from tailer.tail.images.feed import ImageFeed
from tailer.tail.images.run import ImageRun, image_run
from tailer.tail.node_log import PATIENCE_SECONDS, node_log
from tailer.tail.open import open_tail
from tailer.tail.tail import Tail

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
        drained = _Drained(run, waiting)
        if options.table is None:
            yield from drained
        log = node_log(place, run.tail, PATIENCE_SECONDS)
        with open_tail(log, run.tail) as tail:
            drained.form = None if options.table is None else _typed(tail, options.table, options.typed)
            feed = ImageFeed(tail, run.stream, run.timers, say, tokens=images.tokens)
            yield from drained
            for _ in deliveries(feed, once=once, say=say):
                yield from drained
        if drained.form is not None:
            for notice in left_out_notices(drained.form.left_out, ""):
                say(notice)


def _typed(tail: Tail, table: str, options: TypedOptions) -> TypedImages:
    """The form of the table's images, by all that its log says now."""
    from tailer.images.typed import KNOWN, TypedImages

    named = msgspec.structs.replace(options, more=(*options.more, KNOWN))
    form = tail.typed_form(table, named, tail.offset.position if tail.resumed else None)
    of_name = [each for each in tail.parts.definitions.latest().values() if each.name == table]
    return TypedImages(form, {column.name for each in of_name for column in each.columns if column.dropped})


class _Drained:
    """What waits, in Arrow, each time that this is gone through. `form`: of the images, None for the generic one."""

    def __init__(self, run: ImageRun, waiting: deque[ImageBatch]) -> None:
        self.form: TypedImages | None = None
        self._run = run
        self._waiting = waiting

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        while self._waiting:
            batch = self._waiting.popleft()
            yield from self._shown(ImageRows(batch.images, before=self._run.images.before))
            self._run.stream.taken(batch.number)

    def _shown(self, rows: ImageRows) -> Iterator[pyarrow.RecordBatch]:
        if self.form is None:
            yield rows.to_arrow()
            return
        wanted = [image for image in rows.images if f"{image.keyspace}.{image.table}" == self.form.table]
        if wanted:
            yield self.form.to_arrow(wanted)
