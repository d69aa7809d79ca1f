"""A folder of this machine as a place for files that are kept elsewhere (`store.py`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tailer.on_disk import NEW, SafeOpen, put_in_place
from tailer.stores.store import PART_BYTES
from tailer.system_errors import told

_FILES: Final = SafeOpen("the folder of kept files")


class FolderStore:
    """A Store."""

    def __init__(self, folder: Path) -> None:
        self.where = str(folder)
        self._folder = folder

    def put(self, name: str, parts: Iterable[bytes]) -> None:
        path = self._folder / name
        temporary = path.with_name(path.name + NEW)
        with told("cannot write the file", path, writes=True):
            _FILES.make_folder(path.parent)
            with os.fdopen(_FILES.new(temporary), "wb") as out:
                out.writelines(parts)
                out.flush()
                os.fsync(out.fileno())
            put_in_place(temporary, path)

    def parts(self, name: str) -> Iterator[bytes]:
        path = self._folder / name
        with told("cannot read the file", path):
            try:
                with path.open("rb") as file:
                    while part := file.read(PART_BYTES):
                        yield part
            except NotADirectoryError as error:
                # A file stands where a folder would: what would be in it is not there.
                raise FileNotFoundError(str(path)) from error

    def names(self, folder: str) -> list[str]:
        path = self._folder / folder
        if not path.is_dir():
            return []
        with told("cannot list the folder", path):
            return sorted(each.name for each in path.iterdir() if not each.name.endswith(NEW))
