"""The greatest number of an image of a row: the image of a table gets a higher one without a look at its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tailer.images.store import Store, number_of

_KEY: Final = b"highest"


class Highest:
    """Kept in the store. `seq`: a number that no image of a row is above which is above the state's time; None in a
    state of an earlier version, until the first image of a whole table."""

    def __init__(self, store: Store) -> None:
        self._store = store
        kept = store.meta(_KEY)
        self.seq = None if kept is None else number_of(kept)

    def note(self, seq: int, now_us: int) -> None:
        """An image has this number; `now_us`: the state's time."""
        if self.seq is not None and seq > max(self.seq, now_us):
            self.keep(seq)

    def begin(self, has_tables: bool) -> None:
        """A first table is about to be defined, or a further one: a state without one has no images of rows."""
        if self.seq is None and not has_tables:
            self.keep(0)

    def above(self, now_us: int, partitions: Iterable[int]) -> int:
        """A number above those of all images of rows, and `now_us`. `partitions`: the last number of each partition,
        looked at in a state of an earlier version alone."""
        if self.seq is None:
            self.keep(max(partitions, default=0))
        return max(now_us, self.seq or 0) + 1

    def keep(self, seq: int) -> None:
        """From here on it is known."""
        self.seq = seq
        self._store.put_meta(_KEY, seq.to_bytes(8, "big"))
