"""`ship --to files:DIR2`: the same files in another folder, as `follow` would have written them there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tailer.errors import RefusedError, UsageError
from tailer.on_disk import NEW, put_in_place
from tailer.sinks.files.held import hold_folder
from tailer.sinks.files.index import index_name
from tailer.sinks.files.new_file import DATA_FILES, NewFile
from tailer.sinks.files.series import DataFile, Series
from tailer.sinks.outlet import OutletKey
from tailer.system_errors import system_error

SCHEME: Final = "files:"


def open_target(to: str, values: Mapping[str, Any], say: Callable[[str], None]) -> FolderTarget:
    """The target of `files:DIR2`. UsageError for a text that names no folder."""
    folder = to.removeprefix(SCHEME)
    if not folder or folder.startswith("//"):
        raise UsageError("--to", expected="files:DIR", found=repr(to))
    return FolderTarget(Path(folder))


def other_files(found: OutletKey, wanted: OutletKey, where: str) -> RefusedError:
    """The error of a target where another log's or consumer's files stand under the node's name."""
    return RefusedError(
        "these are the data files of another log or consumer",
        file=where,
        expected=f"consumer {wanted.consumer} of the log with the state {wanted.folder}",
        found=f"consumer {found.consumer} of {found.folder}",
        remedy="Ship to another place.",
    )


class FolderTarget:
    """A Target: DIR2/NODE, held against other writers while it is open."""

    keeps_numbers = True

    def __init__(self, folder: Path) -> None:
        self.name = f"{SCHEME}{folder}"
        self._folder = folder
        self._locks: dict[str, int] = {}

    def standing(self, newest: DataFile) -> int | None:
        node, key = newest.node, newest.index.of
        folder = self._folder / node
        if node not in self._locks:
            self._locks[node] = hold_folder(folder)
        there = Series(folder).newest()
        if there is None:
            return None
        if there.index.of != key:
            raise other_files(there.index.of, key, str(folder))
        return there.index.number

    def send(self, file: DataFile) -> None:
        folder, index = self._folder / file.node, file.index
        with _written(folder):
            if index.data:
                _copy(file, folder / index.data)
            DATA_FILES.replace(folder / index_name(index.number), index.encode())

    def close(self) -> None:
        for lock in self._locks.values():
            os.close(lock)
        self._locks = {}


def _copy(file: DataFile, target: Path) -> None:
    made = NewFile(target.with_name(target.name + NEW))
    try:
        for part in file.parts():
            made.write(part)
        made.finish()
    except BaseException:
        made.give_up()
        raise
    put_in_place(made.path, target)


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise system_error("cannot write data files", error, folder, writes=True) from error
