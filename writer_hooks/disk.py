"""Every call that the writer makes to the disk, behind one protocol.

The log never touches the operating system elsewhere, so that a test can stand in for the disk: it sees each call in
order, and can crash between any two. Knows no format and no policy.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from tailer.errors import RefusedError, UsageError
from tailer.on_disk import SafeOpen
from writer_hooks.writer_errors import SyncFailedError, UnsafeFileError

_DIGITS_MAX: Final = 19


class Files(Protocol):
    """What the writer needs of a file system. Descriptors are numbers; every failure is an OSError.

    `pwrite` and `pread` may do less than asked for, as the calls they stand for; `pwrite` beyond the end grows the
    file. Nothing is durable before `fdatasync` or `fsync` of the file, no name before `fsync_folder` of its folder.
    """

    def open(self, path: Path, *, create: bool = False, exclusive: bool = False, write: bool = True) -> int:
        """A descriptor. `create`: makes the file where there is none (`exclusive`: FileExistsError where there is)."""
        ...

    def open_folder(self, path: Path) -> int:
        """A descriptor of a folder, for its lock."""
        ...

    def close(self, fd: int) -> None: ...

    def pread(self, fd: int, length: int, at: int) -> bytes: ...

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, at: int) -> int: ...

    def size(self, fd: int) -> int: ...

    def there(self, path: Path) -> bool:
        """Whether there is such a name; False also where that cannot be seen."""
        ...

    def identity(self, file: int | Path) -> tuple[int, int]:
        """What no two files share: of a descriptor's, or of the one that has a name."""
        ...

    def truncate(self, fd: int, length: int) -> None: ...

    def fdatasync(self, fd: int) -> None: ...

    def fsync(self, fd: int) -> None: ...

    def fsync_folder(self, path: Path) -> None: ...

    def link(self, old: Path, new: Path) -> None:
        """A second name of the file `old`; FileExistsError where `new` is there."""
        ...

    def rename(self, old: Path, new: Path) -> None:
        """`old` takes the place of `new`, at once."""
        ...

    def unlink(self, path: Path) -> None: ...

    def make_folder(self, path: Path) -> None:
        """A folder, where there is none yet."""
        ...

    def names(self, path: Path) -> list[str]:
        """The names in a folder, in no order; FileNotFoundError where there is none."""
        ...

    def lock(self, fd: int) -> bool:
        """Takes the lock (flock) of a file or a folder for this descriptor, and for as long as it is open; False if it
        is held."""
        ...


_LOG: Final = SafeOpen("the log's folder", "Move the folder itself here: both of a log lie in one file system.")


@contextlib.contextmanager
def _safely() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        raise UnsafeFileError(error) from error


class RealFiles:
    """The operating system's calls. Descriptors close on exec, as all of Python's do.

    What is made is for its owner and group alone. UnsafeFileError for what is no regular file, a link for example, and
    for a folder that is a link or that everybody may write (`on_disk.py`).
    """

    def open(self, path: Path, *, create: bool = False, exclusive: bool = False, write: bool = True) -> int:
        with _safely():
            if not write:
                return _LOG.to_read(path)
            if exclusive:
                return _LOG.create(path)
            # A segment has two names, any other file has one.
            return _LOG.to_write(path, os.O_RDWR) if create else _LOG.to_change(path)

    def open_folder(self, path: Path) -> int:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def close(self, fd: int) -> None:
        os.close(fd)

    def pread(self, fd: int, length: int, at: int) -> bytes:
        return os.pread(fd, length, at)

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, at: int) -> int:
        return os.pwrite(fd, data, at)

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def there(self, path: Path) -> bool:
        return os.access(path, os.F_OK)

    def identity(self, file: int | Path) -> tuple[int, int]:
        status = os.fstat(file) if isinstance(file, int) else file.lstat()
        return status.st_dev, status.st_ino

    def truncate(self, fd: int, length: int) -> None:
        os.ftruncate(fd, length)

    def fdatasync(self, fd: int) -> None:
        os.fdatasync(fd)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def fsync_folder(self, path: Path) -> None:
        fd = self.open_folder(path)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def link(self, old: Path, new: Path) -> None:
        os.link(old, new)

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def make_folder(self, path: Path) -> None:
        with _safely():
            _LOG.make_folder(path)

    def names(self, path: Path) -> list[str]:
        return [entry.name for entry in path.iterdir()]

    def lock(self, fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def write_all(files: Files, fd: int, data: bytes | bytearray | memoryview, at: int) -> None:
    """All of `data`, in as many writes as it takes."""
    written = files.pwrite(fd, data, at)
    if written < len(data):
        rest = memoryview(data)
        while written < len(rest):
            written += files.pwrite(fd, rest[written:], at + written)


def read_all(files: Files, fd: int, length: int, at: int) -> bytes:
    """`length` bytes from `at` on, fewer only where the file ends before."""
    data = files.pread(fd, length, at)
    if len(data) == length or not data:
        return data
    pieces = [data]
    got = len(data)
    while got < length and (data := files.pread(fd, length - got, at + got)):
        pieces.append(data)
        got += len(data)
    return b"".join(pieces)


def read_small(files: Files, path: Path, limit: int = 4096) -> bytes | None:
    """A small file's content, None where there is none."""
    try:
        fd = files.open(path, write=False)
    except FileNotFoundError:
        return None
    try:
        return read_all(files, fd, limit, 0)
    finally:
        files.close(fd)


def whole_number(text: bytes, path: Path, what: str, remedy: str) -> int:
    """The number that is all of a small file. RefusedError for anything else."""
    bare = text.strip()
    if not bare.isdigit() or len(bare) > _DIGITS_MAX:
        raise RefusedError(what, file=str(path), expected="a number", found=repr(text[:40]), remedy=remedy)
    return int(bare)


def replace_durably(files: Files, path: Path, content: bytes) -> None:
    """A small file written anew: temporary file, fsync, rename, fsync of the folder. Old or new after any crash."""
    replace(files, path, content, durable=True)
    sync_folder(files, path.parent)


def replace(files: Files, path: Path, content: bytes, *, durable: bool) -> None:
    """A small file written anew: temporary file, fsync if `durable`, rename. The folder is the caller's to sync."""
    new = temporary(path)
    try:
        fd = files.open(new, create=True, exclusive=True)
    except FileExistsError:
        # Of a write that failed, or somebody's link: whatever has the name is not written into.
        files.unlink(new)
        fd = files.open(new, create=True, exclusive=True)
    try:
        write_all(files, fd, content, 0)
        if durable:
            sync_file(files, fd, path)
    finally:
        files.close(fd)
    files.rename(new, path)


TEMPORARY = ".tmp"


def temporary(path: Path) -> Path:
    """Where a file is written before it takes its name; recovery sweeps what a crash leaves of it."""
    return path.with_name(path.name + TEMPORARY)


def sync_data(files: Files, fd: int, path: object) -> None:
    """fdatasync. Raises SyncFailedError: it must not be tried again, the kernel forgets what it could not write."""
    try:
        files.fdatasync(fd)
    except OSError as error:
        raise SyncFailedError(error, path) from error


def sync_file(files: Files, fd: int, path: object) -> None:
    """fsync, as `sync_data`."""
    try:
        files.fsync(fd)
    except OSError as error:
        raise SyncFailedError(error, path) from error


def sync_folder(files: Files, path: Path) -> None:
    """fsync of a folder, as `sync_data`."""
    try:
        files.fsync_folder(path)
    except OSError as error:
        raise SyncFailedError(error, path) from error


def unlink_if_there(files: Files, path: Path) -> bool:
    """Whether there was such a file."""
    try:
        files.unlink(path)
    except FileNotFoundError:
        return False
    return True
