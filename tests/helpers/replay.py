"""A recorded folder changing under one path, as a server changes it: files grow in place, appear and vanish. And a
reader that is stopped and started anew at every stage of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.sets import Place, link_commitlog
from tests.oracle import Expected
from tests.oracle.stages import Replay

Reading = Callable[[Expected], Sequence[str]]
"""One run to the end of what is there: the lines that it gave. Told what is expected, for what is not lines."""


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


def replayed(
    places: Sequence[Place], sets_root: Path, parent: Path, reader: Callable[[Path], Reading], *, links: bool
) -> list[str]:
    """Every stage in turn, each run checked against what that stage newly covers; all lines at the end.

    `reader`: of the folder, asked for before anything is there.
    """
    stage, replay = Stage(parent, sets_root), Replay(sets_root / places[0].set)
    read = reader(stage.folder)
    told: list[str] = []
    for place in places:
        stage.show(place, links=links)
        want = replay.stage(stage.folder)
        try:
            lines = without_truncates(read(want))
            same_rows(want.rows, lines)
        except AssertionError as error:
            raise AssertionError(f"{place}: {error}") from None
        told += lines
    return told


def unread_position(before: Expected) -> tuple[int, int]:
    """Where reading stopped: the last segment that gave rows, and how far it was covered."""
    reach = max((reach for reach in before.plan.reaches if reach.limit), key=lambda reach: reach.segment)
    return reach.segment, reach.limit


def _write_in_place(source: Path, target: Path) -> None:
    data = source.read_bytes()
    with target.open("r+b" if target.exists() else "xb") as file:
        file.truncate(len(data))
        file.write(data)
