"""Transactions of one writer: many at once, their records between those of others, their rows at the commit.

What a commit tells its readers is counted here: where the section with the first tracked change begins (`first`), and
how many valid changes there are from that change on; the same for changes of all tables (`first_any`, `n_any`).
"""

from __future__ import annotations

import logging
import warnings
from types import TracebackType
from typing import Final, NamedTuple, Protocol

from tailer.errors import RefusedError, UsageError
from tailer.position import Position
from tailer.scan.record.record import (
    Begin,
    Rollback,
    RollbackTo,
    Savepoint,
    encode_commit,
    encode_position,
    encode_record,
)
from writer_hooks.appender import AnyChange, Appender
from writer_hooks.durable import key_of
from writer_hooks.ticket import Ticket

_OPEN: Final = "open"
_COMMITTED: Final = "committed"
_ROLLED_BACK: Final = "rolled back"

_log: Final = logging.getLogger("writer_hooks")


class _Counts(NamedTuple):
    """What a commit would say now. Going back to a savepoint brings back those it had."""

    first: Position | None = None
    n: int = 0
    first_any: Position | None = None
    n_any: int = 0


class _Open:
    """What the log keeps of an open transaction: never the transaction itself, whose end nobody would notice then.

    `since`: when it began, by the log's clock.
    """

    def __init__(self, id: int, appender: Appender) -> None:
        self.id = id
        self.counts = _Counts()
        self.state = _OPEN
        self.since = appender.clock()
        self._appender = appender

    @property
    def first(self) -> Position | None:
        return self.counts.first

    @property
    def first_any(self) -> Position | None:
        return self.counts.first_any

    def abort(self, why: str) -> None:
        """Rolls it back, for those who hold the append lock. A record tells it where there is room for one; none is
        needed, as what never commits is never delivered."""
        if self.id in self._appender.transactions:
            tracked = self.counts.first is not None
            self.close(why)
            self._appender.put_if_it_fits(encode_record(Rollback(self.id)), tracked)

    def count(self, counts: _Counts) -> None:
        """What its commit would say from now on."""
        self.counts = counts

    def refuse(self) -> None:
        """A change of it did not go into the log: it can only be rolled back."""
        self.state = "refused: a change of it did not go into the log"

    def close(self, state: str) -> None:
        self.state = state
        del self._appender.transactions[self.id]


class Owner(Protocol):
    """The log, for its transactions."""

    appender: Appender

    def ticket(self, end: int) -> Ticket: ...

    def relieve(self) -> None: ...

    def appended(self) -> None: ...


class Transaction:
    """Changes of any tables that count together, at the commit, or never. One thread at a time.

    As a context manager it commits at the end of the block and rolls back when that raises; `ticket` is the commit's. A
    block that ends without an exception has committed, or has rolled back by itself: what ended the transaction
    otherwise (the cap, the log's close, a change that was refused) is raised there. With `wait`, and always as `async
    with`, it ends when the commit is durable: what raises while it waits takes no commit back.

    One that is forgotten while it is open, so that nobody refers to it any more, is rolled back at the next sync, with
    a ResourceWarning and a line of `logging`: it would hold its segments for ever.
    """

    def __init__(self, log: Owner, id: int, wait: bool = False) -> None:
        self.id = id
        self._wait = wait
        self.ticket: Ticket | None = None
        self._log = log
        self._appender = log.appender
        self._savepoints: dict[str, tuple[Position, _Counts]] = {}
        self._open = _Open(id, self._appender)
        with self._appender.lock:
            self._appender.put(encode_record(Begin(id)), None, False)
            self._appender.transactions[id] = self._open
        log.appended()

    @property
    def open(self) -> bool:
        """Neither committed nor rolled back."""
        return self._open.state == _OPEN

    def append(self, change: AnyChange) -> None:
        """The change counts when the transaction is committed. Waits while too much is not durable.

        A change that the cap refuses leaves a transaction that can only be rolled back.
        """
        self._relieve()
        appender = self._appender
        with appender.lock:
            self._check()
            write_ts = change.write_ts
            payload = change.encode(self.id, appender.now() if write_ts is None else write_ts)
            counts = self._open.counts
            tracked = change.table.cdc or counts.first is not None
            try:
                appender.put(payload, change.table, tracked)
            except RefusedError:
                self._open.refuse()
                raise
            section = appender.segment.section_start
            self._open.count(
                _Counts(
                    counts.first or (section if tracked else None),
                    counts.n + tracked,
                    counts.first_any or section,
                    counts.n_any + 1,
                )
            )
        self._log.appended()

    def savepoint(self, name: str) -> None:
        """A place that `rollback_to` goes back to; one of the same name is replaced."""
        _check_name(name)
        self._relieve()
        with self._appender.lock:
            self._check()
            place = self._put(encode_record(Savepoint(self.id, name)))
            self._savepoints.pop(name, None)
            self._savepoints[name] = (place, self._open.counts)
        self._log.appended()

    def rollback_to(self, name: str) -> None:
        """What was appended since that savepoint never counts; the savepoint stays, later ones are gone."""
        self._relieve()
        with self._appender.lock:
            self._check()
            if name not in self._savepoints:
                raise UsageError(
                    "a transaction has no such savepoint", expected=", ".join(self._savepoints) or "none", found=name
                )
            place, counts = self._savepoints[name]
            self._put(encode_record(RollbackTo(self.id, encode_position(place))))
            self._open.count(counts)
            names = list(self._savepoints)
            for later in names[names.index(name) + 1 :]:
                del self._savepoints[later]
        self._log.appended()

    def commit(self) -> Ticket:
        """Everything that was appended counts from here on, once the ticket is done."""
        self._relieve()
        appender = self._appender
        with appender.lock:
            self._check()
            self._put(encode_commit(self.id, *self._open.counts))
            self._open.close(_COMMITTED)
            end = key_of(appender.segment.place)
        self.ticket = self._log.ticket(end)
        self._log.appended()
        return self.ticket

    def rollback(self) -> None:
        """Nothing of it ever counts. Of a transaction that is not open any more nothing is asked."""
        with self._appender.lock:
            self._open.abort(_ROLLED_BACK)
        self._log.appended()

    def __del__(self) -> None:
        state = getattr(self, "_open", None)
        # Whoever collects it may hold the append lock: it is noted here, and rolled back where that lock is held.
        if state is None or not self._appender.forget_transaction(state):
            return
        what = f"transaction {self.id} was forgotten while it was open, and is rolled back: commit it, or roll it back"
        _log.warning("%s", what)
        warnings.warn(what, ResourceWarning, source=self, stacklevel=2)

    def _relieve(self) -> None:
        if self._appender.full:
            self._log.relieve()

    def _put(self, payload: bytes) -> Position:
        return self._appender.put(payload, None, self._open.counts.first is not None)

    def _check(self) -> None:
        self._appender.check()
        state = self._open.state
        if state != _OPEN:
            raise RefusedError(f"transaction {self.id} is not open any more: {state}", remedy="Begin another.")

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ticket = self._leave(kind)
        if ticket is not None and self._wait:
            ticket.wait()

    async def __aenter__(self) -> Transaction:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ticket = self._leave(kind)
        if ticket is not None:
            await ticket

    def _leave(self, kind: type[BaseException] | None) -> Ticket | None:
        """The end of a block that raised `kind`: the ticket of its commit, where it ended well with one."""
        if kind is not None:
            self.rollback()
            return None
        if self._open.state not in (_COMMITTED, _ROLLED_BACK):
            try:
                self.commit()
            except BaseException:
                # It must not stay open behind its block, and hold what its readers need.
                self.rollback()
                raise
        return self.ticket


def _check_name(name: object) -> None:
    """A record has it as text."""
    try:
        if isinstance(name, str):
            name.encode()
            return
    except UnicodeEncodeError:
        pass
    raise UsageError("the name of a savepoint", expected="a str that can be written as UTF-8", found=repr(name))
