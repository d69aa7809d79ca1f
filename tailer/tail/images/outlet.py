"""The state of images as the outlet of one node's rows: it keeps their place. Knows no file and no sink."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from tailer.images import Image
from tailer.options.token_range import TokenRange
from tailer.position import Position
from tailer.rebuild.changes import NEEDED
from tailer.sinks.base import Rows
from tailer.sinks.outlet import Bounds, OutletContext, Place
from tailer.tail.images.merging import Merging
from tailer.tail.images.stream import ImageStream
from tailer.tail.images.told import Told, began
from tailer.tail.tail import Tail

BOUNDS: Final = Bounds(10_000, 16 << 20, 0.02)
"""Of a backlog; live rows wait a little for others, for a transaction of one costs as much as one of a hundred."""

_COLUMNS: Final = [*NEEDED, "row", "event_id"]

_NO_STATE: Final = "none"
"""What the state of a log is called where none is kept."""


class ImageOutlet:
    """An Outlet. `keeps_place`: whether the tail has a consumer, so that it goes on where the images are."""

    def __init__(
        self,
        stream: ImageStream,
        tail: Tail,
        context: OutletContext,
        tokens: TokenRange | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.name = f"the state of images {stream.where}"
        self.keeps_place = tail.options.consumer is not None
        self.bounds = bounds or BOUNDS
        self._stream = stream
        self._tail = tail
        self._node, self._folder = context.key.node, context.key.folder or _NO_STATE
        self._tokens = tokens
        self._told = Told(tail)
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0

    def open(self) -> Place | None:
        return self._stream.join(self._node, self._folder, lambda: began(self._tail, self._folder))

    def write(self, batch: Rows) -> int:
        made = batch.to_arrow()
        self._bytes += made.nbytes
        rows = made.select(_COLUMNS).to_pylist()
        self._rows += rows if self._tokens is None else [row for row in rows if self._tokens.has(row["token"])]
        return self._bytes

    def commit(self, before: Place | None, behind: Place) -> None:
        self._stream.commit(self._node, before if self.keeps_place else self.open(), behind, self._merge)
        self.settled()

    def settled(self) -> None:
        self._told.settled()
        self._rows, self._bytes = [], 0

    def close(self) -> None:
        """Others go on."""
        self._rows, self._bytes = [], 0

    def _merge(self, merging: Merging) -> list[Image]:
        self._told.begin()
        # One that stands behind some of the rows counts for them too: it is in the journal already.
        self._told.losses(merging)
        images: list[Image] = []
        for at, rows in self._entries():
            images += self._told.before(merging, at, rows)
            images += merging.merger.entry(rows, merging.now_us)
            images += self._told.behind(merging, rows)
        return images

    def _entries(self) -> Iterator[tuple[Position, list[dict[str, Any]]]]:
        """The rows that wait, entry by entry."""
        for place, rows in groupby(self._rows, key=lambda row: (row["segment"], row["offset"])):
            yield Position(*place), list(rows)
