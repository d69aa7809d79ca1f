"""One run of the writer that keeps what it promised: commits in the order of appending, and which are acknowledged.

The steps of a workload are this class's methods. Knows the writer's public interface only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tailer.errors import CdcError
from tailer.position import Position
from tests.writer.crash.tables import STAMP, TABLES, AnyChange, AnyTable, change_of
from writer_hooks import SegmentLog, batch
from writer_hooks.disk import Files

FOLDER = Path("/log")
RAW = FOLDER / "cdc_raw"


TOKENS = itertools.count(1)
"""No two runs of the writer have the same."""


class Ticket(Protocol):
    @property
    def done(self) -> bool: ...
    @property
    def position(self) -> Position: ...


@dataclass
class Commit:
    """Changes that count together: the numbers of all tables' rows, and those a reader of cdc tables gets."""

    rows: list[int]
    cdc: list[int]
    ticket: Ticket | None = None

    @property
    def acknowledged(self) -> bool:
        return self.ticket is not None and self.ticket.done


@dataclass
class _Open:
    """An open transaction: the log's own object, its changes so far, how many there were at each savepoint."""

    log: Any
    changes: list[AnyChange] = field(default_factory=list)
    saved: dict[str, int] = field(default_factory=dict)


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def open_log(files: Files, **options: Any) -> SegmentLog:
    """The log as the crash tests open it: small segments, no threads, nothing left to chance."""
    settings: dict[str, Any] = {
        "sync": batch(),
        "segment_bytes": 4096,
        "threads": False,
        "clock": Clock(),
        "wall": lambda: STAMP,
        "boot_id": lambda: "run 0",
        "token": lambda: f"{next(TOKENS):016x}",
        **options,
    }
    return SegmentLog.open(FOLDER, tables=list(TABLES), files=files, **settings)


class Session:
    """A log being written. `commits` goes on over runs: give it what an earlier run left."""

    def __init__(self, open_it: Callable[[], SegmentLog], commits: list[Commit] | None = None) -> None:
        self.commits = commits if commits is not None else []
        self.discarded = 0
        self.discarded_at = Position(0, 0)
        self.noted = 0, self.discarded_at
        self.next_number = 1 + max((number for commit in self.commits for number in commit.rows), default=0)
        self.transactions: dict[str, _Open] = {}
        self.log = open_it()

    @property
    def acknowledged(self) -> int:
        """How many commits from the first on are acknowledged: tickets complete in order."""
        count = len(self.commits)
        while count and not self.commits[count - 1].acknowledged:
            count -= 1
        assert all(commit.acknowledged for commit in self.commits[:count])
        return count

    def append(self, table: AnyTable, rows: int = 1, size: int = 40) -> None:
        change = self._change(table, rows, size)
        self._commit([change], lambda: self.log.append(change))

    def append_many(self, tables: Sequence[AnyTable], size: int = 40) -> None:
        """A row of each, one commit each; nothing of it may be refused."""
        changes = [self._change(table, 1, size) for table in tables]
        commits = [_commit_of([change]) for change in changes]
        self.commits += commits
        ticket = self.log.append_many(changes)
        for commit in commits:
            commit.ticket = ticket

    def begin(self, name: str) -> None:
        self.transactions[name] = _Open(self.log.begin())

    def change(self, name: str, table: AnyTable, rows: int = 1, size: int = 40) -> None:
        change = self._change(table, rows, size)
        self.transactions[name].log.append(change)
        self.transactions[name].changes.append(change)

    def save(self, name: str, savepoint: str) -> None:
        self.transactions[name].log.savepoint(savepoint)
        self.transactions[name].saved[savepoint] = len(self.transactions[name].changes)

    def back(self, name: str, savepoint: str) -> None:
        self.transactions[name].log.rollback_to(savepoint)
        count = self.transactions[name].saved[savepoint]
        del self.transactions[name].changes[count:]
        self.transactions[name].saved = {
            other: length for other, length in self.transactions[name].saved.items() if length <= count
        }

    def commit(self, name: str) -> None:
        transaction = self.transactions.pop(name)
        self._commit(transaction.changes, transaction.log.commit)

    def rollback(self, name: str) -> None:
        self.transactions.pop(name).log.rollback()

    def sync(self) -> None:
        self.log.sync()

    def note(self) -> None:
        """The service's store begins to write what is acknowledged by now."""
        self.log.sync()
        self.noted = len(self.commits), self.log.end

    def forget(self) -> None:
        """The service's store has become durable up to what was noted."""
        self.discarded, self.discarded_at = self.noted
        self.log.discard_before(self.discarded_at)

    def discard(self) -> None:
        """The service's store is durable up to all that is acknowledged."""
        self.note()
        self.forget()

    def close(self) -> None:
        self.log.close()

    def _change(self, table: AnyTable, rows: int, size: int) -> AnyChange:
        numbers = tuple(range(self.next_number, self.next_number + rows))
        self.next_number += rows
        return change_of(table, numbers, size)

    def _commit(self, changes: list[AnyChange], make: Callable[[], Ticket]) -> None:
        """Registered before the call: a crash inside it may leave the commit in the log."""
        commit = _commit_of(changes)
        self.commits.append(commit)
        try:
            commit.ticket = make()
        except CdcError:
            self.commits.remove(commit)
            raise


def _commit_of(changes: Sequence[AnyChange]) -> Commit:
    rows = [number for change in changes for number in change.numbers]
    return Commit(rows, [number for change in changes if change.table.cdc for number in change.numbers])
