"""The state of images as the outlet of one node's rows: it keeps their place. Knows no file and no sink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tailer.errors import DefinitionError
from tailer.images import Image
from tailer.images.encoded import EncodedImages
from tailer.jit.ready import twin_now
from tailer.options.token_range import TokenRange
from tailer.planning.two_positions import offset_of_text
from tailer.sinks.base import Rows
from tailer.sinks.outlet import Bounds, OutletContext, Place
from tailer.tail.created_again import newest_put, rows_of
from tailer.tail.images.merging import Merging
from tailer.tail.images.stream import ImageStream
from tailer.tail.images.told import Told, began
from tailer.tail.images.waiting import Entry, WaitingRows
from tailer.tail.tail import Tail

if TYPE_CHECKING:
    from tailer.rows.generic.compiled.batch import ArrayBatch

BOUNDS: Final = Bounds(10_000, 16 << 20, 0.02)
"""Of a backlog; live rows wait a little for others, for a transaction of one costs as much as one of a hundred."""

_COMPILED: Final = "tailer.image_state.compiled.lane"

_DASH: Final = "-"
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
        self._rows = WaitingRows(tokens)
        self._alters = False

    def open(self) -> Place | None:
        return self._stream.join(self._node, self._folder, lambda: began(self._tail, self._folder))

    def write(self, batch: Rows) -> int:
        self._rows.add(batch)
        self._alters = any(map(self._is_defined, self._rows.defined))
        # No room is left behind a new definition: all rows before it have their images before one behind it is merged.
        return max(self._rows.bytes, (self.bounds.bytes or 0) if self._alters else 0)

    def _is_defined(self, id: str) -> bool:
        """Whether a table is defined already: by rows that wait, or in the state."""
        return id in self._rows.defined_before or self._stream.definition(id.replace(_DASH, "")) is not None

    def commit(self, before: Place | None, behind: Place) -> None:
        stands = before if self.keeps_place else self.open()
        if self._alters:
            # What has expired gets its images before a new definition has its own: in batches.
            self._stream.expire()
        self._stream.commit(self._node, stands, behind, lambda merging: self._merge(merging, stands, behind))
        self.settled()
        self._stream.confirm()

    def settled(self) -> None:
        self._told.settled()
        self._rows.clear()

    def close(self) -> None:
        """Others go on."""
        self._rows.clear()

    def _merge(self, merging: Merging, stands: Place | None, behind: Place) -> EncodedImages:
        self._told.begin(merging, stands)
        # One that stands behind some of the rows counts for them too: it is in the journal already.
        self._told.losses(merging)
        images = EncodedImages()
        for part in self._rows.parts():
            if isinstance(part, list):
                self._merge_entries(merging, part, images)
            elif not self._merge_cells(merging, part, images):
                self._merge_entries(merging, self._rows.entries([part]), images)
        images.add(self._told.before(merging, offset_of_text(behind.offset, self.name).position))
        return images

    def _merge_entries(self, merging: Merging, entries: list[Entry], images: EncodedImages) -> None:
        for at, rows in entries:
            tables = dict.fromkeys(row["table_id"] for row in rows if row["op"] != "schema")
            images.add(self._told.before(merging, at, tables, partial(_newest, rows)))
            images.add(self._told.ended(merging, at, rows))
            images.add(_merged(merging, rows))
            images.add(self._told.behind(merging, at, rows))

    def _merge_cells(self, merging: Merging, batch: ArrayBatch, images: EncodedImages) -> bool:
        """Whether a batch could be merged by compiled code."""
        compiled = twin_now(_COMPILED)
        if compiled is None or not compiled.is_for(batch) or not self._told.is_one(*compiled.ends(batch)):
            return False
        first, _ = compiled.ends(batch)
        tables = [name.id for name in batch.rows_by_table()]
        images.add(self._told.before(merging, first, tables, partial(_newest_in, batch)))
        compiled.merge_batch(merging.merger, merging.store, batch, merging.now_us, images, self._tokens)
        return True


def _newest(rows: Sequence[Mapping[str, Any]], table_id: str) -> int:
    return newest_put((row["op"], row["write_ts"]) for row in rows if row["table_id"] == table_id)


def _newest_in(batch: ArrayBatch, table_id: str) -> int:
    return newest_put(put for _, put in rows_of(batch, table_id))


def _merged(merging: Merging, rows: list[dict[str, Any]]) -> list[Image]:
    try:
        return merging.merger.entry(rows, merging.now_us)
    except DefinitionError as error:
        known = (merging.merger.table(row["table_id"]) for row in rows)
        names = sorted({table.facts.table.name for table in known if table is not None})
        error.remedy = f"To go on without images of it leave the table out: --exclude {', '.join(names)}."
        raise
