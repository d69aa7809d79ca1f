"""The quarantine comes back: entries that decode by now give their rows, marked `late`, once for their consumer.

The rows go out first, then the journal says so: who is killed in between gets them again, under the same `event_id`.
Knows no form of output.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tailer.errors import CdcError, RefusedError, UsageError
from tailer.on_disk import wait_for_lock
from tailer.position import Position
from tailer.rows.late import LateBatch
from tailer.sinks.base import Sink
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal import Journal
from tailer.state.journal_records import ReplayedRecord
from tailer.state.modes import open_to_read
from tailer.state.quarantine import Kept, quarantine_path, quarantined_consumers, whole_records
from tailer.tail.quarantined import KnownNow

RECORDS_AT_ONCE: Final = 256
"""So many entries are given before the journal is told of them: what may come again after a kill."""


class Stays(NamedTuple):
    """An entry that does not decode still, and why."""

    record: Kept
    reason: str


class Replayed(NamedTuple):
    """What a replay gave, of how many entries, and what stays."""

    rows: int
    entries: int
    stays: list[Stays]


def replayed(journal: Journal, consumer: str | None) -> set[tuple[str, Position]]:
    """The entries of a consumer's quarantine whose rows were given: node and place."""
    told = (each for each in journal.read() if isinstance(each, ReplayedRecord))
    return {(each.node, each.at) for each in told if each.consumer == consumer}


def replay(state: Path, consumer: str, known: KnownNow, sink: Sink) -> Replayed:
    """Give the sink the rows of what decodes by now, in the order in which it was met.

    UsageError where the consumer has no quarantine, RefusedError where another replay of it runs.
    """
    path = quarantine_path(state, consumer)
    given = _Given(FolderJournal(state), consumer)
    stays: list[Stays] = []
    with _alone(path, consumer):
        done = given.before()
        try:
            for record in whole_records(path):
                if (record.node, record.at) in done:
                    continue
                try:
                    rows = known.rows(record)
                except CdcError as error:
                    stays.append(Stays(record, error.sentence()))
                    continue
                if len(rows):
                    sink.write(LateBatch(rows))
                given.note(record, len(rows))
        finally:
            # What a sink has taken is not given again, whatever became of the rest.
            given.tell()
    return Replayed(given.rows, given.entries, stays)


class _Given:
    """What was given, and is told to the journal."""

    def __init__(self, journal: Journal, consumer: str) -> None:
        self.rows = 0
        self.entries = 0
        self._journal = journal
        self._consumer = consumer
        self._untold: list[ReplayedRecord] = []

    def before(self) -> set[tuple[str, Position]]:
        """What earlier replays gave; asked for when no other one runs."""
        self._journal.refresh()
        return replayed(self._journal, self._consumer)

    def note(self, record: Kept, rows: int) -> None:
        self.rows += rows
        self.entries += 1
        self._untold.append(ReplayedRecord(consumer=self._consumer, node=record.node, at=record.at))
        if len(self._untold) >= RECORDS_AT_ONCE:
            self.tell()

    def tell(self) -> None:
        """Durable when this returns."""
        if self._untold:
            self._journal.append(self._untold)
            self._untold = []


@contextmanager
def _alone(path: Path, consumer: str) -> Iterator[None]:
    """One replay of a consumer's quarantine at a time. Whoever puts entries into it is not hindered."""
    try:
        descriptor = open_to_read(path)
    except FileNotFoundError:
        names = [name for name in quarantined_consumers(path.parent.parent) if name is not None]
        raise UsageError(
            f"consumer {consumer!r} has nothing in quarantine",
            file=str(path),
            expected=" or ".join(names) if names else None,
        ) from None
    try:
        wait_for_lock(descriptor, path, lambda _: _in_use(path, consumer))
        yield
    finally:
        os.close(descriptor)


def _in_use(path: Path, consumer: str) -> RefusedError:
    return RefusedError(
        f"another replay of the quarantine of {consumer!r} runs",
        file=str(path),
        remedy="Wait for its end: what it gives is not given again.",
    )
