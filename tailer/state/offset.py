"""How far one node's log was planned: the node's part of an offset, and what must be remembered beside it.

Values and their JSON only (architecture sections 3, 7, 8); decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from typing import Any, Final

import msgspec

from tailer.position import Position
from tailer.state.ids import NO_IDS, Ids
from tailer.typed_decode import convert

VERSION: Final = 2
"""Of offsets as text, in checkpoints and where users name one: with it goes what `NodeOffset` has."""

WITHOUT_ID: Final = 1
"""The version of offsets that have no state's id: that of earlier programs, whose text stays as it was."""

WITH_REMOVED: Final = 3
"""The version of a query's offsets that know of removed nodes: an earlier program would take one for a node at its
start."""

WITH_SNAPSHOT: Final = 4
"""The version of the offsets of a query that began with a snapshot: an earlier program would leave its rows out."""

REMOVED: Final = "removed"
"""The only key of a node that left a query for good, in place of its offset: with the id of its state."""


_NUMBER_MAX: Final = 2**63
_WRITTEN: Final = ("j", "s", "o", "done", "p")
"""What every version wrote of an offset."""


class NodeOffset(msgspec.Struct, frozen=True):
    """The node's JSON of an offset. Field names are those of the text: they are part of the format.

    `j` records of the node's journal count; `s`:`o` is the position, `done` = the log of `s` was read to its end;
    `p` = segments passed over while they had no sidecar (or that appeared late), each with the offset read so far.
    `id` of the state that the journal is of; empty in offsets of earlier versions.
    """

    j: int = 0
    s: int = 0
    o: int = 0
    done: bool = True
    p: tuple[tuple[int, int], ...] = ()
    id: str = ""

    @property
    def position(self) -> Position:
        return Position(self.s, self.o)

    @property
    def places(self) -> tuple[int, int, bool, tuple[tuple[int, int], ...]]:
        """The offset without its journal count: whether it moved is about the log alone."""
        return self.s, self.o, self.done, self.p

    def rest_of(self, segment: int) -> int | None:
        """From where on a segment of the main line is still to be read; None for one that is behind."""
        return None if segment < self.s else self.o if segment == self.s else 0

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
        held = {"j": self.j, "s": self.s, "o": self.o, "done": self.done, "p": [list(pair) for pair in self.p]}
        return {**held, "id": self.id} if self.id else held


class Memory(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the planner remembers of a folder besides the offset; kept in the consumer file.

    `start`: lowest id there was at the first look. `highest`: highest id ever seen.
    `seen`: ids above the position whose sidecar was seen. `bare`: ids above the position seen without a sidecar.
    `holes`: ids below the position for which no file was there when they were passed. `lost_below`: losses of ids below
    this one were accepted. `begun`: where the consumer began: it reads no segment below but those in `holes`; 0 while
    that is open. `explained`: ids below `begun` that were there then, or were read or accepted since. `upto`: the last
    record of the journal that counts in what is remembered of segments, as it was last kept (`state/remembered.py`);
    the file itself has numbers alone.
    """

    start: int = 0
    highest: int = 0
    seen: Ids = NO_IDS
    bare: Ids = NO_IDS
    holes: Ids = NO_IDS
    lost_below: int = 0
    last_with_sidecar: int = 0
    upto: int = 0
    begun: int = 0
    explained: Ids = NO_IDS


def decode_node_offset(data: Any, may_lack: Collection[str] = ()) -> NodeOffset:
    """The node's offset from its JSON object. Raises msgspec.ValidationError for anything else.

    `may_lack`: fields that a person who writes an offset may leave out.
    """
    if isinstance(data, dict) and REMOVED in data:
        raise msgspec.ValidationError("the node was removed from the query for good")
    for name in _WRITTEN:
        # A default would be another position, which nobody wrote.
        if isinstance(data, dict) and name not in data and name not in may_lack:
            raise msgspec.ValidationError(f"Object missing required field `{name}`")
    offset = convert(data, NodeOffset)
    if not all(0 <= number < _NUMBER_MAX for number in chain((offset.j, offset.s, offset.o), *offset.p)):
        raise msgspec.ValidationError(f"Expected numbers from 0 to {_NUMBER_MAX - 1}")
    return offset
