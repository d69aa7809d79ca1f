"""The writer's `Files` on a disk in memory: every call is seen before it is made, and fails when told to.

One `FakeFiles` is one process: its descriptors and locks go with it. Knows no writer beyond the protocol.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.writer.crash.disk import Disk, File, Folder

FIRST_DESCRIPTOR = 1000
"""Above any real one, so that a writer that goes past its `Files` gets EBADF and not somebody's file."""

SYNCS = ("fsync", "fdatasync")


class Call(NamedTuple):
    """A call that is about to be made: its name, the path it is about, and its bytes or length."""

    number: int
    name: str
    path: Path
    detail: int | None = None

    def __str__(self) -> str:
        return f"{self.number} {self.name} {self.path.name} {'' if self.detail is None else self.detail}".rstrip()


@dataclass
class Fault:
    """Calls that fail: the `nth` of this name (counted from 1, among those whose path ends so), and `times` in all."""

    name: str
    error: int
    nth: int = 1
    times: float = 1
    ending: str = ""
    seen: int = field(default=0, init=False)

    def strikes(self, call: Call) -> bool:
        if call.name != self.name or not str(call.path).endswith(self.ending):
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times


@dataclass
class _Descriptor:
    inode: int
    path: Path
    writes: bool


class FakeFiles:
    """See `writer_hooks.disk.Files`.

    `before` is called with each call before it is made, and may raise. `write_limit` makes longer writes short ones.
    """

    def __init__(
        self, disk: Disk, before: Callable[[Call], None] | None = None, *, write_limit: int | None = None
    ) -> None:
        self.disk = disk
        self.before = before
        self.write_limit = write_limit
        self.faults: list[Fault] = []
        self.calls: list[Call] = []
        self._open: dict[int, _Descriptor] = {}
        self._locks: dict[int, int] = {}
        self._next = FIRST_DESCRIPTOR

    def another(self) -> FakeFiles:
        """Another process on the same disk, which knows the locks of this one."""
        other = FakeFiles(self.disk)
        other._locks = self._locks
        other._next = self._next + FIRST_DESCRIPTOR
        return other

    @property
    def open_descriptors(self) -> list[Path]:
        return [descriptor.path for descriptor in self._open.values()]

    def open(self, path: Path, *, create: bool = False, exclusive: bool = False, write: bool = True) -> int:
        self._enter("open", path)
        inode = self.disk.find(path)
        if inode is None:
            if not create:
                raise _error(errno.ENOENT, path)
            self.disk.folder(path.parent)
            inode = self.disk.add(File())
            self.disk.name(path, inode)
        elif exclusive:
            raise _error(errno.EEXIST, path)
        elif isinstance(self.disk.inodes[inode], Folder):
            raise _error(errno.EISDIR, path)
        self._next += 1
        self._open[self._next] = _Descriptor(inode, path, write)
        return self._next

    def open_folder(self, path: Path) -> int:
        self._enter("open_folder", path)
        self.disk.folder(path)
        self._next += 1
        self._open[self._next] = _Descriptor(self._existing(path), path, False)
        return self._next

    def close(self, fd: int) -> None:
        descriptor = self._descriptor(fd)
        self._enter("close", descriptor.path)
        del self._open[fd]
        if self._locks.get(descriptor.inode) == fd:
            del self._locks[descriptor.inode]

    def pread(self, fd: int, length: int, at: int) -> bytes:
        descriptor = self._descriptor(fd)
        self._enter("pread", descriptor.path, length)
        return self._file(fd).cache[at : at + length]

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, at: int) -> int:
        descriptor = self._descriptor(fd)
        self._enter("pwrite", descriptor.path, len(data))
        if not descriptor.writes:
            raise _error(errno.EBADF, descriptor.path)
        data = bytes(data[: self.write_limit])
        self.disk.inodes[descriptor.inode] = self._file(fd).written(data, at)
        return len(data)

    def size(self, fd: int) -> int:
        self._enter("size", self._descriptor(fd).path)
        return len(self._file(fd).cache)

    def there(self, path: Path) -> bool:
        self._enter("there", path)
        return self.disk.find(path) is not None

    def identity(self, file: int | Path) -> tuple[int, int]:
        if isinstance(file, int):
            return 0, self._descriptor(file).inode
        self._enter("identity", file)
        return 0, self._existing(file)

    def truncate(self, fd: int, length: int) -> None:
        descriptor = self._descriptor(fd)
        self._enter("truncate", descriptor.path, length)
        if not descriptor.writes:
            raise _error(errno.EINVAL, descriptor.path)
        if length != len(self._file(fd).cache):
            self.disk.inodes[descriptor.inode] = self._file(fd).cut(length)

    def fdatasync(self, fd: int) -> None:
        self._sync("fdatasync", fd)

    def fsync(self, fd: int) -> None:
        self._sync("fsync", fd)

    def fsync_folder(self, path: Path) -> None:
        self._enter("fsync_folder", path)
        folder = self.disk.folder(path)
        inode = self.disk.find(path)
        assert inode is not None
        self.disk.inodes[inode] = folder.synced()

    def link(self, old: Path, new: Path) -> None:
        self._enter("link", new)
        inode = self._existing(old)
        if self.disk.find(new) is not None:
            raise _error(errno.EEXIST, new)
        self.disk.name(new, inode)

    def rename(self, old: Path, new: Path) -> None:
        self._enter("rename", new)
        inode = self._existing(old)
        if self.disk.find(new) == inode:
            return
        self.disk.name(new, inode)
        self.disk.name(old, None)

    def unlink(self, path: Path) -> None:
        self._enter("unlink", path)
        self._existing(path)
        self.disk.name(path, None)

    def mkdir(self, path: Path) -> None:
        self._enter("mkdir", path)
        if self.disk.find(path) is not None:
            raise _error(errno.EEXIST, path)
        self.disk.folder(path.parent)
        self.disk.name(path, self.disk.add(Folder()))

    def make_folder(self, path: Path) -> None:
        if self.disk.find(path) is None:
            self.mkdir(path)

    def names(self, path: Path) -> list[str]:
        self._enter("names", path)
        return list(self.disk.folder(path).cache)

    def lock(self, fd: int) -> bool:
        descriptor = self._descriptor(fd)
        self._enter("lock", descriptor.path)
        return self._locks.setdefault(descriptor.inode, fd) == fd

    def _sync(self, name: str, fd: int) -> None:
        descriptor = self._descriptor(fd)
        try:
            self._enter(name, descriptor.path)
        except OSError:
            self.disk.inodes[descriptor.inode] = self._file(fd).forgotten()
            raise
        self.disk.inodes[descriptor.inode] = self._file(fd).synced()

    def _enter(self, name: str, path: Path, detail: int | None = None) -> None:
        call = Call(len(self.calls), name, path, detail)
        if self.before is not None:
            self.before(call)
        self.calls.append(call)
        struck = [fault for fault in self.faults if fault.strikes(call)]
        if struck:
            raise _error(struck[0].error, path)

    def _descriptor(self, fd: int) -> _Descriptor:
        try:
            return self._open[fd]
        except KeyError:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF)) from None

    def _file(self, fd: int) -> File:
        held = self.disk.inodes[self._descriptor(fd).inode]
        assert isinstance(held, File)
        return held

    def _existing(self, path: Path) -> int:
        inode = self.disk.find(path)
        if inode is None:
            raise _error(errno.ENOENT, path)
        return inode


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
