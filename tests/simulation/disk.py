"""A disk in memory: what a file system of Linux does with files, names, locks and power losses. Knows no process.

What was not synced may be lost, torn or reordered by a power loss: of a file every write since its last fsync, of a
folder every change of its names since its own. A rename is atomic. This is less than ext4 promises with its default
options, and what POSIX says.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple, TypeVar, cast

BLOCK: Final = 4096
NAME_MAX: Final = 255
LINKS_MAX: Final = 8

T = TypeVar("T")
Clock = Callable[[], int]
"""The time in ns, for what files say of when they were changed."""


def failed(code: int, path: str | None = None) -> OSError:
    """The error as Python's `os` raises it."""
    return OSError(code, os.strerror(code), path) if path is not None else OSError(code, os.strerror(code))


class Written(NamedTuple):
    """A change of a file's content: bytes at an offset; `data` None: it ends there."""

    offset: int
    data: bytes | None

    def on(self, content: bytearray) -> None:
        if self.data is None:
            length = self.offset
            content[length:] = b""
            content.extend(bytes(length - len(content)))
            return
        if len(content) < self.offset:
            content.extend(bytes(self.offset - len(content)))
        content[self.offset : self.offset + len(self.data)] = self.data


class Named(NamedTuple):
    """A change of a folder's names: those that mean another node now, None for those that are gone."""

    names: tuple[tuple[str, Node | None], ...]

    def on(self, entries: dict[str, Node]) -> None:
        for name, node in self.names:
            if node is None:
                entries.pop(name, None)
            else:
                entries[name] = node


@dataclass(eq=False)
class Node:
    """What a name means. `links`: how many names mean it; `opened`: how many descriptors do."""

    number: int
    mode: int
    changed: int
    modified: int
    uid: int = 0
    gid: int = 0
    links: int = 0
    opened: int = 0
    locks: dict[Opened, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return 0


@dataclass(eq=False)
class File(Node):
    """`kept`: what a power loss leaves of it for certain; `pending`: what was written since."""

    content: bytearray = field(default_factory=bytearray)
    kept: bytes = b""
    pending: list[Written] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.content)

    def sync(self) -> None:
        self.kept = bytes(self.content)
        self.pending.clear()


@dataclass(eq=False)
class Link(Node):
    target: str = ""

    @property
    def size(self) -> int:
        return len(self.target)


@dataclass(eq=False)
class Folder(Node):
    entries: dict[str, Node] = field(default_factory=dict)
    kept: dict[str, Node] = field(default_factory=dict)
    pending: list[Named] = field(default_factory=list)
    parent: Folder | None = None
    watchers: list[Watcher] = field(default_factory=list)

    @property
    def size(self) -> int:
        return BLOCK

    def sync(self) -> None:
        self.kept = dict(self.entries)
        self.pending.clear()

    def change(self, *names: tuple[str, Node | None]) -> None:
        made = Named(names)
        made.on(self.entries)
        self.pending.append(made)


Watcher = Callable[[int, str], None]
"""Told of an event in a folder: its flag of inotify, and the name."""

CREATE, DELETE, MOVED_FROM, MOVED_TO, CLOSE_WRITE = 0x100, 0x200, 0x40, 0x80, 0x8
DELETE_SELF, MOVE_SELF = 0x400, 0x800


@dataclass(eq=False)
class Opened:
    """An open file description: descriptors that were duplicated share it."""

    node: Node
    flags: int
    where: Folder | None
    name: str
    position: int = 0
    references: int = 1

    @property
    def writes(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_RDONLY

    @property
    def reads(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_WRONLY


class Disk:
    """`capacity`: so many bytes all files have together. `random`: for the order of listings and power losses."""

    def __init__(self, random: Random, clock: Clock, capacity: int = 1 << 40) -> None:
        self.random, self.clock, self.capacity = random, clock, capacity
        self.used = 0
        self.device = 2049
        self._next = 2
        self.root = Folder(2, stat.S_IFDIR | 0o755, 0, 0, links=2)
        self.root.parent = self.root

    # Names

    def find(self, path: str, *, follow: bool = True, at: Folder | None = None) -> Node:
        """What a path means. OSError as Linux gives it."""
        folder, name = self._parent(path, at)
        return folder if name == "" else self._step(folder, name, path, follow, 0)

    def _parent(self, path: str, at: Folder | None = None) -> tuple[Folder, str]:
        """The folder that a path's last name is in, and the name; empty where the path names the folder itself."""
        if path == "":
            raise failed(errno.ENOENT, path)
        if "\0" in path:
            raise ValueError("embedded null byte")
        return self._walk(path, at, 0)

    def _walk(self, path: str, at: Folder | None, depth: int) -> tuple[Folder, str]:
        folder = self.root if at is None or path.startswith("/") else at
        parts = [part for part in path.split("/") if part not in ("", ".")]
        for part in parts[:-1]:
            node = folder.parent if part == ".." else self._step(folder, part, path, True, depth)
            if not isinstance(node, Folder):
                raise failed(errno.ENOTDIR, path)
            folder = node
        if not parts:
            return folder, ""
        if parts[-1] == "..":
            return cast(Folder, folder.parent), ""
        if len(os.fsencode(parts[-1])) > NAME_MAX:
            raise failed(errno.ENAMETOOLONG, path)
        return folder, parts[-1]

    def _step(self, folder: Folder, name: str, path: str, follow: bool, depth: int) -> Node:
        node = folder.entries.get(name)
        if node is None:
            raise failed(errno.ENOENT, path)
        if not (follow and isinstance(node, Link)):
            return node
        if depth >= LINKS_MAX:
            raise failed(errno.ELOOP, path)
        where, last = self._walk(node.target, folder, depth + 1)
        return where if last == "" else self._step(where, last, path, True, depth + 1)

    def exists(self, path: str) -> bool:
        try:
            self.find(path)
        except OSError:
            return False
        return True

    def names(self, folder: Node, path: str) -> list[str]:
        """In an order that nobody may rely on."""
        if not isinstance(folder, Folder):
            raise failed(errno.ENOTDIR, path)
        found = sorted(folder.entries)
        self.random.shuffle(found)
        return found

    def make_folder(self, path: str, mode: int = 0o777, at: Folder | None = None) -> None:
        where, name = self._parent(path, at)
        if name == "" or name in where.entries:
            raise failed(errno.EEXIST, path)
        now = self.clock()
        # A folder of a setgid folder is one too.
        made = Folder(self._number(), stat.S_IFDIR | mode | (where.mode & stat.S_ISGID), now, now, links=2)
        made.parent, made.gid = where, where.gid if where.mode & stat.S_ISGID else 0
        where.links += 1
        self._put(where, CREATE, (name, made))

    def remove_folder(self, path: str, at: Folder | None = None) -> None:
        where, name = self._parent(path, at)
        node = self._step(where, name, path, False, 0)
        if not isinstance(node, Folder):
            raise failed(errno.ENOTDIR, path)
        if node.entries:
            raise failed(errno.ENOTEMPTY, path)
        where.links -= 1
        self._put(where, DELETE, (name, None))
        self._tell(node, DELETE_SELF, "")

    def unlink(self, path: str, at: Folder | None = None) -> None:
        where, name = self._parent(path, at)
        node = self._step(where, name, path, False, 0)
        if isinstance(node, Folder):
            raise failed(errno.EISDIR, path)
        self._put(where, DELETE, (name, None))
        self._unlinked(node)

    def rename(self, source: str, target: str, at: Folder | None = None, to: Folder | None = None) -> None:
        """Of one file system: atomic where both lie in one folder; else a power loss may leave both names."""
        old, name = self._parent(source, at)
        node = self._step(old, name, source, False, 0)
        new, other = self._parent(target, to)
        there = new.entries.get(other)
        if there is node:
            return
        if isinstance(there, Folder):
            if not isinstance(node, Folder):
                raise failed(errno.EISDIR, target)
            if there.entries:
                raise failed(errno.ENOTEMPTY, target)
        elif isinstance(node, Folder) and there is not None:
            raise failed(errno.ENOTDIR, target)
        if old is new:
            old.change((name, None), (other, node))
        else:
            new.change((other, node))
            old.change((name, None))
        self._touch(old)
        self._touch(new)
        node.changed = self.clock()
        if isinstance(node, Folder):
            node.parent = new
            self._tell(node, MOVE_SELF, "")
        if there is not None:
            self._unlinked(there)
        self._tell(old, MOVED_FROM, name)
        self._tell(new, MOVED_TO, other)

    def link(self, source: str, target: str, *, follow: bool = False, at: Folder | None = None) -> None:
        node = self.find(source, follow=follow, at=at)
        where, name = self._parent(target, at)
        if isinstance(node, Folder):
            raise failed(errno.EPERM, source)
        if name in where.entries:
            raise failed(errno.EEXIST, target)
        node.links += 1
        node.changed = self.clock()
        self._put(where, CREATE, (name, node))

    def symlink(self, target: str, path: str, at: Folder | None = None) -> None:
        where, name = self._parent(path, at)
        if name in where.entries:
            raise failed(errno.EEXIST, path)
        now = self.clock()
        self._put(where, CREATE, (name, Link(self._number(), stat.S_IFLNK | 0o777, now, now, links=1, target=target)))

    # Files

    def make_file(self, path: str, content: bytes) -> None:
        """What somebody wrote before the history begins, for its owner alone."""
        opened = self.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self.write(opened, content)
        self.close(opened)

    def open(self, path: str, flags: int, mode: int = 0o777, at: Folder | None = None) -> Opened:
        """A descriptor's description. Every folder may be read, and every file opened: who asks is root."""
        where, name = self._parent(path, at)
        node = self._to_open(where, name, path, flags)
        if node is None:
            now = self.clock()
            node = File(self._number(), stat.S_IFREG | mode, now, now, links=1)
            node.gid = where.gid if where.mode & stat.S_ISGID else 0
            self._put(where, CREATE, (name, node))
        made = Opened(node, flags, where, name)
        if isinstance(node, Folder) and made.writes:
            raise failed(errno.EISDIR, path)
        if flags & os.O_DIRECTORY and not isinstance(node, Folder):
            raise failed(errno.ENOTDIR, path)
        node.opened += 1
        if isinstance(node, File) and flags & os.O_TRUNC and made.writes:
            self.truncate(node, 0)
        return made

    def _to_open(self, where: Folder, name: str, path: str, flags: int) -> Node | None:
        """What is there; None for a file that is to be made."""
        if name == "":
            return where
        there = where.entries.get(name)
        if isinstance(there, Link):
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise failed(errno.EEXIST, path)
            if flags & os.O_NOFOLLOW:
                raise failed(errno.ELOOP, path)
            return self._step(where, name, path, True, 0)
        if there is None and not flags & os.O_CREAT:
            raise failed(errno.ENOENT, path)
        if there is not None and flags & os.O_CREAT and flags & os.O_EXCL:
            raise failed(errno.EEXIST, path)
        return there

    def close(self, opened: Opened) -> None:
        opened.references -= 1
        if opened.references:
            return
        node = opened.node
        node.opened -= 1
        node.locks.pop(opened, None)
        if isinstance(node, File):
            if opened.writes and opened.where is not None:
                self._tell(opened.where, CLOSE_WRITE, opened.name)
            self._free(node)

    def read(self, opened: Opened, count: int, offset: int | None = None) -> bytes:
        if isinstance(opened.node, Folder):
            raise failed(errno.EISDIR)
        if not (opened.reads and isinstance(opened.node, File)):
            raise failed(errno.EBADF)
        begin = opened.position if offset is None else offset
        found = bytes(opened.node.content[begin : begin + count])
        if offset is None:
            opened.position += len(found)
        return found

    def write(self, opened: Opened, data: bytes, offset: int | None = None) -> int:
        """As many bytes as there is room for; ENOSPC where there is none."""
        node = opened.node
        if not (opened.writes and isinstance(node, File)):
            raise failed(errno.EBADF)
        begin = opened.position if offset is None else offset
        if opened.flags & os.O_APPEND:
            begin = node.size
        more = max(0, begin + len(data) - node.size)
        if more > self.capacity - self.used:
            data = data[: len(data) - (more - max(0, self.capacity - self.used))]
            if not data:
                raise failed(errno.ENOSPC)
        if not data:
            return 0
        before = node.size
        written = Written(begin, bytes(data))
        written.on(node.content)
        node.pending.append(written)
        self.used += node.size - before
        self._touch(node)
        if offset is None:
            opened.position = begin + len(data)
        return len(data)

    def truncate(self, node: Node, length: int) -> None:
        if not isinstance(node, File):
            raise failed(errno.EISDIR if isinstance(node, Folder) else errno.EINVAL)
        if length - node.size > self.capacity - self.used:
            raise failed(errno.ENOSPC)
        self.used += length - node.size
        cut = Written(length, None)
        cut.on(node.content)
        node.pending.append(cut)
        self._touch(node)

    def sync(self, node: Node) -> None:
        """A file's content, or a folder's names, survive a power loss from now on."""
        if isinstance(node, File | Folder):
            node.sync()

    def lock(self, opened: Opened, how: int) -> bool:
        """`flock` without waiting: whether the lock is held, or given back, now."""
        node = opened.node
        if how & fcntl.LOCK_UN:
            node.locks.pop(opened, None)
            return True
        others = {each: kind for each, kind in node.locks.items() if each is not opened}
        if how & fcntl.LOCK_EX and others:
            return False
        if how & fcntl.LOCK_SH and fcntl.LOCK_EX in others.values():
            return False
        node.locks[opened] = how & (fcntl.LOCK_EX | fcntl.LOCK_SH)
        return True

    def facts(self, node: Node) -> os.stat_result:
        """What `stat` says."""
        seconds = (node.modified // 10**9, node.modified // 10**9, node.changed // 10**9)
        precise = (node.modified / 1e9, node.modified / 1e9, node.changed / 1e9)
        nanos = (node.modified, node.modified, node.changed)
        numbers = (node.mode, node.number, self.device, node.links, node.uid, node.gid, node.size)
        blocks = -(-node.size // 512)
        return os.stat_result((*numbers, *seconds, *precise, *nanos, BLOCK, blocks, 0))

    # Power

    def power_loss(self) -> None:
        """What was not synced is kept, lost, or torn; names may go, or come again. No descriptor means anything."""
        for folder in list(self._folders(self.root, set())):
            entries = dict(folder.kept)
            for change in self._survivors(folder.pending):
                change.on(entries)
            folder.entries = entries
            folder.watchers.clear()
        nodes = list(self._nodes(self.root, set()))
        for node in nodes:
            node.opened, node.links = 0, 0
            node.locks.clear()
            if isinstance(node, File):
                content = bytearray(node.kept)
                for write in self._survivors(node.pending):
                    self._torn(write).on(content)
                node.content = content
        for node in nodes:
            if isinstance(node, Folder):
                node.links += 2
                for name, inner in node.entries.items():
                    inner.links += 1
                    if isinstance(inner, Folder):
                        inner.parent = node
                        inner.links -= 1
                        node.links += 1
                    assert name, "names are not empty"
            # What is there now is on the disk.
            self.sync(node)
        self.used = sum(node.size for node in nodes if isinstance(node, File))

    def _survivors(self, changes: list[T]) -> list[T]:
        """Those of which the disk has something: mostly the first ones, sometimes any."""
        if not changes:
            return []
        if self.random.random() < 0.7:
            return changes[: self.random.randint(0, len(changes))]
        return [change for change in changes if self.random.random() < 0.5]

    def _torn(self, write: Written) -> Written:
        if write.data is None or self.random.random() < 0.7:
            return write
        # A disk writes its sectors whole, in any order.
        kept = self.random.randrange(0, len(write.data) + 1)
        kept -= (write.offset + kept) % 512 if kept < len(write.data) else 0
        return Written(write.offset, write.data[: max(0, kept)])

    def _folders(self, folder: Folder, seen: set[int]) -> Iterator[Folder]:
        """All that a power loss may bring back, too."""
        if folder.number in seen:
            return
        seen.add(folder.number)
        yield folder
        named = [*folder.kept.values(), *folder.entries.values()]
        named += [node for change in folder.pending for _, node in change.names if node is not None]
        for node in named:
            if isinstance(node, Folder):
                yield from self._folders(node, seen)

    def _nodes(self, folder: Folder, seen: set[int]) -> Iterator[Node]:
        seen.add(folder.number)
        yield folder
        for node in folder.entries.values():
            if node.number in seen:
                continue
            if isinstance(node, Folder):
                yield from self._nodes(node, seen)
            else:
                seen.add(node.number)
                yield node

    # Within

    def _number(self) -> int:
        self._next += 1
        return self._next

    def _put(self, where: Folder, event: int, entry: tuple[str, Node | None]) -> None:
        where.change(entry)
        self._touch(where)
        self._tell(where, event, entry[0])

    def _touch(self, node: Node) -> None:
        node.modified = node.changed = self.clock()

    def _tell(self, folder: Folder, event: int, name: str) -> None:
        for watcher in list(folder.watchers):
            watcher(event, name)

    def _unlinked(self, node: Node) -> None:
        node.changed = self.clock()
        if isinstance(node, Folder):
            self._tell(node, DELETE_SELF, "")
            return
        node.links -= 1
        self._free(node)

    def _free(self, node: Node) -> None:
        if isinstance(node, File) and node.links == 0 and node.opened == 0:
            self.used -= node.size
            node.content = bytearray()
