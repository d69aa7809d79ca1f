"""One writer for a folder: the lock on `commitlog/LOCK`, and what becomes of a log in a forked child."""

from __future__ import annotations

import os
import socket
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from tailer.errors import RefusedError
from writer_hooks.cap import finish_drops
from writer_hooks.disk import Files, read_all, sync_folder, write_all
from writer_hooks.log_options import Options
from writer_hooks.places import Places
from writer_hooks.recovery import Recovered, recover
from writer_hooks.writer_errors import SyncFailedError, not_opened


def take_lock(files: Files, places: Places) -> int:
    """The descriptor that holds the folder's lock. Raises RefusedError where another process has it.

    The kernel lets it go when the last descriptor of it is closed, whatever the process died of; what the file says is
    for people.
    """
    fd = files.open(places.lock, create=True)
    try:
        if not files.lock(fd):
            raise _held(files, fd, places)
        files.truncate(fd, 0)
        write_all(files, fd, f"pid {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    except BaseException:
        files.close(fd)
        raise
    return fd


def _held(files: Files, fd: int, places: Places) -> RefusedError:
    holder = read_all(files, fd, 300, 0).decode("utf-8", "replace").strip()
    return RefusedError(
        "another writer has this log open",
        file=str(places.folder),
        found=holder or "its lock is held",
        remedy="One process writes a log: stop that one, or give this one a folder of its own.",
    )


def hold(files: Files, places: Places, options: Options) -> tuple[int, Recovered]:
    """Makes the folder's two, takes the lock, and recovers. Raises documented errors; then nothing is held."""
    lock: int | None = None
    try:
        _make_folders(files, places)
        lock = take_lock(files, places)
        finish_drops(files, places)
        return lock, recover(files, places, options.boot_id())
    except BaseException as error:
        if lock is not None:
            files.close(lock)
        if isinstance(error, OSError | SyncFailedError):
            raise not_opened(error, places.folder) from error
        raise


def _make_folders(files: Files, places: Places) -> None:
    there = files.names(places.folder)
    for path in (places.commitlog, places.cdc_raw):
        if path.name not in there:
            files.mkdir(path)
            sync_folder(files, places.folder)


class Forked(Protocol):
    """Something that must not live on in a forked child."""

    def forget(self) -> None: ...


_LIVING: weakref.WeakSet[Forked] = weakref.WeakSet()


def dies_in_child(log: Forked) -> None:
    """`forget` is called in every child that is forked from now on: a child that never execs would hold the lock, and
    write into the parent's segments."""
    _LIVING.add(log)


def _after_fork() -> None:
    for log in list(_LIVING):
        # A descriptor that does not close is the parent's too: the logs behind it must be dead here all the same.
        with suppress(OSError):
            log.forget()


_register: Callable[..., None] | None = getattr(os, "register_at_fork", None)
if _register is not None:
    _register(after_in_child=_after_fork)
