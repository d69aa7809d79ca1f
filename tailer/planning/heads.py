"""Heads of native segments that were left out: read after all as far as the records behind them need definitions.

A sidecar's `min` says that nothing captured stands before it (architecture section 3), the definitions of captured
tables neither. Others may stand there alone, and the keys of their rows would be unknown: then the head is walked until
the last of these is defined. Delivers no row of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from tailer.errors import CdcError
from tailer.limits import KIB
from tailer.position import Position
from tailer.scan.record.head import FINGERPRINT_AT, IN_TRANSACTION, TABLE_AT, TXN_AT
from tailer.scan.record.kinds import kinds_of
from tailer.scan.record.record import CHANGE, DEFINITION, Definition, decode_record
from tailer.segments.captured_edge import Edge, captured_edge
from tailer.segments.run import Run
from tailer.segments.runs import read_run
from tailer.segments.segment import SegmentFile

IsNewest = Callable[[bytes, Position], bool]
"""Whether a key is that of the definition that its table had last at a position, by what is known."""

HEAD_RUN_BYTES: Final = 256 * KIB
"""What is read of a head at once: a table's definition stands before its first row, mostly near the beginning."""


@dataclass(slots=True)
class _Head:
    """A head that was left out: where reading begins behind it, how far it was walked, where it ends, and the keys that
    the segment defines."""

    behind: Edge
    walked: Edge
    end: int
    defined: set[bytes] = field(default_factory=set)


class Heads:
    """The heads that one reader leaves out. `collect`: given the runs that are read of them.

    `is_newest`: for a key that is nothing is looked for, as nothing would be learnt. Without it none is.
    """

    def __init__(self, collect: Callable[[int, Run], None], is_newest: IsNewest | None = None) -> None:
        self._collect = collect
        self._is_newest = is_newest
        self._heads: dict[int, _Head] = {}

    def begin(self, file: SegmentFile, first: int) -> Edge | None:
        """Where reading begins that leaves out the head before `first`; None where nothing can be left out."""
        head = self._heads.get(file.segment)
        if head is not None:
            return head.behind
        edge = captured_edge(file, first)
        if edge is not None:
            begin = file.known_header().length
            self._heads[file.segment] = _Head(edge, Edge(begin, begin), first)
        return edge

    def define(self, file: SegmentFile, run: Run) -> None:
        """Have what the run's changes need of its segment's head collected; the run itself was."""
        head = self._heads.get(file.segment)
        if head is None or head.walked.start >= head.end:
            return
        head.defined |= _defined(run)
        unknown = _used(run) - head.defined
        if self._is_newest is not None:
            at = Position(file.segment, int(run.sections[0]))
            unknown = {key for key in unknown if not self._is_newest(key, at)}
        while unknown and (found := self._walk(file, head)) is not None:
            head.defined |= (keys := _defined(found))
            unknown -= keys

    def keep_only(self, segments: Collection[int]) -> None:
        """Forget those of other segments."""
        self._heads = {segment: head for segment, head in self._heads.items() if segment in segments}

    def _walk(self, file: SegmentFile, head: _Head) -> Run | None:
        """The next run of a head; None at its end, and where it does not check.

        What is damaged there keeps no captured row from being read; a row whose key nothing defines is told by itself.
        """
        run = read_run(file, *head.walked, head.end, HEAD_RUN_BYTES)
        if run is None:
            head.walked = Edge(head.end, head.end)
            return None
        head.walked = Edge(run.edge, run.at)
        self._collect(file.segment, run)
        return run


def _used(run: Run) -> set[bytes]:
    """Keys of tables that the run has changes of."""
    import numpy as np

    kinds = kinds_of(run.data, run.starts, run.sizes)
    starts = run.starts[(kinds == CHANGE) | (kinds == IN_TRANSACTION)]
    parts = np.r_[TABLE_AT : TABLE_AT + 16, FINGERPRINT_AT:TXN_AT]
    keys = np.frombuffer(run.data, np.uint8)[starts[:, None] + parts]
    return set(np.ascontiguousarray(keys).view(f"V{len(parts)}").ravel().tolist())


def _defined(run: Run) -> set[bytes]:
    """Keys that the run defines."""
    keys: set[bytes] = set()
    kinds = kinds_of(run.data, run.starts, run.sizes)
    for number in (kinds == DEFINITION).nonzero()[0].tolist():
        start = int(run.starts[number])
        try:
            record = decode_record(run.data[start : start + int(run.sizes[number])])
        except CdcError:
            # Told by who learns it.
            continue
        if isinstance(record, Definition):
            keys.add(record.table_id + record.fingerprint)
    return keys
