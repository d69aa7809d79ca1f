"""Where the entries of one scan stand, for the change rows to say. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tailer.position import Position


@dataclass(frozen=True, slots=True)
class Place:
    """`offsets`: the logical offset of each entry's **start** (its size field), in the order of the scan's `starts`."""

    node: str
    segment: int
    offsets: Sequence[int] | npt.NDArray[np.int64]

    def of(self, entry: int) -> Position:
        """The position of an entry, by its number."""
        return Position(self.segment, int(self.offsets[entry]))

    def numbers(self) -> Sequence[int]:
        """The offsets as plain integers."""
        plain: Sequence[int] = self.offsets.tolist() if isinstance(self.offsets, np.ndarray) else self.offsets
        return plain
