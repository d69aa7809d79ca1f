"""A recorded folder changing under one path, as a server changes it: files grow in place, appear and vanish."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.sets import Place, link_commitlog


class Stage:
    """The folder that is followed. `show` makes its content that of another recorded folder.

    A log that is in both keeps its inode, as a segment does that the server goes on writing.
    """

    def __init__(self, parent: Path, sets_root: Path) -> None:
        self.folder = parent / "cdc_raw"
        self.folder.mkdir(parents=True)
        self._root = sets_root

    def show(self, place: Place, *, links: bool = False) -> None:
        """With `links`, second names are kept for the logs that the server's commit log directory held then."""
        source = place.folder(self._root)
        wanted = {file.name for file in source.iterdir()}
        for file in self.folder.iterdir():
            if file.name not in wanted:
                file.unlink()
        for file in sorted(source.iterdir(), reverse=True):
            _write_in_place(file, self.folder / file.name)
        held = place.commitlog(self._root)
        if links and held is not None:
            link_commitlog(self.folder, held)


def _write_in_place(source: Path, target: Path) -> None:
    data = source.read_bytes()
    with target.open("r+b" if target.exists() else "xb") as file:
        file.truncate(len(data))
        file.write(data)
