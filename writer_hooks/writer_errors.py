"""The errors of the writer, each with what to do. Knows the classes of `tailer.errors` and no more of the log."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Final

from tailer.errors import CdcError, RefusedError, SystemFailedError, UsageError
from tailer.system_errors import NO_SPACE, NOT_ALLOWED, system_error

REOPEN: Final = "Close this log and open it again: that recovers what is durable."


class SyncFailedError(Exception):
    """An fsync failed: what the cache holds may never reach the disk, so nothing can go on with this log object."""

    def __init__(self, error: OSError, path: object) -> None:
        super().__init__(str(error))
        self.error = error
        self.path = str(path)


class GoneError(SyncFailedError):
    """A file or folder of an open log was deleted or moved: what is written now, nobody would find."""


class LockGoneError(GoneError):
    """`commitlog/LOCK` was deleted or replaced: another writer may have come, or may come."""


class UnsafeFileError(OSError):
    """A file or folder of the log through which somebody else's could be written. `documented`: the error to raise."""

    def __init__(self, documented: UsageError) -> None:
        super().__init__(errno.EPERM, documented.what, documented.file)
        self.documented = documented


def is_gone(error: OSError) -> bool:
    """Whether a file or a folder is not there (any more)."""
    return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)


def dead_after(error: BaseException) -> SystemFailedError:
    """What everybody gets who waits on a log that died of `error`."""
    if isinstance(error, LockGoneError):
        return SystemFailedError(
            "the lock file of the open log is gone, and another writer may write the same log",
            file=error.path,
            expected="the file that this log has locked",
            found="none, or another file",
            remedy=f"Find out what deleted it, and stop any other writer of the folder. {REOPEN}",
        )
    cause = error.error if isinstance(error, SyncFailedError) else error
    if isinstance(cause, OSError) and is_gone(cause):
        return SystemFailedError(
            "a file or folder of the open log is gone, and what is written now may be in no file",
            file=error.path if isinstance(error, SyncFailedError) else cause.filename,
            remedy=f"Restore it, or make the folder anew. {REOPEN}",
        )
    what = "an fsync failed" if isinstance(error, SyncFailedError) else "writing the log failed"
    file = error.path if isinstance(error, SyncFailedError) else None
    return SystemFailedError(
        f"{what}, what was not acknowledged may be lost: {str(error) or type(error).__name__}",
        file=file,
        remedy=f"{cause.documented.remedy if isinstance(cause, UnsafeFileError) else 'Mend the disk.'} {REOPEN}",
    )


def refused_dead(dead: CdcError) -> CdcError:
    """What an append to a dead or closed log gets."""
    if isinstance(dead, RefusedError | UsageError):
        return dead
    return RefusedError(f"the log is dead since a failure: {dead.what}", remedy=REOPEN)


def disk_error(what: str, error: OSError, path: Path | None = None) -> CdcError:
    """An OSError as the documented error it is."""
    if isinstance(error, UnsafeFileError):
        return error.documented
    where = str(path) if path is not None else error.filename
    if error.errno in NOT_ALLOWED:
        return system_error(what, error, where, writes=True)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return UsageError(f"{what}: there is no such folder", file=where, remedy="Make it, or name another.")
    if error.errno in NO_SPACE:
        remedy = "Nothing is lost: free space, and go on with the same log."
        return SystemFailedError(f"{what}: the disk is full", file=where, remedy=remedy)
    return SystemFailedError(f"{what}: {error.strerror or error}", file=where, remedy="Look at the disk, then retry.")


def not_opened(error: OSError | SyncFailedError, folder: Path) -> CdcError:
    """What kept a log from being opened."""
    if isinstance(error, SyncFailedError):
        return dead_after(error)
    return disk_error("the log cannot be opened", error, Path(error.filename) if error.filename else folder)


def closed() -> RefusedError:
    return RefusedError("the log is closed", remedy="Open it again.")


def waits_in_hook() -> RefusedError:
    return RefusedError(
        "a hook waits for its own log, whose next sync waits for the hook",
        remedy="Hand it to another thread: a hook only notes what came.",
    )


def forked() -> RefusedError:
    return RefusedError(
        "this log belongs to the process that forked this one",
        remedy="Hand changes to that process, or open a log of another folder here.",
    )


def too_large(size: int, most: int) -> UsageError:
    return UsageError(
        "a change is too large for one entry",
        expected=f"at most {most} bytes with its definition (half a segment)",
        found=f"{size}",
        remedy="Split it in a transaction, or open the log with larger segments.",
    )
