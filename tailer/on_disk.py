"""How files and folders are made on disk: durable, open to the owner and the group alone, and never by a link. And the
lock (`flock`) of a file, which the kernel releases however its holder ends.

What a power loss cannot take any more: the names in a folder, and a file that takes another one's place.

Two users share a folder with rows or a state, a reader and the server's or an uploader's: the group is the one that the
folder above gives (its setgid bit), and the umask of whoever comes first must neither shut the other one out nor let
others in. One of them may be root, and whoever owns a folder can put things there: only regular files are opened, never
through a link, none is written that has a second name, and nothing in a folder that everybody may write.

Knows no content.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote
from typing import Final, NamedTuple

from tailer.errors import RefusedError, UsageError
from tailer.system_errors import told

NEW: Final = ".new"
"""What the name of a file ends with that is still written; one that is left over was never finished."""

LOCK_BYTES_MAX: Final = 4000
"""Of a lock's file: it stays in its first block, so that a full disk does not keep it from being written."""

_HOLDER_MAX: Final = 200
_SLICE_SECONDS: Final = 0.05

FOLDER_MODE: Final = 0o2770
FILE_MODE: Final = 0o660

_SAFELY: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Nothing else than a regular file is waited for, or acts, when it is opened with them."""

_OTHERS: Final = (errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EISDIR)
"""What opening a link, a socket, a device without a driver, a folder gives."""

_KINDS: Final = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link",
}


def sync_folder(folder: Path) -> None:
    """The names in it are durable when this returns."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_in_place(temporary: Path, path: Path) -> None:
    """A file that is whole and synced takes its name, or the place of the file that has it: durable when this returns.

    Both lie in one folder.
    """
    temporary.replace(path)
    sync_folder(path.parent)


def kind_of(mode: int) -> str | None:
    """What a file is by its mode, where it is no regular one."""
    return _KINDS.get(stat.S_IFMT(mode))


class SafeOpen(NamedTuple):
    """Opens the files of one purpose. `folder`: what errors call their folder. `remedy`: where it is a link.

    What the system refuses is an OSError; UsageError for what is no regular file, for one that is to be written and has
    a second name, and for a folder that is a link or that everybody may write.
    """

    folder: str
    remedy: str = "Name the folder itself, or move it here."

    def to_read(self, path: Path) -> int:
        """A descriptor of a file that is there."""
        return self._open(path, os.O_RDONLY)

    def to_write(self, path: Path, flags: int) -> int:
        """A descriptor of a file to write in, which is made if it is not there."""
        with self._in_folder(path) as folder:
            try:
                return self._open(path, flags, folder)
            except FileNotFoundError:
                try:
                    descriptor = self._open(path, flags | os.O_CREAT | os.O_EXCL, folder)
                except FileExistsError:
                    # Somebody has made it just now.
                    return self._open(path, flags, folder)
            with closed_on_error(descriptor):
                _set_mode(descriptor, FILE_MODE)
            return descriptor

    def new(self, path: Path) -> int:
        """A descriptor to write a new file; what was left under its name goes."""
        with self._in_folder(path) as folder:
            new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            try:
                descriptor = self._open(path, new, folder)
            except FileExistsError:
                os.unlink(path.name, dir_fd=folder)
                descriptor = self._open(path, new, folder)
            with closed_on_error(descriptor):
                _set_mode(descriptor, FILE_MODE)
            return descriptor

    def create(self, path: Path) -> int:
        """A descriptor to read and write a new file. FileExistsError where its name is taken, by whatever it is."""
        with self._in_folder(path) as folder:
            descriptor = self._open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, folder)
        try:
            _set_mode(descriptor, FILE_MODE)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def to_change(self, path: Path) -> int:
        """A descriptor to read and write a file that is there, which may have other names (hard links)."""
        with self._in_folder(path) as folder:
            return self._open(path, os.O_RDWR, folder, linked=True)

    def replace(self, path: Path, data: bytes) -> None:
        """A small file, all of it or what stood there before: temporary file, fsync, rename, fsync of the folder."""
        temporary = path.with_name(path.name + NEW)
        with os.fdopen(self.new(temporary), "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        put_in_place(temporary, path)

    def make_folder(self, folder: Path) -> None:
        """Make a folder, and those above it that are missing, durably; one that is there keeps its rights."""
        missing = [each for each in (folder, *folder.parents) if not each.is_dir()]
        self._make_folders(folder)
        for made in missing:
            # A file is not durable in a folder whose own name a power loss may take.
            sync_folder(made.parent)
        os.close(self._open_folder(folder))

    def _make_folders(self, folder: Path) -> None:
        try:
            folder.mkdir(FOLDER_MODE)
        except FileNotFoundError:
            if folder.parent == folder:
                raise
            self._make_folders(folder.parent)
            self._make_folders(folder)
        except OSError:
            # Not FileExistsError: a system may say first that it could not be made.
            if not folder.is_dir():
                raise
        else:
            descriptor = self._open_folder(folder)
            try:
                _set_mode(descriptor, FOLDER_MODE)
            finally:
                os.close(descriptor)

    @contextlib.contextmanager
    def _in_folder(self, path: Path) -> Iterator[int]:
        folder = self._open_folder(path.parent)
        try:
            yield folder
        finally:
            os.close(folder)

    def _open_folder(self, folder: Path) -> int:
        """A descriptor of a folder. UsageError for a link, and for one that everybody may write."""
        if folder.is_symlink():
            raise UsageError(
                f"{self.folder} is a link",
                file=str(folder),
                expected="a folder",
                found=f"a link to {folder.readlink()}",
                remedy=f"Nothing is written through links. {self.remedy}",
            )
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with closed_on_error(descriptor):
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            if mode & stat.S_IWOTH:
                raise UsageError(
                    f"everybody may write in {self.folder}",
                    file=str(folder),
                    expected="rights for its owner and group alone",
                    found=f"mode {mode:o}",
                    remedy=f"Mend it with: chmod o-w {quote(str(folder))}   (after a look at what lies there)",
                )
        return descriptor

    def _open(self, path: Path, flags: int, folder: int | None = None, *, linked: bool = False) -> int:
        """A descriptor of a regular file; `folder` is that of the one it lies in, given where it is to be written.
        `linked`: it may have a second name."""
        try:
            name = path if folder is None else Path(path.name)
            descriptor = os.open(name, flags | _SAFELY, FILE_MODE, dir_fd=folder)
        except OSError as error:
            if error.errno in _OTHERS:
                raise self._no_file(path, path.lstat().st_mode) from error
            raise
        with closed_on_error(descriptor):
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise self._no_file(path, status.st_mode)
            if folder is not None and status.st_nlink > 1 and not linked:
                raise self._second_name(path, status.st_nlink)
        return descriptor

    def _second_name(self, path: Path, names: int) -> UsageError:
        return UsageError(
            f"this file of {self.folder} has another name elsewhere, and is not written",
            file=str(path),
            expected="one name",
            found=f"{names} names",
            remedy="A hard link may be somebody else's file. Once you have seen whose, put a copy in its place.",
        )

    def _no_file(self, path: Path, mode: int) -> UsageError:
        return UsageError(
            f"this is no file of {self.folder}",
            file=str(path),
            expected="a regular file",
            found=kind_of(mode),
            remedy="Somebody put it there: see who, and take it away.",
        )


@contextlib.contextmanager
def closed_on_error(descriptor: int) -> Iterator[None]:
    """The descriptor is closed where the steps inside raise: nobody else has it yet."""
    try:
        yield
    except BaseException:
        os.close(descriptor)
        raise


def _set_mode(descriptor: int, mode: int) -> None:
    # Whatever the umask took. Refused where another user has left the file, who gave it these rights, and by file
    # systems that have none.
    with contextlib.suppress(PermissionError):
        os.fchmod(descriptor, mode)


def lock_file(descriptor: int, path: Path, in_use: Callable[[str], RefusedError], wait_seconds: float = 0.0) -> int:
    """Lock an open file and write this process into it: the descriptor, which holds the lock until it is closed.

    Where this raises the descriptor is closed. `in_use`: the error where another process, which it is given, has the
    lock for longer than `wait_seconds`. What the system refuses is a documented error.
    """
    try:
        wait_for_lock(descriptor, path, in_use, wait_seconds)
        write_holder(descriptor, path, f"process {os.getpid()} on {socket.gethostname()}")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_holder(lock: int, path: Path, holder: str) -> None:
    """Write who holds a lock, as all that its file says."""
    with told("cannot write the lock", path, writes=True):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{holder}\n".encode(), 0)


def holder_line(lock: int) -> bytes:
    """Who holds a lock: the first line of its file."""
    return os.pread(lock, LOCK_BYTES_MAX, 0).partition(b"\n")[0][:_HOLDER_MAX]


def wait_for_lock(
    descriptor: int, path: Path, in_use: Callable[[str], RefusedError], wait_seconds: float = 0.0
) -> None:
    """Lock an open file, and write and close nothing. Raises as `lock_file` does."""
    until = time.monotonic() + wait_seconds
    with told("cannot lock the file", path, writes=True):
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    holder = holder_line(descriptor).decode("utf-8", "replace").strip()
                    raise in_use(holder or "another process") from error
            time.sleep(_SLICE_SECONDS)
