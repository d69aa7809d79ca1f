"""A cluster: each replica has its own state and its own log. Time stands still but where a test moves it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.helpers.images.logged import Entry, Update
from tests.helpers.images.partitions import Partition, Rows
from tests.helpers.images.tables import Key, ModelTable

SEGMENT = 7


@dataclass
class Replica:
    name: str
    partitions: dict[int, Partition] = field(default_factory=dict)
    log: list[Entry] = field(default_factory=list)
    offset: int = 100
    truncating: int = 0
    """The offset below which a TRUNCATE that has begun takes everything; 0 where there is none."""

    def logs(self, now: int, updates: Iterable[Update], before: int = 0) -> Entry:
        self.offset += 100
        entry = Entry(self.name, SEGMENT, self.offset, now, tuple(updates), before > 0, before)
        self.log.append(entry)
        return entry

    def takes(self, now: int, updates: Iterable[Update]) -> Entry:
        """An entry in its log, and in its state."""
        entry = self.logs(now, updates)
        for k, update in entry.updates:
            self.partitions[k] = self.partitions.get(k, Partition()).merged(update)
        return entry


class Cluster:
    """Replicas `a`, `b`, …, all of every partition (RF = N). `now` in seconds."""

    def __init__(self, table: ModelTable, replicas: int, now: int) -> None:
        self.table = table
        self.now = now
        self.replicas = [Replica("abc"[number]) for number in range(replicas)]
        self.writes: list[tuple[Update, ...]] = []

    def write(self, updates: Sequence[Update], on: Iterable[int]) -> None:
        """A client's write, or batch, that some replicas take now; the others by `hint` or `repair`, or never."""
        self.writes.append(tuple(updates))
        for number in on:
            self.replicas[number].takes(self.now, updates)

    def hint(self, write: int, to: int) -> None:
        """A write once more: a hint, a replayed batch."""
        self.replicas[to].takes(self.now, self.writes[write])

    def repair(self, k: int, source: int, to: int, key: Key | None = None, *, compacts: bool = False) -> None:
        """What one replica has of a partition, merged, as one entry of another's log; of `key` alone a read repair.
        `compacts`: the source compacted it before, which made tombstones of what had expired.
        """
        held = self.replicas[source].partitions.get(k, Partition()).compacted(self.table)
        if compacts:
            held = held.after_expiry(self.now)
        if key is not None:
            held = Partition(rows={key: held.rows[key]} if key in held.rows else {})
        if held:
            self.replicas[to].takes(self.now, [(k, held)])

    def repair_everywhere(self) -> None:
        for to in range(len(self.replicas)):
            for source in range(len(self.replicas)):
                for k in sorted(self.replicas[source].partitions):
                    if source != to:
                        self.repair(k, source, to)

    def truncate(self, replica: int) -> None:
        self.begin_truncate(replica)
        self.end_truncate(replica)

    def begin_truncate(self, replica: int) -> None:
        """Its place is taken, and what the node has goes; what is written from now on stays."""
        self.end_truncate(replica)
        self.replicas[replica].partitions.clear()
        self.replicas[replica].truncating = self.replicas[replica].offset + 50

    def end_truncate(self, replica: int) -> None:
        """It is logged, if one has begun."""
        truncated = self.replicas[replica]
        if truncated.truncating:
            truncated.logs(self.now, (), truncated.truncating)
            truncated.truncating = 0

    def end_truncates(self) -> None:
        for replica in range(len(self.replicas)):
            self.end_truncate(replica)

    def purge(self, gc: int, before: int) -> None:
        """After a repair of everything, and when the tombstones of timestamps less than `before` are older than `gc`.

        Neither repairs nor reads show the others what may be purged, wherever it still lies
        (ValidationIterator, ReadCommand.withoutPurgeableTombstones).
        """
        for replica in self.replicas:
            purged = {k: held.purged(self.table, self.now, gc, before) for k, held in replica.partitions.items()}
            replica.partitions = {k: held for k, held in purged.items() if held}

    def select(self) -> dict[int, Rows]:
        """SELECT at ALL."""
        merged: dict[int, Partition] = {}
        for replica in self.replicas:
            for k, held in replica.partitions.items():
                merged[k] = merged.get(k, Partition()).merged(held)
        return {k: rows for k, held in merged.items() if (rows := held.select(self.table, self.now))}
