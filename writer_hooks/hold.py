"""One writer for a folder: the locks on `commitlog/LOCK` and on `commitlog`, and the logs that this process has open.

What becomes of those when the program ends, and in a forked child, begins here.
"""

from __future__ import annotations

import atexit
import errno
import os
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, Final, NamedTuple, Protocol

from tailer.errors import CdcError, RefusedError
from writer_hooks.cap import finish_drops
from writer_hooks.disk import Files, read_all, sync_folder, write_all
from writer_hooks.log_options import Options
from writer_hooks.places import Places
from writer_hooks.recovery import Recovered, recover
from writer_hooks.writer_errors import SyncFailedError, forked, not_opened

DROPPED_SECONDS: Final = 30.0
"""How long an open waits for a log of the same folder that nothing refers to any more, and that is being closed."""


_NO_FOLDER_LOCKS: Final = (errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What a file system says that locks files and no folders: NFS wants a descriptor that writes."""


class Lock(NamedTuple):
    """The descriptors of `commitlog/LOCK` and of `commitlog`, both locked. `identity`: the file's."""

    file: int
    folder: int
    identity: tuple[int, int]

    def let_go(self, files: Files) -> None:
        """The folder first: a writer that gets the file's lock takes the folder's next, and must find it free."""
        with ExitStack() as both:
            both.callback(files.close, self.file)
            files.close(self.folder)


def take_lock(files: Files, places: Places) -> Lock:
    """The folder's lock. Raises RefusedError where another process has it.

    The kernel lets it go when the last descriptor of it is closed, whatever the process died of; what the file says is
    for people. A file is easily deleted, and the next writer would lock a new one: so the folder is locked, too.
    """
    with ExitStack() as opened_so_far:
        fd = files.open(places.lock, create=True)
        opened_so_far.callback(files.close, fd)
        if not files.lock(fd):
            raise _held(files, fd, places)
        folder = files.open_folder(places.commitlog)
        opened_so_far.callback(files.close, folder)
        if not _lock_folder(files, folder):
            raise _held(files, fd, places, is_lost=True)
        files.truncate(fd, 0)
        write_all(files, fd, f"pid {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        lock = Lock(fd, folder, files.identity(fd))
        opened_so_far.pop_all()
        return lock


def _lock_folder(files: Files, folder: int) -> bool:
    try:
        return files.lock(folder)
    except OSError as error:
        if error.errno not in _NO_FOLDER_LOCKS:
            raise
        # The file's lock has to do. Where that file is deleted, the first writer notices (`Presence`).
        return True


def _held(files: Files, fd: int, places: Places, *, is_lost: bool = False) -> RefusedError:
    """`is_lost`: the file's lock was free, and the folder's is held: the file is not the one that the holder has."""
    holder = read_all(files, fd, 300, 0).decode("utf-8", "replace").strip()
    if _of_folder(places):
        return RefusedError(
            "another writer has this log open, in this process",
            file=str(places.folder),
            found=holder or "its lock is held",
            remedy="Close that SegmentLog, or use it here too: any thread may. Where only a cycle refers to it, "
            "gc.collect() closes it.",
        )
    if is_lost:
        return RefusedError(
            "another writer has this log open, and its lock file was deleted or replaced",
            file=str(places.lock),
            expected="the file that the other writer has locked",
            found="another file; the lock of the folder is held",
            remedy="Find out what deleted it. One process writes a log: stop that one, or give this one a folder of "
            "its own.",
        )
    return RefusedError(
        "another writer has this log open",
        file=str(places.folder),
        found=holder or "its lock is held",
        remedy="One process writes a log: stop that one, or give this one a folder of its own.",
    )


def hold(files: Files, places: Places, options: Options) -> tuple[Lock, Recovered]:
    """Makes the folder's two, takes the lock, and recovers. Raises documented errors; then nothing is held."""
    lock: Lock | None = None
    try:
        _make_folders(files, places)
        for log in _of_folder(places):
            if log.unheld:
                log.wait(DROPPED_SECONDS)
        lock = take_lock(files, places)
        finish_drops(files, places)
        return lock, recover(files, places, options.boot_id())
    except BaseException as error:
        if lock is not None:
            lock.let_go(files)
        if isinstance(error, OSError | SyncFailedError):
            raise not_opened(error, places.folder) from error
        raise


def _make_folders(files: Files, places: Places) -> None:
    there = files.names(places.folder)
    for path in (places.commitlog, places.cdc_raw):
        files.make_folder(path)
        if path.name not in there:
            sync_folder(files, places.folder)


class Open(Protocol):
    """A log of this process that is open. `unheld`: nothing refers to it any more, and it is being closed."""

    unheld: bool

    @property
    def folder(self) -> str: ...

    def wait(self, timeout: float) -> None: ...

    def end_program(self) -> None: ...

    def forget(self, error: CdcError) -> None: ...


_OPEN: Final[set[Open]] = set()


def opened(log: Open) -> None:
    """It is closed when this process ends, and forgotten in every child that is forked from now on: a child that never
    execs would hold the lock, and write into the parent's segments."""
    _OPEN.add(log)
    _close_with_child()


def ended(log: Open) -> None:
    """It is closed."""
    _OPEN.discard(log)


def _of_folder(places: Places) -> list[Open]:
    folder = os.path.realpath(places.folder)
    return [log for log in list(_OPEN) if log.folder == folder]


def _end_program() -> None:
    with ExitStack() as each:
        # One after another, whatever one of them raises (a warning as an error).
        for log in list(_OPEN):
            each.callback(log.end_program)


def _close_with_child() -> None:
    """A child of `multiprocessing` that was forked ends without what `atexit` knows, before Python 3.13."""
    process: Any = sys.modules.get("multiprocessing.process")
    util: Any = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, _end_program, exitpriority=0)


def _after_fork() -> None:
    error = forked()
    for log in list(_OPEN):
        # A descriptor that does not close is the parent's too: the logs behind it must be dead here all the same.
        with suppress(OSError):
            log.forget(error)
    _OPEN.clear()


atexit.register(_end_program)
_register: Callable[..., None] | None = getattr(os, "register_at_fork", None)
if _register is not None:
    _register(after_in_child=_after_fork)
