"""Where an archive lies: a folder, or an object store through pyarrow's file systems. Knows bytes and names alone.

A file is there whole or not at all, and stays when `put` has returned.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Protocol
from urllib.parse import urlsplit

from tailer.errors import SystemFailedError, UsageError
from tailer.on_disk import NEW, put_in_place, sync_folder
from tailer.system_errors import told

_REMEDY: Final = "Nothing was deleted for it. Mend what refuses, and run again."


class Store(Protocol):
    """Files by name; a name has slashes between its parts. FileNotFoundError for one that is not there."""

    where: str

    def put(self, name: str, parts: Iterable[bytes]) -> None:
        """Write a file, or replace it: durable when this returns. SystemFailedError, or UsageError for no right."""
        ...

    def parts(self, name: str) -> Iterator[bytes]:
        """A file's bytes, part by part."""
        ...

    def names(self, folder: str) -> list[str]:
        """What stands directly in a folder, sorted; nothing where there is none."""
        ...


PART_BYTES: Final = 1 << 20


def open_store(where: str) -> Store:
    """The store of a folder's path, or of a URI such as `s3://BUCKET/PATH`. UsageError for what is neither."""
    return ObjectStore(where) if "://" in where else FolderStore(Path(where))


class FolderStore:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.where = str(folder)
        self._folder = folder

    def put(self, name: str, parts: Iterable[bytes]) -> None:
        path = self._folder / name
        temporary = path.with_name(path.name + NEW)
        with told("cannot write the archive", path, writes=True):
            missing = [each for each in path.parents if not each.is_dir()]
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as out:
                out.writelines(parts)
                out.flush()
                os.fsync(out.fileno())
            put_in_place(temporary, path)
            for each in missing:
                sync_folder(each.parent)

    def parts(self, name: str) -> Iterator[bytes]:
        path = self._folder / name
        with told("cannot read the archive", path), path.open("rb") as file:
            while part := file.read(PART_BYTES):
                yield part

    def names(self, folder: str) -> list[str]:
        path = self._folder / folder
        try:
            with told("cannot list the archive", path):
                return sorted(each.name for each in path.iterdir() if not each.name.endswith(NEW))
        except FileNotFoundError:
            return []


class ObjectStore:
    """An object store. What is written to it counts when the upload is complete, and not before."""

    def __init__(self, where: str) -> None:
        from pyarrow import ArrowInvalid
        from pyarrow.fs import FileSystem

        if "@" in urlsplit(where).netloc:
            raise UsageError(
                "the archive's address has a key in it",
                remedy="Give it in the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile.",
            )
        self.where = where
        try:
            self._system, self._root = FileSystem.from_uri(where)
        except (ArrowInvalid, OSError) as error:
            raise UsageError(
                "the archive's address is not understood",
                expected="a folder, or a URI that pyarrow knows, such as s3://BUCKET/PATH",
                found=f"{where!r} ({error})",
            ) from error

    def put(self, name: str, parts: Iterable[bytes]) -> None:
        try:
            with self._told("cannot write the archive", name), self._system.open_output_stream(self._path(name)) as out:
                for part in parts:
                    out.write(part)
        except FileNotFoundError as error:
            raise SystemFailedError(f"cannot write the archive: {error}", file=self.where, remedy=_REMEDY) from error

    def parts(self, name: str) -> Iterator[bytes]:
        with self._told("cannot read the archive", name), self._opened(name) as file:
            while part := file.read(PART_BYTES):
                yield part

    def names(self, folder: str) -> list[str]:
        from pyarrow.fs import FileSelector

        with self._told("cannot list the archive", folder):
            found = self._system.get_file_info(FileSelector(self._path(folder), allow_not_found=True))
        return sorted(each.base_name for each in found)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}".rstrip("/")

    def _opened(self, name: str) -> IO[bytes]:
        opened: Any = self._system.open_input_stream(self._path(name))
        return opened  # type: ignore[no-any-return]

    @contextmanager
    def _told(self, what: str, name: str) -> Iterator[None]:
        """Anything but a file that is not there is worth another try: the network, the store, its rights."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            where = f"{self.where.partition('?')[0].rstrip('/')}/{name}"
            raise SystemFailedError(f"{what}: {error}", file=where, remedy=_REMEDY) from error
