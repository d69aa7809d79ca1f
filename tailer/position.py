"""Places in a node's log: positions and spans.

Values only: nothing here opens a file, and nothing here knows a format.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tailer.limits import whole_number


class Position(NamedTuple):
    """A place in one node's log: segment id and **logical** offset (bytes of the uncompressed stream).

    Offset 0 stands before the first section. Positions order by segment id, then by offset.
    """

    segment: int
    offset: int

    def __str__(self) -> str:
        return f"{self.segment}:{self.offset}"

    @classmethod
    def parse(cls, text: str) -> Position | None:
        """`segment:offset` as a position; None when the text is not of that form."""
        segment, offset = map(whole_number, text.partition(":")[::2])
        return None if segment is None or offset is None else cls(segment, offset)


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of whole sections inside one segment, and which of its entries count.

    `start` and `end` are logical offsets of section edges, `at` is the **file** offset of the marker at `start`
    (equal to `start` for plain segments). Entries count that begin at `lower` or later and before `upper`
    (logical offsets): they differ from `start` and `end` where a user named a position inside a section,
    and where a crashed segment's log ends inside one.
    """

    segment: int
    start: int
    end: int
    at: int
    lower: int
    upper: int

    @property
    def bytes(self) -> int:
        return self.end - self.start
