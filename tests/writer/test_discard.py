"""`discard_before`, stopped before each of its calls: a kill, and every order in which a power loss may keep names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from tailer.position import Position
from tests.writer.crash.crashes import log_ids, raw_files, replayed, sidecar_name
from tests.writer.crash.disk import Disk, Folder, everything_kept
from tests.writer.crash.files import Call, FakeFiles
from tests.writer.crash.session import FOLDER, Session, open_log
from tests.writer.crash.tables import PLAIN, A, AnyTable


def losses(disk: Disk) -> Iterator[Disk]:
    """What a power loss may leave of the names that no sync has made durable, each by itself."""
    folders = {inode: held for inode, held in disk.inodes.items() if isinstance(held, Folder)}
    names = [(inode, name) for inode, folder in folders.items() for name in folder.dirty]
    versions = [(folders[inode].disk.get(name), folders[inode].dirty[name][-1]) for inode, name in names]
    for kept in product(*versions):
        left = {inode: dict(folder.disk) for inode, folder in folders.items()}
        for (inode, name), target in zip(names, kept, strict=True):
            left[inode].pop(name, None)
            if target is not None:
                left[inode][name] = target
        files = {inode: held.lost(everything_kept) for inode, held in disk.inodes.items() if inode not in folders}
        yield Disk({**files, **{inode: Folder(names, names) for inode, names in left.items()}})


def discarded(tables: list[AnyTable]) -> tuple[list[tuple[str, Disk]], list[int], list[int], Position]:
    """The disk before each call of a `discard_before`, all rows' numbers, those that it keeps, and its position."""
    disk = Disk()
    disk.make_folders(FOLDER)
    files = FakeFiles(disk)
    session = Session(lambda: open_log(files))
    for number in range(10):
        session.append(tables[number % len(tables)], size=1760)
        session.sync()
    everything = replayed(session.log, Position(0, 0))
    position = session.log.end
    moments: list[tuple[str, Disk]] = []

    def before(call: Call) -> None:
        if not moments or moments[-1][1].inodes != disk.inodes:
            moments.append((str(call), disk.snapshot()))

    files.before = before
    assert session.log.discard_before(position) > 3
    moments.append(("behind it", disk.snapshot()))
    files.before = None
    return moments, everything, replayed(session.log, Position(0, 0)), position


def check(left: Disk, everything: list[int], kept: list[int], position: Position) -> None:
    """An open finds a log that goes on, with all that is needed and nothing that nobody would ever delete."""
    files = FakeFiles(left)
    log = open_log(files, boot_id=lambda: "run 1")
    assert replayed(log, position) == []
    found = replayed(log, Position(0, 0))
    assert found == everything[len(everything) - len(found) :]
    assert set(found) >= set(kept)
    unnamed = [each for each in log_ids(left) if sidecar_name(each) not in raw_files(left)]
    assert unnamed == [log.appender.segment.id], "links that no sidecar will ever come for"
    log.discard_before(position)
    assert replayed(log, Position(0, 0)) == kept
    log.close()
    assert not files.open_descriptors


@pytest.mark.parametrize("tables", [[PLAIN], [A], [A, PLAIN]], ids=["no reader's", "readers'", "both"])
def test_a_crash_in_the_middle_of_it(tables: list[AnyTable]) -> None:
    moments, everything, kept, position = discarded(tables)
    assert len(moments) > 4
    for call, disk in moments:
        for left in [disk.snapshot(), *losses(disk)]:
            try:
                check(left, everything, kept, position)
            except Exception as error:
                raise AssertionError(f"before {call}: {sorted(map(str, left.tree()))}") from error
