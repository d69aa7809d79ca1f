"""A run: whole sections one behind the other, their plain bytes and good entries. Knows no file."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tailer.framing.entry import HEAD_BYTES, Entries
from tailer.framing.section import MARKER_BYTES, Section

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(slots=True)
class Run:
    """Plain bytes and the good entries in them: payload offsets and sizes in `data`, logical offsets of their heads.

    `sections`: their logical starts, `nexts`: the file offsets behind them; `edge`: the logical end of the last one.
    Around the sections' bytes in `data` others may stand. `native`: the entries are records of a native log.
    """

    data: bytes
    starts: Numbers
    sizes: Numbers
    offsets: Numbers
    sections: Numbers
    nexts: Numbers
    edge: int
    native: bool = False

    @property
    def at(self) -> int:
        """The file offset of `edge`."""
        return int(self.nexts[-1])

    @property
    def memory(self) -> int:
        """How many bytes it holds, about."""
        numbers = (self.starts, self.sizes, self.offsets, self.sections, self.nexts)
        return len(self.data) + sum(each.nbytes for each in numbers)

    def fits(self, end: int, most: int) -> bool:
        """Whether it ends at or before logical `end`, and no section of it begins `most` bytes or more behind the
        first."""
        return bool(self.edge <= end and self.sections[-1] - self.sections[0] < most)

    def part(self, start: int, end: int, most: int) -> Run | None:
        """The sections of it from the one at logical `start` on that fit; None where there is none."""
        first = bisect_left(self.sections, start)
        if first == len(self.sections) or self.sections[first] != start:
            return None
        behind = bisect_left(self.sections, start + most, first)
        if self.edge > end:
            # Each section ends where the next one begins.
            behind = min(behind, bisect_left(self.sections, end + 1, first) - 1)
        if behind <= first:
            return None
        edge = self.edge if behind == len(self.sections) else int(self.sections[behind])
        entries = slice(bisect_left(self.offsets, start), bisect_left(self.offsets, edge))
        chosen = slice(first, behind)
        lines = self.starts[entries], self.sizes[entries], self.offsets[entries]
        return Run(self.data, *lines, self.sections[chosen], self.nexts[chosen], edge, self.native)


def run_of(section: Section, data: bytes, entries: Entries, *, native: bool = False) -> Run:
    """One section by itself, with those of its entries that are good."""
    import numpy as np

    starts, sizes = np.asarray(entries.starts, np.int64), np.asarray(entries.sizes, np.int64)
    offsets = starts + (section.start + MARKER_BYTES - HEAD_BYTES)
    return Run(
        data, starts, sizes, offsets, np.array([section.start]), np.array([section.next_at]), section.end, native
    )
