"""The quarantine: bytes, place and reason are kept, durably and once; a full one stops the stream."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tailer.errors import CorruptError, DefinitionError, SystemFailedError
from tailer.position import Position
from tailer.state.quarantine import Quarantine, kept_in, quarantine_path

AT = Position(1_700_000_000_001, 459)
ERROR = CorruptError("entry CRC does not check", at=AT, expected="0x01", found="0x02", remedy="Restore the file.")
DATA = bytes(range(256))


def records(state: Path, consumer: str = "none") -> list[dict[str, object]]:
    file = state / "quarantine" / f"{consumer}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_record_has_bytes_place_and_reason(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path, None, "local")
    quarantine.keep(AT, "CommitLog-7-1700000000001.log", ERROR, DATA)
    assert records(tmp_path) == [
        {
            "node": "local",
            "segment": AT.segment,
            "offset": AT.offset,
            "file": "CommitLog-7-1700000000001.log",
            "code": 4,
            "reason": ERROR.sentence(),
            "bytes": DATA.hex(),
            "v": 1,
        }
    ]
    assert quarantine.count == 1


def test_each_consumer_has_its_own(tmp_path: Path) -> None:
    for consumer in ("a", "b"):
        Quarantine(tmp_path, consumer, "local").keep(AT, "f", ERROR, DATA)
    assert [len(records(tmp_path, consumer)) for consumer in ("a", "b", "none")] == [1, 1, 0]


def test_the_same_place_is_kept_once_however_often_it_is_read(tmp_path: Path) -> None:
    for _ in range(3):
        quarantine = Quarantine(tmp_path, "a", "local")
        quarantine.keep(AT, "f", ERROR, DATA)
        quarantine.keep(AT, "f", ERROR, DATA)
        assert quarantine.count == 2, "what this run met, kept before or not"
    assert len(records(tmp_path, "a")) == 1


def test_another_nodes_place_is_another(tmp_path: Path) -> None:
    for node in ("one", "two"):
        Quarantine(tmp_path, "a", node).keep(AT, "f", ERROR, DATA)
    assert [record["node"] for record in records(tmp_path, "a")] == ["one", "two"]


def test_it_is_on_disk_when_keep_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    sync = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    Quarantine(tmp_path, "a", "local").keep(AT, "f", ERROR, DATA)
    folder = str(tmp_path / "quarantine")
    assert synced == [str(tmp_path), f"{folder}/a.jsonl", folder], "the folder's own name first, for it is new"


def test_a_line_cut_by_a_crash_is_kept_again(tmp_path: Path) -> None:
    first = Quarantine(tmp_path, "a", "local")
    first.keep(AT, "f", ERROR, DATA)
    first.keep(Position(AT.segment, 600), "f", ERROR, DATA)
    file = tmp_path / "quarantine" / "a.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    again = Quarantine(tmp_path, "a", "local")
    again.keep(AT, "f", ERROR, DATA)
    again.keep(Position(AT.segment, 600), "f", ERROR, DATA)
    whole = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
    assert [record["offset"] for record in whole] == [AT.offset, 600]


def test_full_it_stops_and_says_where(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path, "a", "local", bytes_max=1000)
    quarantine.keep(AT, "f", ERROR, DATA)
    with pytest.raises(SystemFailedError) as caught:
        quarantine.keep(Position(AT.segment, 600), "f", ERROR, DATA)
    assert f"{AT.segment}:600" in caught.value.sentence()
    assert caught.value.remedy
    assert len(records(tmp_path, "a")) == 1


def test_the_bound_counts_all_consumers(tmp_path: Path) -> None:
    Quarantine(tmp_path, "a", "local", bytes_max=1000).keep(AT, "f", ERROR, DATA)
    with pytest.raises(SystemFailedError):
        Quarantine(tmp_path, "b", "local", bytes_max=1000).keep(AT, "f", ERROR, DATA)


def test_without_a_state_folder_it_only_counts(tmp_path: Path) -> None:
    quarantine = Quarantine(None, None, "local")
    quarantine.keep(AT, "f", DefinitionError("unknown", at=AT), DATA)
    quarantine.keep(AT, "f", DefinitionError("unknown", at=AT), DATA)
    assert quarantine.count == 2
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_a_crash_has_cut_is_passed_over_wherever_it_was_cut(tmp_path: Path) -> None:
    """Whoever writes next ends it, and the entry of the cut line is kept again."""
    error = DefinitionError("no such type: ä€", at=AT)
    Quarantine(tmp_path, "a", "local").keep(AT, "f", error, DATA)
    file = quarantine_path(tmp_path, "a")
    whole = file.read_bytes()
    for cut in range(len(whole)):
        file.write_bytes(whole[:cut])
        quarantine = Quarantine(tmp_path, "a", "local")
        quarantine.keep(AT, "f", error, DATA)
        assert [each.offset for each in kept_in(file)] == [AT.offset], whole[:cut]
