"""The first table of each entry of a run, all at once. Knows of a mutation its first bytes only."""

from __future__ import annotations

from collections.abc import Collection, Iterator
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

    def entries_of(self, tables: Collection[bytes]) -> Iterator[tuple[int, bytes]]:
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

    def _candidates(self, tables: Collection[bytes]) -> Numbers:
        """Those whose id begins like one of them: few more, and found without looking at each."""
        import numpy as np

        words, wanted = self._words(), set(map(first_word, tables))
        if wanted.isdisjoint(_met(words)):
            return np.empty(0, np.int64)
        return np.flatnonzero(np.isin(words, np.array(list(wanted), np.uint64)))

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
