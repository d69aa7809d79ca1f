"""A folder whose real files are shadowed by a disk that knows what a power loss would leave, call by call.

The program under test runs on real files; before each of its calls that order or change something, what it changed so
far is taken over into the shadow, sector by sector and name by name. Knows no state and no log.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tests.writer.crash.disk import Disk, File, Folder

ROOT = Path("/shadow")
CALLS = ("open", "write", "fsync", "ftruncate", "replace", "unlink")


class Shadow:
    """The disk below `root`; `moments` are what it was before each call, with the calls' names."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._inodes: dict[int, int] = {}
        self.disk = Disk()
        self.disk.make_folders(ROOT)
        shown = self.disk.find(ROOT)
        assert shown is not None
        self._inodes[root.stat().st_ino] = shown
        self._observe(root, ROOT)
        # What was there before is on the disk.
        self.disk = Disk({inode: held.synced() for inode, held in self.disk.inodes.items()})
        self.moments: list[tuple[str, Disk]] = []

    @contextmanager
    def watching(self, moment: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Within the block every call is seen; `moment` is called with each, before it happens."""

        def wrapped(name: str) -> Callable[..., Any]:
            real = getattr(os, name)

            def call(*arguments: Any, **options: Any) -> Any:
                self._observe(self._root, ROOT)
                self.moments.append((name, self.disk.snapshot()))
                moment()
                done = real(*arguments, **options)
                self._observe(self._root, ROOT)
                if name == "fsync" and (inode := self._inodes.get(os.fstat(arguments[0]).st_ino)) is not None:
                    self.disk.inodes[inode] = self.disk.inodes[inode].synced()
                return done

            return call

        with ExitStack() as patched:
            for name in CALLS:
                patched.enter_context(mock.patch.object(os, name, wrapped(name)))
            yield

    def _observe(self, real: Path, path: Path) -> None:
        shown = self.disk.folder(path)
        there = {entry.name: entry for entry in os.scandir(real)}
        for name, entry in sorted(there.items()):
            inode = self._inode(entry)
            if shown.cache.get(name) != inode:
                self.disk.name(path / name, inode)
            if entry.is_dir():
                self._observe(real / name, path / name)
            else:
                self._take(inode, real / name)
        for name in shown.cache.keys() - there.keys():
            self.disk.name(path / name, None)
        if path == ROOT:
            used = {self._root.stat().st_ino, *(entry.st_ino for entry in _all(self._root))}
            self._inodes = {mine: inode for mine, inode in self._inodes.items() if mine in used}

    def _inode(self, entry: os.DirEntry[str]) -> int:
        mine = entry.inode()
        if mine not in self._inodes:
            self._inodes[mine] = self.disk.add(Folder() if entry.is_dir() else File())
        return self._inodes[mine]

    def _take(self, inode: int, file: Path) -> None:
        held, data = self.disk.inodes[inode], file.read_bytes()
        assert isinstance(held, File)
        if len(data) < len(held.cache):
            held = held.cut(len(data))
        if data != held.cache:
            same = next((n for n, pair in enumerate(zip(data, held.cache, strict=False)) if pair[0] != pair[1]), None)
            at = len(held.cache) if same is None else same
            held = held.written(data[at:], at)
        self.disk.inodes[inode] = held


def _all(root: Path) -> Iterator[os.stat_result]:
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            found = os.lstat(Path(folder) / name)
            assert stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
            yield found
