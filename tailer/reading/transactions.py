"""What the transactions of a span hold: the one walk over the log that lies before its commits (architecture 10).

The log is read once, from the smallest `first` that a commit of the span names, heads only. What is kept of each
transaction are the places of its changes and the ranges that `rollback_to` made void; rows are read from there by
`records`, transaction by transaction. Memory grows with the number of runs, not with what is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from tailer.errors import ACCEPT, CdcError, LossError
from tailer.framing.section import NoSection
from tailer.limits import OFFSET_MAX
from tailer.position import Position
from tailer.scan.record.head import IN_TRANSACTION, change_head
from tailer.scan.record.kinds import kinds_of, of_transactions
from tailer.scan.record.record import (
    COMMIT,
    ROLLBACK_TO,
    SAVEPOINT,
    Commit,
    RollbackTo,
    Savepoint,
    decode_position,
    decode_record,
)
from tailer.segments.run import Run
from tailer.segments.runs import read_run
from tailer.segments.segment import SegmentFile
from tailer.segments.segments import Segments

LISTED_MAX: Final = 1024
"""Changes of a transaction whose own places are kept; of a larger one those of the runs that have some."""


class RunPlace(msgspec.Struct, frozen=True, array_like=True):
    """Sections one behind the other: logical start and end, and the file offset of the first."""

    segment: int
    start: int
    at: int
    edge: int


class Transaction(msgspec.Struct, array_like=True):
    """A committed transaction. `commit`: the logical offset of that entry in its span's segment.

    `begun`: its first tracked change; what stands before it is not delivered. `runs`: where its changes are. `voids`:
    what of it counts no more, from the first position to before the second. `listed`: the positions of the changes that
    count, where they are few. `lost`: why it cannot be delivered.
    """

    commit: int
    txn: int
    boot: str
    begun: Position | None = None
    runs: list[RunPlace] = msgspec.field(default_factory=list)
    voids: list[tuple[Position, Position]] = msgspec.field(default_factory=list)
    listed: list[Position] | None = msgspec.field(default_factory=list)
    lost: str | None = None

    @property
    def name(self) -> str:
        """What a row says of it: ids count anew in each run of the writer."""
        return f"{self.boot}-{self.txn}"

    def counts(self, at: Position) -> bool:
        """Whether the change at that position is delivered."""
        return self.begun is not None and at >= self.begun and not any(a <= at < b for a, b in self.voids)

    def error(self, segment: int) -> LossError:
        """Of one that cannot be delivered."""
        at = Position(segment, self.commit)
        what = f"Changes are lost: transaction {self.name}, committed at {at}, {self.lost}"
        return LossError(what, at=at, remedy=ACCEPT)


IsTracked = Callable[[bytes], bool]
"""Whether the table with this key captures."""


class _Open:
    """What is known of a transaction while the walk goes on."""

    __slots__ = ("count", "first", "found", "n", "saved")

    def __init__(self, found: Transaction, first: Position, n: int) -> None:
        self.found = found
        self.first = first
        self.n = n
        self.count = 0
        self.saved: dict[Position, int] = {}

    def change(self, at: Position, place: RunPlace, tracked: bool) -> None:
        found = self.found
        if found.begun is None:
            if not tracked:
                return
            found.begun = at
        self.count += 1
        if not found.runs or found.runs[-1] != place:
            found.runs.append(place)
        if found.listed is not None:
            found.listed.append(at)
            if len(found.listed) > LISTED_MAX:
                found.listed = None

    def save(self, at: Position) -> None:
        self.saved[at] = self.count

    def roll_back(self, to: Position, at: Position) -> None:
        """A savepoint before the first tracked change has nothing of it behind, and that is none any more."""
        found = self.found
        if found.begun is not None and found.begun >= to:
            found.begun = None
        self.count = self.saved.get(to, 0)
        self.saved = {saved: count for saved, count in self.saved.items() if saved <= to}
        while found.voids and found.voids[-1][0] >= to:
            found.voids.pop()
        found.voids.append((to, at))
        if found.listed is not None:
            del found.listed[self.count :]

    def close(self) -> Transaction:
        if self.count != self.n:
            self.found.lost = f"had {self.n} changes, and {self.count} of them are in the log"
        return self.found


class TransactionWalk:
    """The walk of one span. `history_begins`: segments below are of a history that the consumer never knew."""

    def __init__(self, segment: int, boot: str, segments: Segments, is_tracked: IsTracked, history_begins: int) -> None:
        self.unknown = 0
        """Transactions that began in that unknown history: they are not delivered."""
        self.found: dict[int, Transaction] = {}
        """By the logical offset of the commit. One that is not in here gives no row."""
        self._segment = segment
        self._boot = boot
        self._segments = segments
        self._is_tracked = is_tracked
        self._history_begins = history_begins
        self._open: dict[int, _Open] = {}
        self._end = 0

    def add(self, offset: int, commit: Commit) -> None:
        """A commit of the span."""
        if commit.first is None:
            return
        first = decode_position(commit.first)
        if first.segment < self._history_begins:
            self.unknown += 1
            return
        found = self.found[offset] = Transaction(offset, commit.txn, self._boot)
        if first > Position(self._segment, offset):
            found.lost = f"names {first} as its beginning, which lies behind it"
        elif first.segment not in self._segments.between(first.segment, first.segment):
            found.lost = f"began at {first}, and segment {first.segment} is gone"
        else:
            self._open[commit.txn] = _Open(found, first, commit.n)
            self._end = max(self._end, offset)

    def run(self, file: SegmentFile) -> Mapping[int, Transaction]:
        """Walk; `file` is the span's own segment. Gives `found`."""
        if not self._open:
            return self.found
        begin = min(each.first for each in self._open.values())
        for segment in self._segments.between(begin.segment, self._segment - 1):
            self._walk_other(segment, begin.offset if segment == begin.segment else 0)
        self._walk_file(file, begin.offset if begin.segment == self._segment else 0, self._end)
        for each in self._open.values():
            each.found.lost = "is not committed where the log said"
        return self.found

    def _walk_other(self, segment: int, offset: int) -> None:
        try:
            with self._segments.opened(segment) as file:
                header = file.header()
                if header is not None and header.native and header.boot == self._boot:
                    self._walk_file(file, offset, None)
        except FileNotFoundError:
            # Nothing of a transaction may have been in it: the number of its changes tells.
            return

    def _walk_file(self, file: SegmentFile, offset: int, end: int | None) -> None:
        for place, run in runs_from(file, offset):
            self._take(place, run)
            if end is not None and run.edge > end:
                return

    def _take(self, place: RunPlace, run: Run) -> None:
        """Note what a run says of the wanted transactions."""
        if not self._open:
            return
        kinds = kinds_of(run.data, run.starts, run.sizes)
        for number in of_transactions(kinds).tolist():
            start = int(run.starts[number])
            payload = run.data[start : start + int(run.sizes[number])]
            at = Position(place.segment, int(run.offsets[number]))
            if kinds[number] == IN_TRANSACTION:
                head = change_head(payload)
                wanted = self._wanted(head.txn if head is not None else None, at)
                if wanted is not None and head is not None:
                    wanted.change(at, place, self._is_tracked(head.key))
            else:
                self._mark(int(kinds[number]), payload, at)

    def _mark(self, kind: int, payload: bytes, at: Position) -> None:
        if kind not in (SAVEPOINT, ROLLBACK_TO, COMMIT):
            return
        try:
            record = decode_record(payload, at)
        except CdcError:
            # It was told of where its own span was read; here the number of changes tells.
            return
        if not isinstance(record, Savepoint | RollbackTo | Commit):
            return
        wanted = self._wanted(record.txn, at)
        if wanted is None:
            return
        if isinstance(record, Savepoint):
            wanted.save(at)
        elif isinstance(record, RollbackTo):
            wanted.roll_back(decode_position(record.position), at)
        elif at == Position(self._segment, wanted.found.commit):
            wanted.close()
            del self._open[record.txn]

    def _wanted(self, txn: int | None, at: Position) -> _Open | None:
        held = None if txn is None else self._open.get(txn)
        return held if held is not None and at >= held.first else None


def runs_from(file: SegmentFile, offset: int, edge: int | None = None) -> Iterator[tuple[RunPlace, Run]]:
    """The runs of a segment from the section on that holds logical `offset`, up to `edge` or its last good section.

    A section that does not check is passed over: whoever reads its span tells of it.
    """
    start, at = file.place(offset)
    while edge is None or start < edge:
        # Kept: small transactions that end one behind the other are read from the same run.
        run = read_run(file, start, at, OFFSET_MAX if edge is None else edge, keep=True)
        if run is not None:
            yield RunPlace(file.segment, start, at, run.edge), run
            start, at = run.edge, run.at
            continue
        section = next(file.sections(start, at))
        if isinstance(section, NoSection):
            return
        start, at = section.end, section.next_at
