"""How the files and folders of a state are opened, and with which rights they are made: the owner's and the group's.

Two users share a state, the reader and the server's: the group is the one that the folder above gives (its setgid bit),
and the umask of whoever comes first must not shut the other one out, nor let others in. One of them may be root, and
whoever owns the folder can put things there: only regular files are opened, never through a link, none is written that
has a second name, and nothing in a folder that everybody may write. Knows no content.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Final

from tailer.errors import UsageError
from tailer.on_disk import sync_folder
from tailer.segments.log_folder import STATE_SUFFIX
from tailer.segments.regular import kind_of
from tailer.system_errors import NOT_ALLOWED, group_name, system_error, told, user_name

FOLDER_MODE: Final = 0o2770
FILE_MODE: Final = 0o660

_SAFELY: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Nothing else than a regular file is waited for, or acts, when it is opened with them."""

_OTHERS: Final = (errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EISDIR)
"""What opening a link, a socket, a device without a driver, a folder gives."""


def read_file(path: Path) -> bytes:
    """All of a file of the state. FileNotFoundError where there is none, UsageError for what is no regular file."""
    with os.fdopen(open_to_read(path), "rb") as file, told("cannot read the state", path):
        return file.read()


def open_to_read(path: Path) -> int:
    """A descriptor of a file of the state that is there; errors as of `read_file`."""
    with told("cannot read the state", path):
        return _open(path, os.O_RDONLY)


def open_file(path: Path, flags: int) -> int:
    """A descriptor of a file of the state to write in, which is made if it is not there."""
    with told("cannot write the state", path, writes=True), _in_folder(path) as folder:
        try:
            return _open(path, flags, folder)
        except FileNotFoundError:
            try:
                descriptor = _open(path, flags | os.O_CREAT | os.O_EXCL, folder)
            except FileExistsError:
                # Somebody has made it just now.
                return _open(path, flags, folder)
        _set_mode(descriptor, FILE_MODE)
        return descriptor


def replacing_file(path: Path) -> int:
    """A descriptor to write a new file, that takes the place of another one afterwards; what was left there goes."""
    with told("cannot write the state", path, writes=True), _in_folder(path) as folder:
        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            descriptor = _open(path, new, folder)
        except FileExistsError:
            os.unlink(path.name, dir_fd=folder)
            descriptor = _open(path, new, folder)
        _set_mode(descriptor, FILE_MODE)
        return descriptor


def make_folder(folder: Path) -> None:
    """Make a folder of the state, and those above it that are missing, durably; one that is there keeps its rights.

    UsageError with what to create, and for whom, where this user may not; for what is no folder; for one that everybody
    may write.
    """
    missing = [each for each in (folder, *folder.parents) if not each.is_dir()]
    try:
        _make_folders(folder)
        for made in missing:
            # A file is not durable in a folder whose own name a power loss may take.
            sync_folder(made.parent)
    except OSError as error:
        raise _not_made(folder, error) from error
    with told("cannot open the state folder", folder):
        os.close(_open_folder(folder))


def install_command(folder: Path) -> str:
    """What root runs to make a state folder for this user, and for the group that has the log."""
    log = folder.with_name(folder.name.removesuffix(STATE_SUFFIX))
    there = next(each for each in (log, *folder.parents) if each.exists())
    user, group = user_name(os.geteuid()), group_name(there.stat().st_gid)
    return f"sudo install -d -o {user} -g {group} -m {FOLDER_MODE:o} {quote(str(folder))}"


def _make_folders(folder: Path) -> None:
    try:
        folder.mkdir(FOLDER_MODE)
    except FileNotFoundError:
        if folder.parent == folder:
            raise
        _make_folders(folder.parent)
        _make_folders(folder)
    except OSError:
        # Not FileExistsError: a system may say first that it could not be made.
        if not folder.is_dir():
            raise
    else:
        descriptor = _open_folder(folder)
        try:
            _set_mode(descriptor, FOLDER_MODE)
        finally:
            os.close(descriptor)


def _not_made(folder: Path, error: OSError) -> Exception:
    what = "cannot make the state folder"
    if isinstance(error, FileExistsError | NotADirectoryError):
        return UsageError(f"{what}: {error.strerror}", file=str(folder), remedy="Move away what stands there.")
    private = "give a private one with --state DIR"
    if error.errno == errno.EROFS:
        return system_error(what, error, folder, writes=True, remedy=f"Mount it to be written, or {private}.")
    remedy = f"Create it with: {install_command(folder)}   (or {private})" if error.errno in NOT_ALLOWED else ""
    return system_error(what, error, folder, writes=True, remedy=remedy)


@contextlib.contextmanager
def _in_folder(path: Path) -> Iterator[int]:
    folder = _open_folder(path.parent)
    try:
        yield folder
    finally:
        os.close(folder)


def _open_folder(folder: Path) -> int:
    """A descriptor of a folder of the state. UsageError for a link, and for one that everybody may write."""
    if folder.is_symlink():
        raise UsageError(
            "a link stands where the state belongs",
            file=str(folder),
            expected="a folder",
            found=f"a link to {folder.readlink()}",
            remedy="Nothing is written through links: name the folder itself with --state DIR, or move it here.",
        )
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if mode & stat.S_IWOTH:
        os.close(descriptor)
        raise UsageError(
            "everybody may write in the state folder",
            file=str(folder),
            expected="rights for its owner and group alone",
            found=f"mode {mode:o}",
            remedy=f"Mend it with: chmod o-w {quote(str(folder))}   (after a look at what lies there)",
        )
    return descriptor


def _open(path: Path, flags: int, folder: int | None = None) -> int:
    """A descriptor of a regular file; `folder` is that of the one it lies in, given where it is to be written."""
    try:
        name = path if folder is None else Path(path.name)
        descriptor = os.open(name, flags | _SAFELY, FILE_MODE, dir_fd=folder)
    except OSError as error:
        if error.errno in _OTHERS:
            raise _no_file(path, path.lstat().st_mode) from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise _no_file(path, status.st_mode)
    if folder is not None and status.st_nlink > 1:
        os.close(descriptor)
        raise _second_name(path, status.st_nlink)
    return descriptor


def _second_name(path: Path, names: int) -> UsageError:
    return UsageError(
        "this file of the state has another name elsewhere, and is not written",
        file=str(path),
        expected="one name",
        found=f"{names} names",
        remedy="A hard link may be somebody else's file. Once you have seen whose, put a copy in its place.",
    )


def _no_file(path: Path, mode: int) -> UsageError:
    return UsageError(
        "this is no file of the state",
        file=str(path),
        expected="a regular file",
        found=kind_of(mode),
        remedy="Somebody put it there: see who, and take it away.",
    )


def _set_mode(descriptor: int, mode: int) -> None:
    # Whatever the umask took. Refused where another user has left the file, who gave it these rights, and by file
    # systems that have none.
    with contextlib.suppress(PermissionError):
        os.fchmod(descriptor, mode)
