"""What threads wait at: locks, other threads, and descriptors that become readable."""

from __future__ import annotations

import select
import threading
from typing import Any

from tests.simulation.world import Thread, World, running

_NOBODY: Any = object()
"""Holds a lock outside of every simulation: there is one thread there, and it waits for none."""


def _who() -> Any:
    thread = running()
    return _NOBODY if thread is None else thread


def _world() -> World:
    thread = running()
    if thread is None:
        raise RuntimeError("this would wait for ever: nobody else runs outside of a simulation")
    return thread.process.machine.world


class Lock:
    """As `threading.Lock`."""

    def __init__(self) -> None:
        self._held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._held:
            if not blocking:
                return False
            _world().wait(lambda: not self._held, None if timeout < 0 else timeout)
            if self._held:
                return False
        self._held = True
        return True

    def release(self) -> None:
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        self._held = False


class RLock:
    """As `threading.RLock`."""

    def __init__(self) -> None:
        self._owner: Any = None
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = _who()
        if self._owner is not me:
            if self._owner is not None:
                if not blocking:
                    return False
                _world().wait(lambda: self._owner is None, None if timeout < 0 else timeout)
                if self._owner is not None:
                    return False
            self._owner = me
        self._count += 1
        return True

    def release(self) -> None:
        if self._owner is not _who():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            self._owner = None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    # What `threading.Condition` asks of such a lock.

    def _is_owned(self) -> bool:
        return self._owner is _who()

    def _release_save(self) -> tuple[int, Any]:
        held = self._count, self._owner
        self._count, self._owner = 0, None
        return held

    def _acquire_restore(self, held: tuple[int, Any]) -> None:
        self.acquire()
        self._count, self._owner = held

    def _at_fork_reinit(self) -> None:
        self._owner, self._count = None, 0


def thread_start(self: threading.Thread) -> None:
    """As `Thread.start`: it is a thread of the simulated process."""
    starter = running()
    assert starter is not None, "a thread of a simulation starts it"
    world = starter.process.machine.world
    world.step("thread")
    made = world.spawn(starter.process, self.run, self.name)
    self.simulated = made
    self._ident = made.number
    self._started.set()


def thread_hash(self: threading.Thread) -> int:
    thread = _simulated(self)
    return object.__hash__(self) if thread is None else thread.number


def thread_join(self: threading.Thread, timeout: float | None = None) -> None:
    thread = _simulated(self)
    if thread is not None:
        _world().wait(lambda: thread.done, timeout)


def thread_is_alive(self: threading.Thread) -> bool:
    thread = _simulated(self)
    return thread is not None and not thread.done


def _simulated(self: threading.Thread) -> Thread | None:
    found: Thread | None = getattr(self, "simulated", None)
    return found


class Poll:
    """As `select.poll`: descriptors of a simulation alone."""

    def __init__(self) -> None:
        self._masks: dict[int, int] = {}

    def register(self, fd: Any, mask: int = select.POLLIN | select.POLLOUT | select.POLLPRI) -> None:
        self._masks[fd if isinstance(fd, int) else fd.fileno()] = mask

    modify = register

    def unregister(self, fd: Any) -> None:
        del self._masks[fd if isinstance(fd, int) else fd.fileno()]

    def poll(self, milliseconds: float | None = None) -> list[tuple[int, int]]:
        world = _world()
        world.step("poll")
        if not self._found() and milliseconds != 0:
            endless = milliseconds is None or milliseconds < 0
            world.wait(lambda: bool(self._found()), None if endless or milliseconds is None else milliseconds / 1000)
        return self._found()

    def _found(self) -> list[tuple[int, int]]:
        thread = running()
        process = thread.process if thread is not None else self._process
        self._process = process
        found = []
        for number, mask in self._masks.items():
            held = process.descriptors.get(number)
            events = select.POLLNVAL if held is None else held.events() & mask
            if events:
                found.append((number, events))
        return found
