"""Where the entries of one scan stand, for the change rows to say. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tailer.position import Position

Txn = str | Mapping[int, str] | None
"""The transaction of all rows, or those of rows by their offset."""


def txn_at(txn: Txn, offset: int) -> str | None:
    """The transaction of the rows at an offset."""
    return txn if txn is None or isinstance(txn, str) else txn.get(offset)


@dataclass(frozen=True, slots=True)
class Place:
    """`offsets`: the logical offset of each entry's **start** (its size field), in the order of the scan's `starts`.

    `txn`: the transaction that all these entries are of. Its rows stand where it was committed: segment and all offsets
    are that entry's then, and row numbers run on from entry to entry. Of several transactions their names, by the
    offset of the commit; changes that count at once may stand between them. `attrs`: JSON texts, by the entry's number.
    `keeps_source`: rows keep the cells that they were made of, for who goes on with those.
    """

    node: str
    segment: int
    offsets: Sequence[int] | npt.NDArray[np.int64]
    txn: Txn = None
    attrs: Mapping[int, str] = field(default_factory=dict)
    keeps_source: bool = False

    def of(self, entry: int) -> Position:
        """The position of an entry, by its number."""
        return Position(self.segment, int(self.offsets[entry]))

    def numbers(self) -> Sequence[int]:
        """The offsets as plain integers."""
        plain: Sequence[int] = self.offsets.tolist() if isinstance(self.offsets, np.ndarray) else self.offsets
        return plain
