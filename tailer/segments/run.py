"""A run: whole sections one behind the other, their plain bytes and good entries. Knows no file."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from tailer.framing.entry import HEAD_BYTES, Entries
from tailer.framing.section import MARKER_BYTES, Section
from tailer.limits import MIB

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.int64]

_KEPT_BYTES: Final = 16 * MIB


@dataclass(slots=True)
class Run:
    """Plain bytes and the good entries in them: payload offsets and sizes in `data`, logical offsets of their heads.

    `sections`: their logical starts; `edge`: the logical end of the last one, `at` the same place in the file. Between
    the sections' bytes in `data` others may stand. `native`: the entries are records of a native log.
    """

    data: bytes
    starts: Numbers
    sizes: Numbers
    offsets: Numbers
    sections: Numbers
    edge: int
    at: int
    native: bool = False

    def fits(self, end: int, most: int) -> bool:
        """Whether it ends at or before logical `end`, and no section of it begins `most` bytes or more behind the
        first."""
        return self.edge <= end and self.sections[-1] - self.sections[0] < most


def run_of(section: Section, data: bytes, entries: Entries, *, native: bool = False) -> Run:
    """One section by itself, with those of its entries that are good."""
    import numpy as np

    starts, sizes = np.asarray(entries.starts, np.int64), np.asarray(entries.sizes, np.int64)
    offsets = starts + (section.start + MARKER_BYTES - HEAD_BYTES)
    return Run(data, starts, sizes, offsets, np.array([section.start]), section.end, section.next_at, native)


class RunCache:
    """The latest runs of a segment, by their starts: what the planner checked, the reader need not check again."""

    def __init__(self) -> None:
        self._runs: OrderedDict[int, Run] = OrderedDict()
        self._bytes = 0

    def get(self, start: int) -> Run | None:
        return self._runs.get(start)

    def keep(self, start: int, run: Run) -> None:
        """Keeps a run, and gives up the oldest where the bytes are too many."""
        if len(run.data) > _KEPT_BYTES:
            return
        self._drop(start)
        self._runs[start] = run
        self._bytes += len(run.data)
        while self._bytes > _KEPT_BYTES:
            self._drop(next(iter(self._runs)))

    def clear(self) -> None:
        self._runs.clear()
        self._bytes = 0

    def _drop(self, start: int) -> None:
        dropped = self._runs.pop(start, None)
        if dropped is not None:
            self._bytes -= len(dropped.data)
