"""The Python interface: `Log.read` and `Log.follow` give Arrow record batches of change rows, or of images."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tailer.archive.service_log import begin_with_kept
from tailer.errors import CdcError, UsageError
from tailer.options.images import ImageOptions, check_images, split_images
from tailer.options.log_place import LogPlace, log_place
from tailer.options.snapshot import FROM
from tailer.options.tail import TailOptions
from tailer.options.to_python import folder_of, python_options
from tailer.tail.follow import steps
from tailer.tail.node_log import PATIENCE_SECONDS, node_log
from tailer.tail.open import hold_of, open_tail
from tailer.tail.step import Step
from tailer.tail.tail import Tail

if TYPE_CHECKING:
    import pyarrow


_NUMBERS: Final = itertools.count(1)
"""Tell the batch reads of a process apart."""


class Log:
    """One node's log, in a folder or at an address, with the options it is read with. Holds nothing open between calls.

    `notices`: what the last run had to say (a crash's remains, a loss that was accepted, rows held back).
    """

    def __init__(self, place: LogPlace, options: TailOptions, images: ImageOptions | None = None) -> None:
        self.folder = place
        self.options = options
        self.images = images
        self.notices: list[str] = []

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def read(self, start: str = "earliest", end: str = "latest") -> Iterator[pyarrow.RecordBatch]:
        """The rows from position `start` (inclusive) to `end` (exclusive) that are durable now, in log order.

        Positions are `segment:offset`, `earliest`, `latest`, or a node's JSON of an offset; `start` may be `snapshot`
        for a service's own log, which is all that its writer keeps. Holds what it reads
        while it runs (`hold_seconds`), and leaves every consumer where it is. Raises the documented errors of
        `tailer.errors`; UsageError for images, for a range has no rows before it.
        """
        if self.images is not None:
            raise UsageError(
                "images of a range: what its rows were before it is not known",
                remedy="Ask for follow(), or open the log without image.",
            )
        begun = self._begun(start)
        options = replace(begun, until=None if end == "latest" else end, consumer=None)
        return self._batches(options, writes=False, once=True)

    def follow(self, *, once: bool = False, start: str = "earliest") -> Iterator[pyarrow.RecordBatch]:
        """The rows from `start` on (see `read`), for ever; with `once` all that is there now.

        With the option `consumer` it goes on where that consumer stopped, and its position is saved when the batches
        up to it were taken: ask for the next one only when the last is safe. With the option `image` the batches are of
        images.
        """
        if self.images is not None:
            return self._images(self.images, start, once=once)
        return self._batches(self._begun(start), writes=True, once=once)

    def _begun(self, start: str) -> TailOptions:
        if start != FROM:
            return replace(self.options, start=start)
        kept = begin_with_kept(self.options, [self.folder])
        if kept is None:
            raise UsageError(
                "start=snapshot: what was in a table before its log only its server can tell, which is not asked here",
                file=str(self.folder),
                remedy="Read tables with `cdc-tail follow --from snapshot`, or in Spark (startingOffsets=snapshot).",
            )
        return kept

    def _images(self, images: ImageOptions, start: str, *, once: bool) -> Iterator[pyarrow.RecordBatch]:
        # Who reads rows needs none of it.
        from tailer.tail.images.batches import image_batches

        self.notices = []
        settings = self._begun(start).for_run(once=once)
        yield from image_batches(self.folder, settings, images, once=once, say=self.notices.append)

    def _batches(self, options: TailOptions, *, writes: bool, once: bool) -> Iterator[pyarrow.RecordBatch]:
        self.notices = []
        settings = options.for_run(once=once)
        log = node_log(self.folder, settings, PATIENCE_SECONDS)
        hold = None if writes else hold_of(log, settings, f"{os.getpid()}-{next(_NUMBERS)}")
        with open_tail(log, settings, writes=writes, hold=hold) as tail:
            try:
                for step in steps(tail, once=once, say=self.notices.append):
                    yield from _batches(tail, step)
                    tail.advance(step)
                    tail.save()
            finally:
                self.notices.extend(tail.last_notices())


def _batches(tail: Tail, step: Step) -> Iterator[pyarrow.RecordBatch]:
    """A step's batches. Each is saved as taken, by a consumer, before the next one is given, or an error is raised."""
    try:
        for task in step.tasks:
            for batch in tail.read(task):
                tail.save_taken()
                yield batch.to_arrow()
                tail.took(step, task, batch)
            tail.took(step, task)
    except CdcError:
        tail.save_taken()
        raise


def open_log(folder: str | PathLike[str] | None, tables: Sequence[str], options: Mapping[str, Any]) -> Log:
    """`tailer.open`."""
    asked, images = split_images(options)
    given = python_options({"tables": tables, **asked}, program="tailer.open")
    if images is not None:
        from tailer.image_state.library import check_library

        check_images(given)
        check_library()
    place = folder_of(given) if folder is None else log_place(os.fspath(folder))
    if isinstance(place, Path):
        # A folder in which no log is kept is refused here already.
        node_log(place, given)
    return Log(place, given, images)
