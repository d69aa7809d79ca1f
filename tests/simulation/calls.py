"""The calls of `os` and its like, as a simulated process makes them: on the disk and by the clock of its machine."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import stat
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.simulation.disk import Disk, Folder, Node, Opened, failed
from tests.simulation.world import OpenedFile, Process, running, this_process, this_world

_TICK_NS: Final = 100
"""Two looks at a clock differ by so much at least, as on a real machine."""


class Ready:
    """A descriptor that is told what there is to read: `eventfd`."""

    def __init__(self) -> None:
        self.count = 0

    def events(self) -> int:
        return select.POLLOUT | (select.POLLIN if self.count else 0)

    def let_go(self) -> None:
        self.count = 0


class Pipe:
    """One end of a pipe, which both share `held`. Neither blocks."""

    def __init__(self, held: bytearray, *, reads: bool) -> None:
        self.held, self._reads = held, reads

    def events(self) -> int:
        return (select.POLLIN if self.held else 0) if self._reads else select.POLLOUT

    def let_go(self) -> None:
        """The other end is of the same process."""

    def read(self, count: int) -> bytes:
        if not self.held:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        found = bytes(self.held[:count])
        del self.held[:count]
        return found

    def write(self, data: bytes) -> int:
        self.held += data
        return len(data)


class Entry:
    """As `os.DirEntry`."""

    def __init__(self, folder: str, name: str, disk: Disk, node: Node) -> None:
        self.name, self.path = name, f"{folder.rstrip('/')}/{name}" if folder else name
        self._disk, self._node = disk, node

    def __fspath__(self) -> str:
        return self.path

    def inode(self) -> int:
        return self._node.number

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        node = self._disk.find(self.path, follow=follow_symlinks) if self.is_symlink() else self._node
        return self._disk.facts(node)

    def is_symlink(self) -> bool:
        return stat.S_ISLNK(self._node.mode)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return stat.S_ISDIR(self._mode(follow_symlinks))

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return stat.S_ISREG(self._mode(follow_symlinks))

    def _mode(self, follow: bool) -> int:
        try:
            return self.stat(follow_symlinks=follow).st_mode
        except OSError:
            return 0


class Entries:
    """As what `os.scandir` gives."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Entry]:
        return self._entries

    def __next__(self) -> Entry:
        return next(self._entries)

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def _step(call: str) -> Process:
    process = this_process()
    process.machine.world.step(call)
    return process


class SimulatedOs:
    """Each method is the function of its name."""

    # Paths

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        process = _step("open")
        disk = process.machine.disk
        opened = disk.open(os.fsdecode(path), flags, mode, _folder(process, dir_fd))
        return process.descriptor(OpenedFile(disk, opened))

    def stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        if isinstance(path, int):
            return self.fstat(path)
        process = _step("stat")
        disk = process.machine.disk
        return disk.facts(disk.find(os.fsdecode(path), follow=follow_symlinks, at=_folder(process, dir_fd)))

    def lstat(self, path: Any, *, dir_fd: int | None = None) -> os.stat_result:
        return self.stat(path, dir_fd=dir_fd, follow_symlinks=False)

    def access(self, path: Any, mode: int, *, dir_fd: int | None = None, **_: Any) -> bool:
        """Who asks is root."""
        try:
            self.stat(path, dir_fd=dir_fd)
        except OSError:
            return False
        return True

    def listdir(self, path: Any) -> list[str]:
        process = _step("listdir")
        node, text = _node(process, path)
        return process.machine.disk.names(node, text)

    def scandir(self, path: Any) -> Entries:
        process = _step("listdir")
        disk = process.machine.disk
        node, text = _node(process, path)
        names = disk.names(node, text)
        assert isinstance(node, Folder), "a folder has names"
        return Entries([Entry(text, name, disk, node.entries[name]) for name in names])

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        process = _step("mkdir")
        process.machine.disk.make_folder(os.fsdecode(path), mode, _folder(process, dir_fd))

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        process = _step("rmdir")
        process.machine.disk.remove_folder(os.fsdecode(path), _folder(process, dir_fd))

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        process = _step("unlink")
        process.machine.disk.unlink(os.fsdecode(path), _folder(process, dir_fd))

    remove = unlink

    def rename(self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        process = _step("rename")
        at, to = _folder(process, src_dir_fd), _folder(process, dst_dir_fd)
        process.machine.disk.rename(os.fsdecode(src), os.fsdecode(dst), at, to)

    replace = rename

    def link(self, src: Any, dst: Any, *, follow_symlinks: bool = True, **_: Any) -> None:
        process = _step("link")
        process.machine.disk.link(os.fsdecode(src), os.fsdecode(dst), follow=follow_symlinks)

    def symlink(self, src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None) -> None:
        process = _step("symlink")
        process.machine.disk.symlink(os.fsdecode(src), os.fsdecode(dst), _folder(process, dir_fd))

    def readlink(self, path: Any, *, dir_fd: int | None = None) -> str:
        process = _step("readlink")
        node = process.machine.disk.find(os.fsdecode(path), follow=False, at=_folder(process, dir_fd))
        target = getattr(node, "target", None)
        if target is None:
            raise failed(errno.EINVAL, os.fsdecode(path))
        return str(target)

    def chmod(self, path: Any, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        process = _step("chmod")
        node = process.machine.disk.find(os.fsdecode(path), follow=follow_symlinks, at=_folder(process, dir_fd))
        node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)

    def utime(self, path: Any, times: Any = None, *, ns: tuple[int, int] | None = None, **_: Any) -> None:
        process = _step("utime")
        node, _text = _node(process, path)
        seconds = None if times is None else int(times[1] * 1e9)
        node.modified = ns[1] if ns is not None else process.machine.wall_ns() if seconds is None else seconds

    def truncate(self, path: Any, length: int) -> None:
        process = _step("truncate")
        node, _text = _node(process, path)
        process.machine.disk.truncate(node, length)

    def statvfs(self, path: Any) -> os.statvfs_result:
        process = _step("statvfs")
        disk = process.machine.disk
        _node(process, path)
        blocks, free = disk.capacity // 4096, (disk.capacity - disk.used) // 4096
        return os.statvfs_result((4096, 4096, blocks, free, free, 1 << 20, 1 << 19, 1 << 19, 0, 255))

    # Descriptors

    def close(self, fd: int) -> None:
        if running() is None:
            # Garbage of a history that has ended.
            return
        process = this_process()
        if not process.alive:
            return
        held = process.descriptors.pop(fd, None)
        if held is not None:
            held.let_go()
        elif fd not in this_world().lost:
            raise failed(errno.EBADF)

    def read(self, fd: int, count: int) -> bytes:
        if isinstance(end := this_process().descriptors.get(fd), Pipe):
            _step("event")
            return end.read(count)
        process, opened = _opened(fd, "read")
        return process.machine.disk.read(opened, count)

    def write(self, fd: int, data: Any) -> int:
        if isinstance(end := this_process().descriptors.get(fd), Pipe):
            _step("event")
            return end.write(bytes(data))
        process, opened = _opened(fd, "write")
        return process.machine.disk.write(opened, bytes(data))

    def pread(self, fd: int, count: int, offset: int) -> bytes:
        process, opened = _opened(fd, "read")
        return process.machine.disk.read(opened, count, offset)

    def pwrite(self, fd: int, data: Any, offset: int) -> int:
        process, opened = _opened(fd, "write")
        return process.machine.disk.write(opened, bytes(data), offset)

    def preadv(self, fd: int, buffers: Sequence[Any], offset: int, flags: int = 0) -> int:
        process, opened = _opened(fd, "read")
        total = 0
        for buffer in buffers:
            view = memoryview(buffer).cast("B")
            found = process.machine.disk.read(opened, len(view), offset + total)
            view[: len(found)] = found
            total += len(found)
        return total

    def fsync(self, fd: int) -> None:
        process, opened = _opened(fd, "fsync")
        process.machine.disk.sync(opened.node)

    fdatasync = fsync

    def ftruncate(self, fd: int, length: int) -> None:
        process, opened = _opened(fd, "truncate")
        process.machine.disk.truncate(opened.node, length)

    def fstat(self, fd: int) -> os.stat_result:
        process, opened = _opened(fd, "stat")
        return process.machine.disk.facts(opened.node)

    def fchmod(self, fd: int, mode: int) -> None:
        _, opened = _opened(fd, "chmod")
        opened.node.mode = stat.S_IFMT(opened.node.mode) | stat.S_IMODE(mode)

    def fchown(self, fd: int, uid: int, gid: int) -> None:
        _, opened = _opened(fd, "chown")
        opened.node.uid, opened.node.gid = uid, gid

    def dup(self, fd: int) -> int:
        process = this_process()
        held = _held(process, fd)
        if not isinstance(held, OpenedFile):
            raise failed(errno.EBADF)
        return process.descriptor(held.again())

    def lseek(self, fd: int, offset: int, how: int) -> int:
        _, opened = _opened(fd, "seek")
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: opened.position, os.SEEK_END: opened.node.size}[how]
        opened.position = begin + offset
        return opened.position

    def isatty(self, fd: int) -> bool:
        return False

    def set_blocking(self, fd: int, blocking: bool) -> None:
        """Nothing of a simulation blocks but by `waiting`."""

    def get_blocking(self, fd: int) -> bool:
        return True

    def flock(self, fd: int, how: int) -> None:
        process, opened = _opened(fd, "flock")
        disk = process.machine.disk
        while not disk.lock(opened, how):
            if how & fcntl.LOCK_NB:
                raise failed(errno.EWOULDBLOCK)
            this_world().wait(lambda: not opened.node.locks, None)

    # Events

    def eventfd(self, initial: int, flags: int = 0) -> int:
        made = Ready()
        made.count = initial
        return this_process().descriptor(made)

    def eventfd_read(self, fd: int) -> int:
        held = _held(_step("event"), fd)
        if not held.count:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        count, held.count = held.count, 0
        return int(count)

    def eventfd_write(self, fd: int, value: int) -> None:
        _held(_step("event"), fd).count += value

    def pipe(self) -> tuple[int, int]:
        held = bytearray()
        process = this_process()
        return process.descriptor(Pipe(held, reads=True)), process.descriptor(Pipe(held, reads=False))

    # The process, the machine and its clocks

    def getpid(self) -> int:
        return this_process().pid

    def getppid(self) -> int:
        return 1

    def kill(self, pid: int, signal: int) -> None:
        """Signal 0 alone: whether there is such a process."""
        if signal != 0:
            raise NotImplementedError("no part of the product that is simulated sends a signal")
        if all(each.pid != pid for each in this_process().machine.processes):
            raise failed(errno.ESRCH)

    def urandom(self, count: int) -> bytes:
        return this_world().random.randbytes(count)

    def uuid1(self, *_: Any) -> uuid.UUID:
        ticks = this_process().machine.wall_ns() // 100 + 0x01B21DD213814000
        fields = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 & 0x0FFF, 0, this_world().random.getrandbits(8)
        return uuid.UUID(fields=(*fields, 0x0123456789AB), version=1)

    def gethostname(self) -> str:
        return this_process().machine.name

    def getaddrinfo(self, host: str, port: Any, *_: Any, **__: Any) -> list[Any]:
        """The name of a node is its address."""
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port or 0))]

    def time_ns(self) -> int:
        return this_process().machine.wall_ns() + this_process().skew_ns + self._tick()

    def time(self) -> float:
        return self.time_ns() / 1e9

    def monotonic_ns(self) -> int:
        self._tick()
        return 10**9 + this_world().now

    perf_counter_ns = monotonic_ns

    def monotonic(self) -> float:
        return self.monotonic_ns() / 1e9

    perf_counter = thread_time = monotonic

    def sleep(self, seconds: float) -> None:
        this_world().wait(None, seconds)

    def _tick(self) -> int:
        this_world().now += _TICK_NS
        return 0


SYSTEM: Final = SimulatedOs()


def _held(process: Process, fd: int) -> Any:
    held = process.descriptors.get(fd)
    if held is None:
        raise failed(errno.EBADF)
    return held


def _opened(fd: int, call: str) -> tuple[Process, Opened]:
    process = _step(call)
    held = _held(process, fd)
    if not isinstance(held, OpenedFile):
        raise failed(errno.EINVAL)
    return process, held.opened


def _folder(process: Process, dir_fd: int | None) -> Folder | None:
    if dir_fd is None:
        return None
    held = _held(process, dir_fd)
    if not (isinstance(held, OpenedFile) and isinstance(held.opened.node, Folder)):
        raise failed(errno.ENOTDIR)
    return held.opened.node


def _node(process: Process, path: Any) -> tuple[Node, str]:
    """What a path means, or a descriptor in its place."""
    if isinstance(path, int):
        return _opened(path, "stat")[1].node, ""
    text = os.fsdecode(path)
    return process.machine.disk.find(text), text
