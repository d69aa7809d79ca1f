"""The first table of each entry of a run, all at once. Knows of a mutation its first bytes only."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


def entries_of(run: Run, tables: Collection[bytes]) -> Iterator[tuple[int, bytes]]:
    """Logical offset and payload of the entries whose first table id is one of `tables`.

    The id stands behind the count of updates (format page 5.2, a count below 128).
    """
    data, count = run.data, len(run.starts)
    for number in range(count) if count <= _FEW else _candidates(run, tables).tolist():
        start, size = int(run.starts[number]), int(run.sizes[number])
        if data[start + 1 : start + 1 + _ID_BYTES] in tables:
            yield int(run.offsets[number]), data[start : start + size]


def _candidates(run: Run, tables: Collection[bytes]) -> Numbers:
    """Those whose id begins like one of them: few more, and found without looking at each."""
    import numpy as np

    words = np.ndarray(len(run.data) - _WORD_BYTES + 1, np.dtype("<u8"), run.data, strides=(1,))[run.starts + 1]
    wanted = np.array([int.from_bytes(table[:_WORD_BYTES], "little") for table in tables], np.uint64)
    # Most entries have the table of the one before.
    begins = np.flatnonzero(words[1:] != words[:-1]) + 1
    if not np.isin(words[begins], wanted).any() and words[0] not in wanted:
        return begins[:0]
    return np.flatnonzero(np.isin(words, wanted))
