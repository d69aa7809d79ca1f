"""Which reader has which consumer's name, for how long, and under which version.

A lease lasts some seconds from its last request on. While it lasts the name's lock is held, so that no process of this
machine moves the consumer; when it has ended the lock is let go, and the reader's next call takes it up again where
nobody has moved the consumer meanwhile. Only one thread at a time asks about one name. Moves no consumer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tailer.errors import RefusedError
from tailer.on_disk import write_holder
from tailer.serve.asked import Claim
from tailer.serve.problems import ProblemError, conflict
from tailer.state.away import AwayNote
from tailer.state.consumers import consumer_path, lock_path, take_consumer
from tailer.state.lease_file import LeaseFile, lease_path, read_lease, write_lease
from tailer.state.quarantine import quarantine_path
from tailer.wire import words
from tailer.wire.paths import LEASE_SECONDS

FORGOTTEN_SECONDS: Final = 600.0
"""A name without a consumer is kept so long for a reader that may come back: ten times as long as a lease lasts."""

_NOBODY: Final = -1
_Moved = tuple[int, int, int] | None


@dataclass(slots=True)
class Lease:
    """A name that a reader took. `client`: whose reader that is. `lock`: the descriptor that holds it, `away` what is
    told through it.

    `since` and `until`: seconds of the clock. `left`: what told the consumer's file from another one when the lease had
    ended.
    """

    name: str
    client: str
    reader: str
    version: int
    holder: str
    since: float
    until: float
    lock: int = _NOBODY
    away: AwayNote | None = None
    left: _Moved = None


@dataclass(slots=True)
class Leases:
    """Those of one state folder. `clock`: seconds, monotonic; `wall`: since the epoch.

    `known`: by name, those that have ended too, as long as nobody took the name.
    """

    state: Path
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    seconds: float = LEASE_SECONDS
    known: dict[str, Lease] = field(default_factory=dict)
    began: float = 0.0

    def __post_init__(self) -> None:
        self.began = self.clock()

    def take(self, name: str, client: str, reader: str, holder: str) -> Lease:
        """The name becomes the reader's, who is one of the client's. ProblemError where another one has it."""
        lease = self._lease(name)
        if lease is not None and self._lasts(lease):
            if lease.reader != reader:
                raise self._leased(lease.holder, lease.until)
            # It did not hear that it has it.
            return self._renewed(lease)
        written = read_lease(self.state, name)
        if lease is None and written.reader not in ("", reader) and self.clock() < self.began + self.seconds:
            # Taken before this server was started; that reader may not have asked since.
            raise self._leased("another reader", self.began + self.seconds)
        lock = lease.lock if lease is not None and lease.lock != _NOBODY else self._lock(name)
        try:
            self._sign(name, lock, holder)
            version = written.version + 1
            write_lease(self.state, name, LeaseFile(version, reader, client=client))
        except BaseException:
            os.close(lock)
            if lease is not None:
                lease.lock = _NOBODY
            raise
        now = self.clock()
        taken = Lease(name, client, reader, version, holder, now, now + self.seconds, lock)
        taken.away = AwayNote(lock, lock_path(self.state, name), self.wall)
        self.known[name] = taken
        return taken

    def held(self, name: str, claim: Claim) -> Lease:
        """The lease that a reader says it has, which lasts again from now on. ProblemError where it has none."""
        lease = self._lease(name)
        newest = lease.version if lease is not None else read_lease(self.state, name).version
        if claim.version < newest or (lease is not None and claim.reader != lease.reader):
            raise conflict(words.SUPERSEDED, f"another reader took consumer {name}, or it was dropped")
        if lease is None or claim.version > newest:
            raise conflict(words.NO_LEASE, f"no lease of consumer {name} is known here", remedy="Take the name again.")
        if lease.lock == _NOBODY:
            self._take_up(lease)
        return self._renewed(lease)

    def has(self, name: str) -> Lease | None:
        """The lease of a name that lasts now."""
        lease = self.known.get(name)
        return lease if lease is not None and self._lasts(lease) else None

    def version(self, name: str) -> int:
        """Of the last taking of a name; 0 for one that nobody took."""
        return self.last(name).version

    def last(self, name: str) -> LeaseFile:
        """The last taking of a name; version 0 for one that nobody took."""
        lease = self.known.get(name)
        if lease is None:
            return read_lease(self.state, name)
        return LeaseFile(lease.version, lease.reader, client=lease.client)

    def heard(self, claim: Claim) -> None:
        """A reader asks for whatever it is: its lease lasts again from now on, if it has not ended."""
        for lease in list(self.known.values()):
            if lease.reader == claim.reader and lease.version == claim.version and self._lasts(lease):
                self._renewed(lease)

    def rest(self, lease: Lease) -> float:
        """How many seconds it lasts without another request."""
        return max(0.0, lease.until - self.clock())

    def ended(self) -> list[str]:
        """Names whose lease has ended, and whose lock is still held."""
        return [each.name for each in list(self.known.values()) if each.lock != _NOBODY and not self._lasts(each)]

    def let_go(self, name: str) -> None:
        """Where a lease has ended: its lock is free."""
        lease = self.known.get(name)
        if lease is not None and lease.lock != _NOBODY and not self._lasts(lease):
            self._free(lease)

    def release(self, lease: Lease) -> None:
        """The reader is done: the name is free. Of one that has neither consumer nor entries in quarantine nothing is
        left."""
        lease.until = self.clock()
        if not self._is_kept(lease.name):
            self._remove(lease.name)
            self.known.pop(lease.name, None)
            self._close(lease)
            return
        write_lease(self.state, lease.name, LeaseFile(lease.version, client=lease.client))
        self._free(lease)

    def forget_old(self, name: str) -> None:
        """Of a name that was taken or dropped long ago, has neither consumer nor entries in quarantine, and that nobody
        has, nothing is left."""
        lease = self.known.get(name)
        if (lease is not None and (self._lasts(lease) or lease.lock != _NOBODY)) or not self._is_old(name):
            return
        try:
            lock = take_consumer(self.state, name, 0.0)
        except RefusedError:
            return
        try:
            if not self._is_kept(name):
                self._remove(name)
                self.known.pop(name, None)
        finally:
            os.close(lock)

    def _is_kept(self, name: str) -> bool:
        """Whether something is left of a name that says nothing itself of whose it is."""
        return consumer_path(self.state, name).exists() or quarantine_path(self.state, name).exists()

    def _is_old(self, name: str) -> bool:
        try:
            return self.wall() - lease_path(self.state, name).stat().st_mtime > FORGOTTEN_SECONDS
        except FileNotFoundError:
            return False

    def _remove(self, name: str) -> None:
        """Whoever waits at the lock's file finds it gone, and makes another one."""
        lease_path(self.state, name).unlink(missing_ok=True)
        lock_path(self.state, name).unlink(missing_ok=True)

    def forget(self, name: str) -> None:
        """The consumer was dropped: whoever had the name has it no more."""
        written = read_lease(self.state, name)
        if written.version:
            write_lease(self.state, name, LeaseFile(written.version + 1, client=written.client))
        if (lease := self.known.pop(name, None)) is not None:
            self._close(lease)

    def close(self) -> None:
        """Every lock is free; who has a lease may go on with the next server."""
        for lease in self.known.values():
            self._close(lease)
        self.known.clear()

    def _lease(self, name: str) -> Lease | None:
        """What is known of a name, if the state is still there that it was taken in."""
        lease = self.known.get(name)
        if lease is not None and lease.lock != _NOBODY and not os.fstat(lease.lock).st_nlink:
            self._close(lease)
            del self.known[name]
            return None
        return lease

    def _lasts(self, lease: Lease) -> bool:
        return self.clock() < lease.until

    def _renewed(self, lease: Lease) -> Lease:
        lease.until = self.clock() + self.seconds
        return lease

    def _take_up(self, lease: Lease) -> None:
        """Its reader is late. Nobody else took the name by this server; a process here may have."""
        try:
            lock = self._lock(lease.name)
        except ProblemError as error:
            raise self._moved(lease) from error
        with ExitStack() as undo:
            undo.callback(os.close, lock)
            if self._file(lease.name) != lease.left or read_lease(self.state, lease.name).version != lease.version:
                raise self._moved(lease)
            self._sign(lease.name, lock, lease.holder)
            undo.pop_all()
        lease.lock = lock
        lease.away = AwayNote(lock, lock_path(self.state, lease.name), self.wall)

    def _moved(self, lease: Lease) -> ProblemError:
        self.known.pop(lease.name, None)
        version = read_lease(self.state, lease.name).version
        write_lease(self.state, lease.name, LeaseFile(max(version, lease.version + 1), client=lease.client))
        return conflict(words.SUPERSEDED, f"a process on the node took consumer {lease.name} since")

    def _lock(self, name: str) -> int:
        try:
            return take_consumer(self.state, name)
        except RefusedError as error:
            raise conflict(words.LEASED, error.what, after=self.seconds, remedy=error.remedy) from error

    def _leased(self, holder: str, until: float) -> ProblemError:
        rest = max(0.0, until - self.clock())
        return conflict(
            words.LEASED,
            f"the consumer is in use by {holder}",
            after=rest,
            remedy="Stop it, or take another name for this consumer.",
        )

    def _free(self, lease: Lease) -> None:
        lease.left = self._file(lease.name)
        self._close(lease)

    def _close(self, lease: Lease) -> None:
        if lease.lock != _NOBODY:
            os.close(lease.lock)
            lease.lock, lease.away = _NOBODY, None

    def _file(self, name: str) -> _Moved:
        """What tells a consumer's file from the one that takes its place."""
        try:
            status = consumer_path(self.state, name).stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _sign(self, name: str, lock: int, holder: str) -> None:
        """Who asks a lock's file who holds it reads this."""
        write_holder(lock, lock_path(self.state, name), f"{holder}, by `cdc-tail serve`")
