"""A service's own log in an archive: transactions over the edge of the folder, and what the log's limit took."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tailer
from tailer.errors import LossError
from tailer.planning import open_segments
from tailer.retention.clean import CleanOptions, clean
from tailer.stores.folder_store import FolderStore
from tests.helpers.logs.codecs import PLAIN
from tests.helpers.logs.folder import LogFolder
from tests.helpers.logs.native import NativeWriter
from tests.native import kept_log
from tests.native.kept_log import Service, ids
from tests.native.logs import ORDERS, as_rows, folder_of, put, rows_of
from tests.native.test_following import AT_ONCE, EXPECTED, mixed_log, told


def read_all(folder: Path, **options: object) -> None:
    list(tailer.open(folder, consumer="c", **options).follow(once=True))


def clean_away(folder: Path) -> list[int]:
    options = CleanOptions(archive=FolderStore(folder.parent / "archive"))
    return [held.segment for held in clean(folder, options, ages=AT_ONCE).logs]


@pytest.mark.parametrize("room", [1, 1 << 20])
def test_transactions_that_began_in_the_archive_are_whole(
    tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_segments, "FETCHED_BYTES_MAX", room)
    folder = folder_of(tmp_path, *(logs := mixed_log()))
    middle = f"8:{logs[1].frame.sections[1].start}"
    want, behind = rows_of(folder), rows_of(folder, middle)
    read_all(folder)
    assert clean_away(folder) == [7, 8]
    archive = str(tmp_path / "archive")
    assert told(want) == EXPECTED
    assert rows_of(folder, archive=archive) == want
    assert rows_of(folder, middle, archive=archive) == behind
    edge = f"9:{logs[2].frame.sections[1].start}"
    assert told(rows_of(folder, edge, archive=archive)) == EXPECTED[3:]
    with pytest.raises(LossError, match="a transaction that is open at"):
        rows_of(folder, edge)


def segment(folder: LogFolder, number: int) -> None:
    log = NativeWriter(number, form=replace(PLAIN, parameters={"previous": number - 1} if number > 1 else {}))
    log.section([ORDERS.definition, put(number, "row")])
    folder.put(log.frame, log.sidecar())


def limited(tmp_path: Path) -> LogFolder:
    """1 is archived, the limit took 2, 3 is archived, the limit took 4; 5 and 6 are there."""
    folder = LogFolder(tmp_path / "cdc_raw")
    segment(folder, 1)
    segment(folder, 3)
    read_all(folder.path)
    assert clean_away(folder.path) == [1]
    (folder.path / "DROPPED").write_text("2\n")
    segment(folder, 5)
    read_all(folder.path, accept_loss=True)
    assert clean_away(folder.path) == [3]
    (folder.path / "DROPPED").write_text("4\n")
    segment(folder, 6)
    return folder


def test_what_the_limit_took_between_archived_segments_is_a_loss(tmp_path: Path) -> None:
    folder, archive = limited(tmp_path), str(tmp_path / "archive")
    rows: list[object] = []
    with pytest.raises(LossError, match="the first position not read is 2:0"):
        rows += as_rows(tailer.open(folder.path, archive=archive).read())
    with pytest.raises(LossError, match="the first position not read is 4:0"):
        rows_of(folder.path, "3:0", archive=archive)
    reader = tailer.open(folder.path, archive=archive, consumer="new", accept_loss=True)
    assert [each[0] for each in told(as_rows(reader.follow(once=True)))] == [1, 3, 5, 6]
    assert sum("Changes are lost" in notice for notice in reader.notices) == 2, reader.notices
    assert list(reader.follow(once=True)) == []
    assert reader.notices == []


def test_a_segment_that_held_nothing_for_readers_is_no_loss(tmp_path: Path) -> None:
    service = Service(tmp_path)
    for _ in range(2):
        service.write(30)
        service.write_secrets(12)
        list(tailer.open(service.raw, consumer="c").follow(once=True))
        assert clean_away(service.raw)
    service.write(10)
    assert len(service.own()) > len(ids(service.raw)) + len(ids_in(tmp_path / "archive"))
    rows = as_rows(tailer.open(service.raw, archive=str(tmp_path / "archive")).read())
    assert kept_log.told(rows) == service.changes


def ids_in(archive: Path) -> list[str]:
    return [path.name for path in archive.rglob("*.log")]
