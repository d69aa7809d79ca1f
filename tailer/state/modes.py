"""How the files and folders of a state are opened, and with which rights they are made (`on_disk.py`)."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from shlex import quote
from typing import Final

from tailer.errors import UsageError
from tailer.on_disk import FOLDER_MODE, SafeOpen
from tailer.segments.log_folder import STATE_SUFFIX
from tailer.system_errors import NOT_ALLOWED, group_name, system_error, told, user_name

_STATE: Final = SafeOpen("the state folder", "Name the folder itself with --state DIR, or move it here.")
_NOT_WRITTEN: Final = "cannot write the state"


def read_file(path: Path) -> bytes:
    """All of a file of the state. FileNotFoundError where there is none, UsageError for what is no regular file."""
    with os.fdopen(open_to_read(path), "rb") as file, told("cannot read the state", path):
        return file.read()


def open_to_read(path: Path) -> int:
    """A descriptor of a file of the state that is there; errors as of `read_file`."""
    with told("cannot read the state", path):
        return _STATE.to_read(path)


def open_file(path: Path, flags: int) -> int:
    """A descriptor of a file of the state to write in, which is made if it is not there."""
    with told(_NOT_WRITTEN, path, writes=True):
        return _STATE.to_write(path, flags)


def replacing_file(path: Path) -> int:
    """A descriptor to write a new file, that takes the place of another one afterwards; what was left there goes."""
    with told(_NOT_WRITTEN, path, writes=True):
        return _STATE.new(path)


def replace_file(path: Path, data: bytes) -> None:
    """Atomic and durable: temporary file, fsync, rename, fsync of the directory."""
    with told(_NOT_WRITTEN, path, writes=True):
        _STATE.replace(path, data)


def make_folder(folder: Path) -> None:
    """Make a folder of the state, and those above it that are missing, durably; one that is there keeps its rights.

    UsageError with what to create, and for whom, where this user may not; for what is no folder; for one that everybody
    may write.
    """
    try:
        _STATE.make_folder(folder)
    except OSError as error:
        raise _not_made(folder, error) from error


def install_command(folder: Path) -> str:
    """What root runs to make a state folder for this user, and for the group that has the log."""
    log = folder.with_name(folder.name.removesuffix(STATE_SUFFIX))
    there = next(each for each in (log, *folder.parents) if each.exists())
    user, group = user_name(os.geteuid()), group_name(there.stat().st_gid)
    return f"sudo install -d -o {user} -g {group} -m {FOLDER_MODE:o} {quote(str(folder))}"


def _not_made(folder: Path, error: OSError) -> Exception:
    what = "cannot open the state folder" if folder.is_dir() else "cannot make the state folder"
    if isinstance(error, FileExistsError | NotADirectoryError):
        return UsageError(f"{what}: {error.strerror}", file=str(folder), remedy="Move away what stands there.")
    if folder.is_dir():
        return system_error(what, error, folder)
    private = "give a private one with --state DIR"
    if error.errno == errno.EROFS:
        return system_error(what, error, folder, writes=True, remedy=f"Mount it to be written, or {private}.")
    remedy = f"Create it with: {install_command(folder)}   (or {private})" if error.errno in NOT_ALLOWED else ""
    return system_error(what, error, folder, writes=True, remedy=remedy)
