"""How far the log is durable, and who waits for it to be further. Knows no disk and no segment.

Those who wait share one gate for each sync: a thread that was let through lets the next one through, an event loop is
woken once for all of its tasks.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Final

from tailer.errors import CdcError
from tailer.position import Position
from writer_hooks.bell import Bell
from writer_hooks.writer_errors import waits_in_hook

_OFFSET_BITS: Final = 32

_log: Final = logging.getLogger("writer_hooks")


def key_of(position: Position) -> int:
    """A position as one number, which compares as it does."""
    return position.segment << _OFFSET_BITS | position.offset


def position_of(key: int) -> Position:
    return Position(key >> _OFFSET_BITS, key & 0xFFFFFFFF)


class Group:
    """Those who wait for the same sync. `error`: why it did not come about, where it may be tried again.

    `threads`: how many wait, blocked or with an event loop.
    """

    __slots__ = ("_expected", "_gate", "_here", "_lock", "_loops", "_open", "error", "threads")

    def __init__(self) -> None:
        self.error: CdcError | None = None
        self.threads = 0
        self._expected = 0
        self._here: Bell | None = None
        self._gate = threading.Lock()
        self._gate.acquire()
        self._lock = threading.Lock()
        self._open = False
        self._loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}

    def wait(self, timeout: float) -> bool:
        """Blocks this thread until the sync has come to an end; False when `timeout` seconds (-1: none) are over."""
        self._come()
        try:
            passed = self._gate.acquire(timeout=timeout)
            if passed:
                self._let_through()
        except BaseException:
            # A signal's exception may come when the gate is passed already: whoever waits behind must not stay there.
            if self._open:
                self._let_through()
            raise
        return passed

    def future(self) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if self._open:
                future.set_result(None)
            else:
                if loop not in self._loops:
                    self._loops[loop] = []
                    self._come()
                self._loops[loop].append(future)
        return future

    def gather(self, expected: int, patience: float) -> None:
        """Returns when so many threads wait, or when none has come for so many seconds."""
        here = Bell()
        self._here, self._expected = here, expected
        came = self.threads
        while came < expected and not here.hear(patience):
            before, came = came, self.threads
            if came == before:
                return

    def open(self, error: CdcError | None = None) -> None:
        """Lets everybody go on."""
        with self._lock:
            if self._open:
                return
            self._open = True
            self.error = error
            loops, self._loops = self._loops, {}
        self._let_through()
        for loop, futures in loops.items():
            _tell(loop, futures)

    def _come(self) -> None:
        self.threads += 1
        if self.threads == self._expected and self._here is not None:
            self._here.ring()

    def _let_through(self) -> None:
        """Once open, the gate stays so: two may find it closed by one another, and the second has nothing to do."""
        try:
            self._gate.release()
        except RuntimeError:
            return


def _tell(loop: asyncio.AbstractEventLoop, futures: list[asyncio.Future[None]]) -> None:
    """Wakes the tasks of a loop. A loop that was closed meanwhile has none any more, and is no matter of the log's."""
    try:
        loop.call_soon_threadsafe(_resolve, futures)
    except Exception:
        if not loop.is_closed():
            _log.exception("tasks could not be told that their changes are durable")


def _resolve(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


def _nothing() -> None:
    """Nobody syncs."""


class DurableEnd:
    """The log's durable end as a number. `dead`: why it will not move any more.

    `demand` asks for a sync, by this thread where that is best; `ask` lets another do it, where there is one.
    """

    def __init__(
        self, end: Position, demand: Callable[[], None] = _nothing, ask: Callable[[], None] = _nothing
    ) -> None:
        self.end = key_of(end)
        self.dead: CdcError | None = None
        # The thread that calls hooks now, 0 where none does: the next sync waits for it.
        self._telling = 0
        self._demand = demand
        self._ask = ask
        self._guard = threading.Lock()
        # One value, so that whoever waits takes a gate that fits the limit: up to it bytes are in the sync under way.
        self._groups = (self.end, Group(), Group())

    def turn(self, end: int) -> Group:
        """A sync of everything up to `end` begins: its group. Called while nothing can be appended."""
        _, _, begins = self._groups
        self._groups = (end, begins, Group())
        return begins

    @property
    def coming(self) -> Group:
        """Those who wait for the next sync to begin."""
        return self._groups[2]

    def advance(self, end: int) -> bool:
        """Everything up to `end` is durable; False, and the end stays, where the log died meanwhile."""
        with self._guard:
            if self.dead is None:
                self.end = end
            return self.dead is None

    def settle(self, group: Group, error: CdcError | None = None) -> None:
        """The sync of that group has come to an end. After an error its bytes wait for the next one."""
        _, running, coming = self._groups
        self._groups = (self.end, running, coming)
        group.open(error)

    def stop(self, error: CdcError) -> bool:
        """From now on the end does not move; False where it was so before."""
        with self._guard:
            first = self.dead is None
            if first:
                self.dead = error
            return first

    @contextmanager
    def telling(self) -> Iterator[None]:
        """While this lasts, this thread calls hooks."""
        self._telling = threading.get_ident()
        try:
            yield
        finally:
            self._telling = 0

    def forget(self, error: CdcError) -> None:
        """`stop` in a forked child, where whoever held the guard, or would open a gate, may be gone."""
        self.dead = error
        self._telling = 0
        self._guard = threading.Lock()

    def release(self) -> None:
        """Everybody who still waits on a stopped end gets its error."""
        _, running, coming = self._groups
        running.open()
        coming.open()

    @property
    def in_hook(self) -> bool:
        """Whether this thread is calling a hook."""
        return self._telling == threading.get_ident()

    def check_may_wait(self) -> None:
        """Raises RefusedError in a hook, which would wait for its own return."""
        if self.in_hook:
            raise waits_in_hook()

    def wait(self, end: int, timeout: float | None = None) -> None:
        """Returns when the log is durable up to `end`. Raises TimeoutError, or what keeps it from being so."""
        if end > self.end:
            self.check_may_wait()
        deadline = None if timeout is None else time.monotonic() + timeout
        # Nobody knows how long a sync will take: who has to be back in time does not do it himself.
        demand = self._demand if deadline is None else self._ask
        while end > self.end:
            group = self._group(end)
            if end > self._groups[0]:
                demand()
                if end <= self.end:
                    return
            left = -1.0 if deadline is None else min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)
            if not group.wait(left):
                raise TimeoutError(f"not durable after {timeout} s: {position_of(end)}")
            if group.error is not None and end > self.end:
                raise group.error

    def wait_task(self, end: int) -> Generator[object, None, None]:
        """The same for a task of asyncio."""
        if end > self.end:
            self.check_may_wait()
        while end > self.end:
            group = self._group(end)
            future = group.future()
            self._ask()
            if end <= self.end:
                return
            yield from future
            if group.error is not None and end > self.end:
                raise group.error

    def _group(self, end: int) -> Group:
        if self.dead is not None:
            raise self.dead
        limit, running, coming = self._groups
        return running if end <= limit else coming
