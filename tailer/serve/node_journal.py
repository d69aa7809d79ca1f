"""The journal of the node's state for many threads: one of them asks it at a time. Knows no request."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tailer.retention.forget_dropped import dropped_names, leave_out_dropped
from tailer.state.affected import consumer_of
from tailer.state.consumers import ConsumerFile, Mark, NodeState
from tailer.state.folder_journal import FolderJournal
from tailer.state.ids_json import to_texts
from tailer.state.journal_base import Base
from tailer.state.journal_records import AnyRecord


@dataclass(frozen=True, slots=True)
class Stands:
    """What a journal has. `count`: the number of its newest record."""

    id: str
    count: int
    base: Base


class NodeJournal:
    """Of one state folder; every call knows what others have written by then."""

    def __init__(self, state: Path) -> None:
        self._lock = threading.Lock()
        self._journal = FolderJournal(state)
        self._sizes = _Sizes()
        self._stays: dict[str, int] = {}

    @property
    def id(self) -> str:
        """The state's id, as it was when somebody asked last; empty where it has none."""
        return self._journal.id

    def count_now(self) -> int:
        """How many records there are; what was known last where somebody is just writing: nobody waits for him."""
        if self._lock.acquire(blocking=False):
            try:
                self._journal.refresh()
            finally:
                self._lock.release()
        return self._journal.count

    def refresh(self) -> Stands:
        """What there is now."""
        with self._lock:
            self._journal.refresh()
            return self._stands()

    def identify(self) -> str:
        """The state has an id when this returns, durably."""
        with self._lock:
            self._journal.refresh()
            self._journal.identify()
            return self._journal.id

    def read(self, after: int) -> tuple[Stands, Sequence[AnyRecord]]:
        """The records with higher numbers."""
        with self._lock:
            # Who asks may know of some that no look here tells of.
            self._journal.catch_up()
            return self._stands(), self._journal.read(after=after)

    def bytes_of(self, owns: Callable[[str], bool]) -> int:
        """How long the records are, as they are told, that name one of these consumers."""
        with self._lock:
            self._journal.refresh()
            return self._sizes.of(self._journal, owns)

    def leave_out_dropped(self, least: int) -> bool:
        """Leave out what there is of dropped consumers, where that is so many bytes or more; whether it was."""
        with self._lock:
            self._journal.refresh()
            before = self._sizes.by_name(self._journal)
            gone = dropped_names(self._journal.folder, before)
            if sum(before[name] - self._stays.get(name, 0) for name in gone) < least:
                return False
            done = leave_out_dropped(self._journal)
            after = self._sizes.by_name(self._journal)
            # It is not tried again for what stays of a name whatever becomes of it.
            self._stays = {name: after[name] for name in gone if name in after}
            return done

    def numbers_of(self, records: Sequence[AnyRecord]) -> list[int | None]:
        """The numbers of equal records, where they are of a kind that is journalled once."""
        with self._lock:
            self._journal.refresh()
            return [self._journal.number_of(record) for record in records]

    def append_at(self, records: Sequence[AnyRecord], expected: int) -> list[int] | None:
        """Append, where there are `expected` records; None where there are not."""
        with self._lock:
            return self._journal.append_at(records, expected)

    def check(self, content: ConsumerFile) -> None:
        """RefusedError for a consumer that stands in another state, or counts records that never were."""
        with self._lock:
            self._journal.refresh()
            for node in content.nodes.values():
                for mark in _marks(node):
                    self._journal.check_id(mark.offset)
                    self._journal.require(mark.memory.upto)

    def has_forgotten(self, content: ConsumerFile) -> bool:
        """Whether a compaction has left out what a position of these needs."""
        with self._lock:
            self._journal.catch_up()
            base = self._journal.base
            return any(base.forgets(mark.offset) for node in content.nodes.values() for mark in _marks(node))

    def _stands(self) -> Stands:
        return Stands(self._journal.id, self._journal.count, self._journal.base)


class _Sizes:
    """How many bytes of records there are by the consumer that they name, kept up to date."""

    def __init__(self) -> None:
        self._upto = (0, 0)
        self._bytes: Counter[str] = Counter()

    def of(self, journal: FolderJournal, owns: Callable[[str], bool]) -> int:
        return sum(size for name, size in self.by_name(journal).items() if owns(name))

    def by_name(self, journal: FolderJournal) -> dict[str, int]:
        base, upto = self._upto
        if journal.base.upto != base or journal.count < upto:
            base, upto = journal.base.upto, 0
            self._bytes.clear()
        for record in journal.read(after=upto):
            if (name := consumer_of(record)) is not None:
                self._bytes[name] += size_of(record)
        self._upto = base, journal.count
        return dict(self._bytes)


def size_of(record: AnyRecord) -> int:
    """How long a record is, as it is told."""
    return len(msgspec.json.encode(record, enc_hook=to_texts))


def _marks(node: NodeState) -> tuple[NodeState | Mark, ...]:
    return (node, *node.ahead)
