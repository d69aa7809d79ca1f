"""A disk in memory that knows what would survive: inodes by sector, folders by name. Knows no writer.

Every file has two contents: what a process sees (the page cache) and what is surely on the disk. Between the two lie,
for each sector, the contents it had since the last sync, any of which a power loss may leave: later ones without
earlier ones, a section half new and half old, a length without its bytes. A folder keeps the same for each name, so
that the two halves of a rename get lost one without the other.

Values are never changed in place: a snapshot of a disk costs one shallow copy.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

SECTOR = 512
ROOT = 1

T = TypeVar("T")


class Pick(Protocol):
    """Which of the versions that something had a power loss leaves: the first is the durable one."""

    def __call__(self, versions: Sequence[T]) -> T: ...


class File(NamedTuple):
    """A file's contents. `dirty`: by sector its contents since the last sync; `lengths`: the same for the length."""

    disk: bytes = b""
    cache: bytes = b""
    dirty: Mapping[int, tuple[bytes, ...]] = {}
    lengths: tuple[int, ...] = ()

    def written(self, data: bytes, at: int) -> File:
        cache = self.cache.ljust(at, b"\0")
        cache = cache[:at] + data + cache[at + len(data) :]
        first = min(at, len(self.cache)) // SECTOR
        return self._with(cache, range(first, -(-(at + len(data)) // SECTOR)))

    def cut(self, length: int) -> File:
        """Shorter or longer: what is behind the end is zeros if it ever comes back."""
        cache = self.cache[:length].ljust(length, b"\0")
        least = min(length, len(self.cache))
        return self._with(cache, range(least // SECTOR, -(-max(length, least + 1) // SECTOR)))

    def _with(self, cache: bytes, sectors: range) -> File:
        dirty = dict(self.dirty)
        for sector in sectors:
            dirty[sector] = (*dirty.get(sector, ()), sector_of(cache, sector))
        lengths = self.lengths if len(cache) == len(self.cache) else (*self.lengths, len(cache))
        return File(self.disk, cache, dirty, lengths)

    def synced(self) -> File:
        """Only what is dirty is written: of pages that a failed fsync marked clean the disk keeps what it had."""
        length = self.lengths[-1] if self.lengths else len(self.disk)
        disk = bytearray(self.disk[:length].ljust(-(-length // SECTOR) * SECTOR, b"\0"))
        for sector in self.dirty:
            if sector * SECTOR < length:
                disk[sector * SECTOR : (sector + 1) * SECTOR] = sector_of(self.cache, sector)
        return File(bytes(disk[:length]), self.cache)

    def forgotten(self) -> File:
        """After a failed fsync: the cache still has the bytes, and nobody will write them any more (Linux)."""
        return File(self.disk, self.cache)

    def lost(self, pick: Pick) -> File:
        """What a power loss leaves: of each sector and of the length one of the versions there were."""
        length = pick((len(self.disk), *self.lengths)) if self.lengths else len(self.disk)
        pieces = []
        for sector in range(-(-length // SECTOR)):
            old = sector_of(self.disk, sector)
            versions = self.dirty.get(sector)
            pieces.append(pick((old, *versions)) if versions else old)
        kept = b"".join(pieces)[:length]
        return File(kept, kept)


class Folder(NamedTuple):
    """A folder's names and their inodes. `dirty`: by name what it stood for since the last sync, None for nothing."""

    disk: Mapping[str, int] = {}
    cache: Mapping[str, int] = {}
    dirty: Mapping[str, tuple[int | None, ...]] = {}

    def named(self, name: str, inode: int | None) -> Folder:
        cache = dict(self.cache)
        if inode is None:
            del cache[name]
        else:
            cache[name] = inode
        return Folder(self.disk, cache, {**self.dirty, name: (*self.dirty.get(name, ()), inode)})

    def synced(self) -> Folder:
        return Folder(self.cache, self.cache)

    def lost(self, pick: Pick) -> Folder:
        kept = dict(self.disk)
        for name, versions in self.dirty.items():
            inode = pick((kept.pop(name, None), *versions))
            if inode is not None:
                kept[name] = inode
        return Folder(kept, kept)


def sector_of(data: bytes, sector: int) -> bytes:
    return data[sector * SECTOR : (sector + 1) * SECTOR].ljust(SECTOR, b"\0")


class Disk:
    """Inodes. Paths are looked up from the root; folders are inodes too, and a new one is lost with its name."""

    def __init__(self, inodes: Mapping[int, File | Folder] | None = None) -> None:
        self.inodes: dict[int, File | Folder] = dict(inodes) if inodes is not None else {ROOT: Folder()}

    def snapshot(self) -> Disk:
        """This disk now. It is what a killed process leaves: the cache stays, and what is dirty stays dirty."""
        return Disk(self.inodes)

    def after_power_loss(self, pick: Pick) -> Disk:
        """What the disk holds when the machine is back: of all that was unsynced what `pick` takes."""
        return Disk({inode: held.lost(pick) for inode, held in self.inodes.items()})

    def find(self, path: Path) -> int | None:
        inode: int | None = ROOT
        for part in path.parts[1:]:
            if inode is None or not isinstance(held := self.inodes[inode], Folder):
                return None
            inode = held.cache.get(part)
        return inode

    def folder(self, path: Path) -> Folder:
        inode = self.find(path)
        held = None if inode is None else self.inodes[inode]
        if not isinstance(held, Folder):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return held

    def file(self, path: Path) -> File | None:
        """The file, None where there is none (or a folder)."""
        inode = self.find(path)
        held = None if inode is None else self.inodes[inode]
        return held if isinstance(held, File) else None

    def files_in(self, path: Path) -> dict[str, bytes]:
        """The files of a folder by name, as a process sees them; none where there is no such folder."""
        inode = self.find(path)
        held = None if inode is None else self.inodes[inode]
        if not isinstance(held, Folder):
            return {}
        files = ((name, self.inodes[child]) for name, child in held.cache.items())
        return {name: file.cache for name, file in files if isinstance(file, File)}

    def name(self, path: Path, inode: int | None) -> None:
        """Makes the path's name stand for `inode`, or for nothing."""
        folder = self.folder(path.parent)
        at = self.find(path.parent)
        assert at is not None
        self.inodes[at] = folder.named(path.name, inode)

    def add(self, held: File | Folder) -> int:
        inode = max(self.inodes) + 1
        self.inodes[inode] = held
        return inode

    def make_folders(self, path: Path) -> None:
        """The folder and those above it, durable from the start: what was there before the writer."""
        for folder in (*reversed(path.parents), path):
            if self.find(folder) is None:
                self.name(folder, self.add(Folder()))
                self.inodes.update({inode: held.synced() for inode, held in self.inodes.items()})

    def tree(self) -> dict[Path, bytes]:
        """Every file and its content, as a process sees them."""
        return {path: held.cache for path, held in self._walk(Path("/"), ROOT)}

    def _walk(self, path: Path, inode: int) -> list[tuple[Path, File]]:
        held = self.inodes[inode]
        if isinstance(held, File):
            return [(path, held)]
        return [found for name, child in sorted(held.cache.items()) for found in self._walk(path / name, child)]

    def write_out(self, folder: Path, into: Path) -> None:
        """The files below `folder` as real ones below `into`; names of one inode become hard links."""
        made: dict[int, Path] = {}
        for path, _ in self._walk(folder, self.find(folder) or ROOT):
            inode = self.find(path)
            held = self.file(path)
            assert inode is not None
            assert held is not None
            target = into / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            if inode in made:
                target.hardlink_to(made[inode])
            else:
                target.write_bytes(held.cache)
                made[inode] = target


def nothing_kept(versions: Sequence[T]) -> T:
    """A power loss that keeps nothing unsynced."""
    return versions[0]


def everything_kept(versions: Sequence[T]) -> T:
    """A power loss just after the kernel had written everything."""
    return versions[-1]


def some_kept(seed: int) -> Pick:
    """A power loss that keeps some of what was unsynced, and more or less of it from seed to seed."""
    rng = random.Random(seed)
    share = rng.choice((0.1, 0.5, 0.9))

    def pick(versions: Sequence[T]) -> T:
        if rng.random() >= share:
            return versions[0]
        return versions[-1] if rng.random() < 0.7 else rng.choice(versions)

    return pick
