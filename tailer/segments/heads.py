"""The first table of each entry of a run, all at once. Knows of a mutation its first bytes only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tailer.segments.run import Numbers, Run

_ID_BYTES = 16
_WORD_BYTES = 8

_COUNT_MAX = 127
"""The largest count of updates that is one byte."""

_FEW = 64
"""So many entries are looked at one by one sooner than all at once."""


def payloads(run: Run) -> Iterator[bytes]:
    """Every payload in order."""
    data = run.data
    for start, end in zip(run.starts.tolist(), (run.starts + run.sizes).tolist(), strict=True):
        yield data[start:end]


class FirstTables(NamedTuple):
    """How the ids of a run's first tables begin (`first_word`); `shared`: of entries that have others besides."""

    words: frozenset[int]
    shared: frozenset[int]


def first_word(table: bytes) -> int:
    """How a table's id begins: tables that share it are few, and told apart elsewhere."""
    return int.from_bytes(table[:_WORD_BYTES], "little")


class FirstIds:
    """The id of each entry's first table, which stands behind the count of updates (format page 5.2, a count below
    128). How they begin is read once, whoever asks."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._held: npt.NDArray[np.uint64] | None = None

    def entries_of(self, tables: frozenset[bytes]) -> Iterator[tuple[int, bytes]]:
        """Logical offset and payload of the entries whose first table id is one of `tables`."""
        run = self._run
        data, count = run.data, len(run.starts)
        for number in range(count) if count <= _FEW else self._candidates(tables).tolist():
            start, size = int(run.starts[number]), int(run.sizes[number])
            if data[start + 1 : start + 1 + _ID_BYTES] in tables:
                yield int(run.offsets[number]), data[start : start + size]

    def tables(self) -> FirstTables | None:
        """Which tables they are; None where an entry does not say so: its count of updates is no single byte."""
        import numpy as np

        run = self._run
        if len(run.starts) == 0:
            return FirstTables(frozenset(), frozenset())
        counts = np.frombuffer(run.data, np.uint8).take(run.starts)
        if (most := counts.max()) > _COUNT_MAX:
            return None
        words = self._words()
        return FirstTables(frozenset(_met(words)), frozenset(words[counts > 1].tolist() if most > 1 else ()))

    def several(self) -> Numbers:
        """The numbers of the entries that are of several tables."""
        import numpy as np

        return np.flatnonzero(np.frombuffer(self._run.data, np.uint8).take(self._run.starts) > 1)

    def _candidates(self, tables: frozenset[bytes]) -> Numbers:
        """Those whose id begins like one of them: few more, and found without looking at each."""
        import numpy as np

        begins, wanted = _begin(tables)
        if self._held is not None and _met(self._held).isdisjoint(wanted.tolist()):
            return np.empty(0, np.int64)
        # First by one byte: that rules out most tables, and costs a fraction of taking words that lie anywhere.
        likely = np.flatnonzero(begins.take(np.frombuffer(self._run.data, np.uint8).take(self._run.starts + 1)))
        return likely[np.isin(self._words()[likely], wanted)] if len(likely) else likely

    def _words(self) -> npt.NDArray[np.uint64]:
        import numpy as np

        if self._held is None:
            data = self._run.data
            every = np.ndarray(len(data) - _WORD_BYTES + 1, np.dtype("<u8"), data, strides=(1,))
            self._held = every[self._run.starts + 1]
        return self._held


def _met(words: npt.NDArray[np.uint64]) -> set[int]:
    """Each of the words once. Most entries have that of the one before."""
    import numpy as np

    begins = np.flatnonzero(words[1:] != words[:-1]) + 1
    return {int(words[0]), *words[begins].tolist()}


@lru_cache(maxsize=4)
def _begin(tables: frozenset[bytes]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
    """By an id's first byte, whether it may be one of them; and the first words of all."""
    import numpy as np

    begins = np.zeros(256, np.bool_)
    begins[[table[0] for table in tables]] = True
    return begins, np.array([first_word(table) for table in tables], np.uint64)
