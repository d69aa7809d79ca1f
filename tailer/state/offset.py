"""How far one node's log was planned: the node's part of an offset, and what must be remembered beside it.

Values and their JSON only (architecture sections 3, 7, 8); decides nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Final

import msgspec

from tailer.position import Position

VERSION: Final = 1
"""Of offsets as text, in checkpoints and where users name one: with it goes what `NodeOffset` has."""


class NodeOffset(msgspec.Struct, frozen=True):
    """The node's JSON of an offset. Field names are those of the text: they are part of the format.

    `j` records of the node's journal count; `s`:`o` is the position, `done` = the log of `s` was read to its end;
    `p` = segments passed over while they had no sidecar (or that appeared late), each with the offset read so far.
    """

    j: int = 0
    s: int = 0
    o: int = 0
    done: bool = True
    p: tuple[tuple[int, int], ...] = ()

    @property
    def position(self) -> Position:
        return Position(self.s, self.o)

    def left(self, segment: int, end: int) -> int:
        """How many bytes of a segment that ends at `end` lie behind this offset."""
        late = dict(self.p)
        if segment in late:
            start = late[segment]
        elif segment == self.s:
            start = end if self.done else self.o
        else:
            start = 0 if segment > self.s else end
        return max(end - start, 0)

    def as_json(self) -> dict[str, Any]:
        """Keys in fixed order: Spark compares offsets as text."""
        return {"j": self.j, "s": self.s, "o": self.o, "done": self.done, "p": [list(pair) for pair in self.p]}


class Memory(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the planner remembers of a folder besides the offset; kept in the consumer file.

    `start`: lowest id there was at the first look. `highest`: highest id ever seen.
    `seen`: ids above the position whose sidecar was seen. `bare`: ids above the position seen without a sidecar.
    `holes`: ranges (first, last) of ids below the position for which no file was there when they were passed.
    `lost_below`: losses of ids below this one were accepted. `tracked`: ids in `p` whose sidecar was seen.
    """

    start: int = 0
    highest: int = 0
    seen: frozenset[int] = frozenset()
    bare: frozenset[int] = frozenset()
    holes: tuple[tuple[int, int], ...] = ()
    lost_below: int = 0
    last_with_sidecar: int = 0

    def in_hole(self, segment: int) -> bool:
        """`holes` are ascending and apart."""
        at = bisect_right(self.holes, segment, key=_first) - 1
        return at >= 0 and segment <= self.holes[at][1]


def _first(hole: tuple[int, int]) -> int:
    return hole[0]


def decode_node_offset(data: Any) -> NodeOffset:
    """The node's offset from its JSON object. Raises msgspec.ValidationError for anything else."""
    return msgspec.convert(data, NodeOffset)
