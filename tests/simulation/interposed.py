"""Calls that reach the system, given to the simulation where one of its threads makes them.

The seam is the one that the product uses: the functions of `os`, `fcntl`, `time`, `threading`, `select`, `random` and
the like. They are exchanged before the product is imported, for the life of this process, and hand on to the real ones
whatever no thread of a simulation asks, or what lies outside of `/sim/` (modules that are imported late, time zones).
`test_seams.py` holds the product to the functions that are known here.
"""

from __future__ import annotations

import _pyio
import concurrent.futures.thread
import fcntl
import functools
import inspect
import io
import os
import queue
import random
import select
import socket
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

import inotify_simple
import lmdb

from tests.simulation import commands, inotify, lmdb_model, network, server, sqlite_model, waiting
from tests.simulation.calls import SYSTEM, SimulatedOs
from tests.simulation.world import FIRST_DESCRIPTOR, running

PREFIX: Final = "/sim"
"""What lies below it is on the simulated disk of the machine."""

_WITH_PATHS: Final = (
    "open", "stat", "lstat", "access", "listdir", "scandir", "mkdir", "rmdir", "unlink", "remove", "rename", "replace",
    "link", "symlink", "readlink", "chmod", "utime", "truncate", "statvfs",
)  # fmt: skip
_WITH_DESCRIPTORS: Final = (
    "close", "read", "write", "pread", "pwrite", "preadv", "fsync", "fdatasync", "ftruncate", "fstat", "fchmod",
    "fchown", "dup", "lseek", "isatty", "set_blocking", "get_blocking", "eventfd_read", "eventfd_write",
)  # fmt: skip
LEFT: Final = frozenset[str]()
"""Functions that the product calls, and that no simulation exchanges yet."""

_OF_PROCESS: Final = ("getpid", "getppid", "urandom", "eventfd", "pipe", "kill")


def is_simulated(path: Any, dir_fd: int | None = None) -> bool:
    """Whether a path, or a descriptor in its place, is one of a simulation."""
    if dir_fd is not None:
        return dir_fd >= FIRST_DESCRIPTOR
    if isinstance(path, int):
        return path >= FIRST_DESCRIPTOR
    text = os.fsdecode(path)
    return text == PREFIX or text.startswith(f"{PREFIX}/")


def install() -> None:
    """Exchange the functions. Once for a process."""
    if hasattr(os.open, "simulated"):
        return
    for name in _WITH_PATHS:
        _exchange(os, name, _by_path)
    for name in _WITH_DESCRIPTORS:
        _exchange(os, name, _by_descriptor)
    for name in _OF_PROCESS:
        _exchange(os, name, _by_thread)
    _exchange(fcntl, "flock", _by_descriptor)
    for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "thread_time", "sleep"):
        _exchange(time, name, _by_thread)
    for name in ("gethostname", "getaddrinfo"):
        _exchange(socket, name, _by_thread)
    _exchange(uuid, "uuid1", _by_thread)
    random._urandom = os.urandom
    _install_files()
    _install_threads()
    commands.install()
    server.install()
    network.install()
    sqlite_model.install(is_simulated)
    real_lmdb = lmdb.open
    lmdb.open = lambda path, **more: (lmdb_model.Environment if is_simulated(path) else real_lmdb)(path, **more)


def _exchange(module: Any, name: str, decide: Callable[[Any, Any], Any]) -> None:
    real = getattr(module, name)
    simulated = getattr(SimulatedOs, name)
    made = functools.wraps(real)(decide(real, simulated))
    made.simulated = True
    setattr(module, name, made)
    for group in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if real in group:
            group.add(made)


def _by_path(real: Any, simulated: Any) -> Any:
    def call(path: Any = ".", *args: Any, **more: Any) -> Any:
        there = more.get("dir_fd", more.get("src_dir_fd"))
        if running() is None or not is_simulated(path, there):
            return real(path, *args, **more)
        return simulated(SYSTEM, path, *args, **more)

    return call


def _by_descriptor(real: Any, simulated: Any) -> Any:
    def call(fd: Any, *args: Any, **more: Any) -> Any:
        number = fd if isinstance(fd, int) else fd.fileno()
        if number < FIRST_DESCRIPTOR:
            return real(fd, *args, **more)
        return simulated(SYSTEM, number, *args, **more)

    return call


def _by_thread(real: Any, simulated: Any) -> Any:
    def call(*args: Any, **more: Any) -> Any:
        return real(*args, **more) if running() is None else simulated(SYSTEM, *args, **more)

    return call


def _install_files() -> None:
    real = io.open
    names = list(inspect.signature(_pyio.open).parameters)

    @functools.wraps(real)
    def opened(file: Any, *args: Any, **more: Any) -> Any:
        if running() is None or not is_simulated(file):
            return real(file, *args, **more)
        given = {**dict(zip(names[1:], args, strict=False)), **more}
        return _pyio.open(file, **given)

    io.open = opened
    __builtins__["open"] = opened  # type: ignore[index]
    _pyio.Lock = waiting.Lock


def _install_threads() -> None:
    threading.Lock = waiting.Lock  # type: ignore[misc,assignment]
    threading.RLock = waiting.RLock  # type: ignore[misc,assignment]
    threading._allocate_lock = waiting.Lock
    # Made before, and held while a thread starts.
    concurrent.futures.thread._global_shutdown_lock = waiting.Lock()
    for name in ("start", "join", "is_alive"):
        real, made = getattr(threading.Thread, name), getattr(waiting, f"thread_{name}")
        setattr(threading.Thread, name, functools.partialmethod(_of_thread, real, made))
    # A pool has its threads in a set: their order there is to be that of the history, not that of their addresses.
    threading.Thread.__hash__ = waiting.thread_hash  # type: ignore[method-assign]
    real_ident = threading.get_ident
    threading.get_ident = lambda: real_ident() if running() is None else running().number  # type: ignore[union-attr]
    queue.SimpleQueue = queue._PySimpleQueue
    real_poll = select.poll
    real_hints = inotify_simple.INotify
    inotify_simple.INotify = lambda *args, **more: (inotify.INotify if running() else real_hints)(*args, **more)
    select.poll = lambda: real_poll() if running() is None else waiting.Poll()  # type: ignore[misc,assignment]


def _of_thread(self: Any, real: Any, made: Any, *args: Any, **more: Any) -> Any:
    return real(self, *args, **more) if running() is None else made(self, *args, **more)
