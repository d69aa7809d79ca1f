"""The typed form of a run's images, out of what a node's log has defined by then. Reads no row and holds no state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tailer.reading.counted_notices import CountedNotices
from tailer.reading.reader import count_left_out
from tailer.tail.follow import Say

if TYPE_CHECKING:
    from tailer.images.typed import TypedImages
    from tailer.options.tail import TailOptions
    from tailer.tail.tail import Tail


def typed_images(tail: Tail, options: TailOptions) -> TypedImages:
    """The form of the images of the options' table. Raises the errors of `Tail.typed_form`."""
    from tailer.images.typed import KNOWN, TypedImages

    assert options.table is not None, "images are asked for in the typed form"
    named = msgspec.structs.replace(options.typed, more=(*options.typed.more, KNOWN))
    form = tail.typed_form(options.table, named, tail.offset.position if tail.resumed else None)
    of_name = [each for each in tail.parts.definitions.latest().values() if each.name == options.table]
    return TypedImages(form, {column.name for each in of_name for column in each.columns if column.dropped})


class LeftOutValues:
    """Reports which values of typed images have no column, where the options leave them out."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._notices = CountedNotices()

    def report(self, form: TypedImages | None, *, last: bool = False) -> None:
        """Behind a batch. `last`: the run ends."""
        if form is not None:
            count_left_out(form.left_out, "", self._notices)
        for notice in self._notices.take(last=last):
            self._say(notice)
