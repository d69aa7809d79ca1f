"""Room that compiled code writes to: buffers that grow piece by piece, and the scratch of the row at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.elements import PATH_ROOM
from tailer.image_state.compiled.keys import KEY_ROOM
from tailer.jit.addresses import address_of
from tailer.types.compiled.plan import Bytes, Numbers


class Buffer:
    """A place to write to, one piece after another, all of which stay where they are."""

    def __init__(self, block: Numbers, at: int, size: int) -> None:
        self._block, self._at = block, at
        self._size = size
        self.pieces: list[Bytes] = []
        self.used: list[int] = []
        self.more()

    def more(self) -> None:
        """Another piece, twice as large."""
        self._end()
        piece = np.empty(self._size, np.uint8)
        self._size *= 2
        self.pieces.append(piece)
        self._block[self._at : self._at + 2] = address_of(piece), address_of(piece) + len(piece)

    def joined(self) -> bytes:
        """All that was written."""
        self._end()
        return b"".join(piece[:used].tobytes() for piece, used in zip(self.pieces, self.used, strict=True))

    def offsets(self, addresses: Numbers) -> Numbers:
        """Where in all that was written these places are; of no use for others."""
        self._end()
        begins = np.array([address_of(piece) for piece in self.pieces])
        order = np.argsort(begins)
        number = order[np.maximum(np.searchsorted(begins[order], addresses, side="right") - 1, 0)]
        before = np.cumsum(self.used) - self.used
        found: Numbers = addresses - begins[number] + before[number]
        return found

    def _end(self) -> None:
        if len(self.used) < len(self.pieces):
            self.used.append(int(self._block[self._at]) - address_of(self.pieces[-1]))


def scratch(block: Numbers) -> Sequence[Numbers]:
    """Room for the row at hand."""
    sizes = {
        w.FACTS: w.FACT_BYTES * w.FACTS_MAX,
        w.TOLD: w.FACT_BYTES * w.FACTS_MAX,
        w.SETS: w.SET_BYTES * w.SETS_MAX,
        w.ABOVE: w.FACT_BYTES * w.FACTS_MAX,
        w.ABOVE_SETS: w.SET_BYTES * w.SETS_MAX,
        w.ORDER: 8 * w.FACTS_MAX,
        w.BEFORE: w.VIEW_BYTES,
        w.AFTER: w.VIEW_BYTES,
        w.ROW_CLUSTERING: KEY_ROOM,
        # Of the row before and after.
        w.ELEMENTS: 2 * 8 * w.FACTS_MAX,
        w.PATHS: 2 * PATH_ROOM,
    }
    made = [np.empty(size // 8, np.int64) for size in sizes.values()]
    for field, array in zip(sizes, made, strict=True):
        block[field] = address_of(array)
    return made
