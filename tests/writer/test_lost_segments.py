"""Segments that lost their changes, or one of their two names: an open deletes nothing that a service still misses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailer.errors import CorruptError, LossError
from tests.writer.small_log import note, numbers, own, small
from tests.writer.test_newest import killed, path_of


def notes(folder: Path) -> list[int]:
    """The ids of a closed log's segments with 100 rows that no reader gets."""
    with small(folder) as log:
        log.append_many(note(number, 100) for number in range(100)).wait()
    return own(folder)


@pytest.mark.parametrize("which", [0, 1, -2], ids=["the oldest", "one between", "the last but one"])
@pytest.mark.parametrize("left", [0, 4096], ids=["of no length", "of zeros"])
def test_a_segment_that_lost_its_changes_is_damage(tmp_path: Path, which: int, left: int) -> None:
    damaged = path_of(tmp_path, notes(tmp_path)[which])
    whole = damaged.read_bytes()
    damaged.write_bytes(bytes(left))
    for _ in range(2):
        with pytest.raises(CorruptError, match="a segment has no changes any more") as got:
            small(tmp_path)
    assert str(damaged) in str(got.value)
    assert damaged.read_bytes() == bytes(left)
    damaged.write_bytes(whole)
    with small(tmp_path) as log:
        assert numbers(log.replay()) == list(range(100))


@pytest.mark.parametrize("left", [0, 4096], ids=["of no length", "of zeros"])
def test_a_newest_segment_without_its_header_is_damage(tmp_path: Path, left: int) -> None:
    damaged = path_of(tmp_path, killed(tmp_path, 3))
    damaged.write_bytes(bytes(left))
    with pytest.raises(CorruptError, match="a segment has no changes any more"):
        small(tmp_path)
    assert damaged.read_bytes() == bytes(left)


def test_damage_may_be_accepted(tmp_path: Path) -> None:
    first, *_ = notes(tmp_path)
    damaged = path_of(tmp_path, first)
    damaged.write_bytes(b"")
    with pytest.raises(CorruptError, match="move it away and accept what is lost"):
        small(tmp_path)
    damaged.rename(tmp_path / "away")
    with small(tmp_path) as log:
        found = numbers(log.replay())
    assert found == list(range(100 - len(found), 100))


def test_a_link_stays_that_is_all_that_is_left_of_a_segment(tmp_path: Path) -> None:
    """The process was killed when the segment had ended, and before its link in `cdc_raw` was deleted."""
    lost = notes(tmp_path)[1]
    mine, readers = path_of(tmp_path, lost), path_of(tmp_path, lost, "cdc_raw")
    mine.rename(readers)
    for _ in range(2):
        with small(tmp_path) as log, pytest.raises(LossError, match=f"a segment of the log is gone at {lost}:0"):
            numbers(log.replay())
    mine.hardlink_to(readers)
    with small(tmp_path) as log:
        assert numbers(log.replay()) == list(range(100))
    assert not readers.exists()


def test_links_that_a_crash_brought_back_go(tmp_path: Path) -> None:
    """Of a segment that was discarded, and of one without a change."""
    first, _, third, *_ = notes(tmp_path)
    discarded, empty = path_of(tmp_path, first, "cdc_raw"), path_of(tmp_path, third, "cdc_raw")
    path_of(tmp_path, first).rename(discarded)
    path_of(tmp_path, third).unlink()
    empty.write_bytes(bytes(4096))
    small(tmp_path).close()
    assert not discarded.exists()
    assert not empty.exists()


def test_a_link_of_what_was_accepted_as_lost_goes(tmp_path: Path) -> None:
    """No sidecar would ever come for it."""
    newest = notes(tmp_path)[-1]
    readers = path_of(tmp_path, newest, "cdc_raw")
    path_of(tmp_path, newest).rename(readers)
    (tmp_path / "cdc_raw" / "NEWEST").unlink()
    small(tmp_path).close()
    assert not readers.exists()
