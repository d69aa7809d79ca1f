"""The first table of each entry of a run, all at once. Knows of a mutation its first bytes only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tailer.segments.run import Numbers, Run

_ID_BYTES = 16
_WORD_BYTES = 8

_FEW = 64
"""So many entries are looked at one by one sooner than all at once."""


def payloads(run: Run) -> Iterator[bytes]:
    """Every payload in order."""
    data = run.data
    for start, end in zip(run.starts.tolist(), (run.starts + run.sizes).tolist(), strict=True):
        yield data[start:end]


def entries_of(run: Run, tables: frozenset[bytes]) -> Iterator[tuple[int, bytes]]:
    """Logical offset and payload of the entries whose first table id is one of `tables`.

    The id stands behind the count of updates (format page 5.2, a count below 128).
    """
    data, count = run.data, len(run.starts)
    for number in range(count) if count <= _FEW else _candidates(run, tables).tolist():
        start, size = int(run.starts[number]), int(run.sizes[number])
        if data[start + 1 : start + 1 + _ID_BYTES] in tables:
            yield int(run.offsets[number]), data[start : start + size]


def _candidates(run: Run, tables: frozenset[bytes]) -> Numbers:
    """Those whose id begins like one of them: few more, and found without looking at each."""
    import numpy as np

    begins, words = _begin(tables)
    at = run.starts + 1
    # First by one byte: that rules out most tables, and is taken several times as fast as a word that lies anywhere.
    likely = np.flatnonzero(begins.take(np.frombuffer(run.data, np.uint8).take(at)))
    if len(likely) == 0:
        return likely
    every = np.ndarray(len(run.data) - _WORD_BYTES + 1, np.dtype("<u8"), run.data, strides=(1,))
    return likely[np.isin(every[at[likely]], words)]


@lru_cache(maxsize=4)
def _begin(tables: frozenset[bytes]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
    """By an id's first byte, whether it may be one of them; and the first words of all."""
    import numpy as np

    begins = np.zeros(256, np.bool_)
    begins[[table[0] for table in tables]] = True
    return begins, np.array([int.from_bytes(table[:_WORD_BYTES], "little") for table in tables], np.uint64)
