"""Small transactions and the changes between them, read together: what a scan and a build cost is paid for many.

Knows no span and no walk. Whatever does not decode is left to who reads one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tailer.position import Position
from tailer.reading.transactions import Transaction
from tailer.rows.place import Place
from tailer.scan.record.head import change_head
from tailer.segments.group import Group

if TYPE_CHECKING:
    from tailer.segments.run import Numbers


class Part(NamedTuple):
    """A transaction, or changes that count at once: the numbers of its entries in the group, in their order."""

    of: Transaction | None
    entries: Numbers


class Bundle:
    """Parts of one group, in the order in which they count; all entries are of the group's own bytes."""

    def __init__(self, group: Group, segment: int) -> None:
        self._group = group
        self._segment = segment
        self._start()

    def _start(self) -> None:
        self.parts: list[Part] = []
        self.rows = 0
        """How many rows all of them have, of whatever table."""
        self.size = 0
        self._entries: list[int] = []
        self._offsets: list[int] = []
        self._before: list[int] = []
        self._txns: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        self._start()

    def add(self, part: Part) -> bool:
        """Takes a part; False where the rows of one of its entries cannot be counted."""
        data, of = self._group.data, part.of
        entries, counts = part.entries.tolist(), []
        for entry in entries:
            start = int(self._group.starts[entry])
            head = change_head(data[start : start + int(self._group.sizes[entry])])
            if head is None:
                return False
            counts.append(head.rows)
        before = self.rows
        for entry, count in zip(entries, counts, strict=True):
            self._entries.append(entry)
            self._offsets.append(int(self._group.offsets[entry]) if of is None else of.commit)
            self._before.append(before if of is not None else self.rows)
            self.rows += count
            self.size += int(self._group.sizes[entry])
        if of is not None:
            self._txns[of.commit] = of.name
        self.parts.append(part)
        return True

    def entries_of(self, found: Transaction) -> list[int] | None:
        """Numbers of a transaction's changes in the group; None where they do not all lie in it."""
        if found.listed is None:
            return None
        offsets, numbers = self._group.offsets, []
        for at in found.listed:
            number = bisect_left(offsets, at.offset)
            if at.segment != self._segment or number == len(offsets) or int(offsets[number]) != at.offset:
                return None
            numbers.append(number)
        return numbers

    def place(self, node: str, *, keeps_source: bool) -> Place:
        """Where the rows stand."""
        return Place(node, self._segment, self._offsets, self._txns, keeps_source=keeps_source)

    def entries(self) -> Group:
        """The entries of all parts."""
        import numpy as np

        numbers = np.array(self._entries, np.int64)
        group = self._group
        return Group(group.data, group.starts[numbers], group.sizes[numbers], group.offsets[numbers])

    def before(self) -> Numbers:
        """By entry, how many rows there are before its transaction, or before itself."""
        import numpy as np

        return np.array(self._before, np.int64)


def held_back(at: Sequence[tuple[int, int, int]], found: Transaction) -> bool:
    """Whether a change of the transaction is among those that are left out: (segment, offset, bytes)."""
    left_out = {Position(segment, offset) for segment, offset, _ in at}
    return bool(left_out) and not left_out.isdisjoint(found.listed or ())
