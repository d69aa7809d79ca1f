"""The records of one state's journal as this process knows them: everything that decides rows (architecture section 5).

Numbers stay when the journal is compacted, with gaps between them: an offset's `j` still says which records counted
when it left. Where the records are kept is for `folder_journal.py` to say, and for readers of another node's journal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from tailer.errors import CdcError
from tailer.position import Position
from tailer.state import journal_errors as errors
from tailer.state.journal_base import NOTHING, Base
from tailer.state.journal_records import (
    AnyRecord,
    LossRecord,
    RetractRecord,
    SegmentEndRecord,
    SkipRecord,
    content,
)
from tailer.state.offset import NodeOffset


class Journal(ABC):
    """The records, as far as this process has read them. `where`: what errors name.

    With `writable=False` nothing is made or changed where they are kept: records appended then live in this process
    only, with numbers that go on from what was read, and what others append later is not looked at.
    """

    def __init__(self, where: str, *, writable: bool = True) -> None:
        self.where = where
        self._writable = writable
        self._records: list[AnyRecord] = []
        self._known: dict[bytes, int] = {}
        self._retracted: frozenset[int] = frozenset()
        self._base = NOTHING
        self._id = ""
        self._count = 0
        self._own = 0
        self._kept: list[AnyRecord] = []
        self.foreign = 0
        """How many records of other processes were taken in so far."""
        self.losses = 0  # accepted here

    @abstractmethod
    def refresh(self) -> None:
        """Read what other processes appended. Cheap when there is nothing new."""

    @abstractmethod
    def catch_up(self) -> None:
        """Know every record that there is now, also where no look tells of it."""

    @property
    def count(self) -> int:
        """How many records there ever were: the number of the newest."""
        return self._count

    @property
    def writable(self) -> bool:
        """Whether what is appended here is there for others, and for a later run."""
        return self._writable

    @property
    def id(self) -> str:
        """The state's own random id, for as long as there is this journal; empty where it has none yet."""
        return self._id

    @property
    def base(self) -> Base:
        """What the last compaction left, and up to where it forgot."""
        return self._base

    @property
    def retracted(self) -> frozenset[int]:
        """Numbers of the records that a later record took back."""
        return self._retracted

    def read(self, upto: int | None = None, *, after: int = 0) -> Sequence[AnyRecord]:
        """The records with numbers above `after` and up to `upto`, all that are known if None, in order.

        Raises RefusedError if there never were that many.
        """
        if upto is not None:
            self.require(upto)
        first = self._behind(after)
        return tuple(self._records[first : None if upto is None else self._behind(upto)])

    def require(self, count: int) -> None:
        """RefusedError if there never were that many records."""
        if count > self.count:
            self.refresh()
        if count > self.count:
            # A compaction that was killed may have taken a number for itself, and somebody counts by that already.
            self.catch_up()
        if count > self.count:
            raise errors.shorter(self.where, count, self.count)

    def identify(self) -> None:
        """See that the state has an id, durably, if this process may write."""
        if self._writable and not self._id:
            self.append([])

    def stamped(self, offset: NodeOffset) -> NodeOffset:
        """The offset as one of this state, for which all records count that there are."""
        return msgspec.structs.replace(offset, j=self.count, id=self._id)

    def check(self, offset: NodeOffset) -> None:
        """RefusedError for an offset that this journal says too little of: of another state, shorter, or forgotten."""
        self.check_same(offset)
        self._base.check(offset, self.where)

    def check_same(self, offset: NodeOffset) -> None:
        """RefusedError where this is not the journal any more that an offset left by: it was deleted, or replaced."""
        self.check_id(offset)
        self.require(offset.j)

    def check_id(self, offset: NodeOffset) -> None:
        """RefusedError for an offset of another state, or of more records than this one has. Without an id it is of a
        version that gave none."""
        if offset.id and self._id != offset.id:
            self.refresh()
        if offset.id and self._id and self._id != offset.id:
            raise errors.of_another_state(self.where, self._id, offset.id)
        if offset.id and self._id:
            self.require(offset.j)

    def append(self, records: Sequence[AnyRecord]) -> list[int]:
        """Journal the records, durably; gives their numbers. One that is journalled already keeps its number.

        Raises SystemFailedError where they cannot be kept; then nothing counts as journalled.
        """
        if not self._writable:
            self._own += 1
            return self._append_in_memory(records)
        return self._append(records)

    def _append(self, records: Sequence[AnyRecord]) -> list[int]:
        """Journal the records durably, where the journal is writable."""
        return self._append_in_memory(records)

    def _append_in_memory(self, records: Sequence[AnyRecord]) -> list[int]:
        return [self._number(record)[0].n for record in records]

    def number_of(self, record: AnyRecord) -> int | None:
        """The number of an equal record, of a kind that is journalled once; None where there is none, as far as is
        known."""
        return self._known.get(content(record)) if record.once else None

    @property
    def kept(self) -> Sequence[AnyRecord]:
        """What holds for this run alone: a run without consumer has its decisions here."""
        return self._kept

    def keep(self, record: AnyRecord) -> None:
        """Keep a record for this run alone: in memory, without a number."""
        self._kept.append(record)

    def append_skip(self, consumer: str | None, at: Position, error: CdcError, lost: int = 0, table: str = "") -> None:
        """Journal a consumer's decision to leave out an entry; `table`: see `SkipRecord`. A run without consumer keeps
        its own in memory."""
        self._decide(SkipRecord(consumer=consumer, at=at, reason=error.sentence(), lost=lost, table=table))

    def append_loss(self, consumer: str | None, start: Position, end: Position) -> None:
        """Journal a loss that a consumer accepted. A run without consumer keeps its own in memory."""
        self.losses += 1
        self._decide(LossRecord(consumer=consumer, start=start, end=end))

    def _decide(self, record: SkipRecord | LossRecord) -> None:
        if record.consumer is None:
            self.keep(record)
        else:
            self.append([record])

    def segment_ends(self, consumer: str | None, *, after: int = 0) -> list[SegmentEndRecord]:
        """The ends that hold for a consumer, from records above `after`: everybody's and its own, in journal order."""
        return [
            record
            for record in self._records[self._behind(after) :]
            if isinstance(record, SegmentEndRecord)
            and record.consumer in (None, consumer)
            and record.n not in self._retracted
        ]

    def _number(self, record: AnyRecord) -> tuple[AnyRecord, bool]:
        """The record with its number, and whether it is new here."""
        known = self.number_of(record)
        numbered = msgspec.structs.replace(record, n=known or self.count + 1)
        if known is None:
            self._take(numbered)
        return numbered, known is None

    def _behind(self, number: int) -> int:
        """Where in the list the records with higher numbers begin."""
        return bisect_right(self._records, number, key=_number_of)

    def _take(self, record: AnyRecord) -> None:
        self._count = record.n
        self._records.append(record)
        if record.once:
            self._known.setdefault(content(record), record.n)
        if isinstance(record, RetractRecord):
            self._retracted |= {record.of}

    def _forget(self) -> None:
        self._records, self._known, self._retracted = [], {}, frozenset()
        self._base, self._id, self._count = NOTHING, "", 0


class MemoryJournal(Journal):
    """A journal that has no state folder. It is empty at first, and its records are in this process alone."""

    def __init__(self) -> None:
        super().__init__("memory", writable=False)

    def refresh(self) -> None:
        """There is nothing else to read."""

    def catch_up(self) -> None:
        """There is nothing else to read."""


def _number_of(record: AnyRecord) -> int:
    return record.n
