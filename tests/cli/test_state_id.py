"""Offsets that users name, with the id of the state that they are of: taken there, refused elsewhere, exit 6."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tailer.state.consumers import consumer_path, read_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import SegmentEndRecord
from tailer.state.log_folder import state_folder
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table

TABLE = simple_table("ks", "t")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = LogFolder(tmp_path / "cdc_raw")
    payloads = [create_payload(TABLE), insert_payload(TABLE, 1, "a", 1)]
    made.put(segment_of(7, [payloads]), completed(segment_of(7, [payloads])))
    assert follow(made.path, "--consumer", "c").code == 0
    return made.path


def follow(folder: Path, *options: str) -> Result:
    return run_cli(["follow", folder, "--once", "--output", "json", *options])


def offset(folder: Path, **changed: object) -> str:
    state = state_folder(folder)
    held = read_consumer(consumer_path(state, "c"), "c").nodes["local"].offset
    assert held.id == FolderJournal(state, writable=False).id != ""
    nodes = {"local": {**held.as_json(), "o": 0, "done": False, **changed}}
    return json.dumps({"v": 2, "t": 0, "nodes": nodes})


def test_of_this_state_it_is_taken(folder: Path) -> None:
    assert len(follow(folder, "--from", offset(folder)).lines) == 1
    assert run_cli(["consumers", folder, "seek", "c", offset(folder)]).code == 0
    assert len(follow(folder, "--consumer", "c").lines) == 1
    assert run_cli(["schema", folder, "--at", offset(folder)]).code == 0


def test_without_an_id_it_is_taken_as_it_was(folder: Path) -> None:
    earlier = json.loads(offset(folder))
    del earlier["nodes"]["local"]["id"]
    given = json.dumps({**earlier, "v": 1})
    assert len(follow(folder, "--from", given).lines) == 1
    assert run_cli(["consumers", folder, "seek", "c", given]).code == 0


@pytest.mark.parametrize("option", ["--from", "--until"])
def test_of_another_state_it_is_refused(folder: Path, option: str) -> None:
    given = offset(folder, id="0123456789abcdef")
    for ran in (
        follow(folder, option, given),
        follow(folder, option, given, "--consumer", "new"),
        run_cli(["consumers", folder, "seek", "c", given]),
        run_cli(["schema", folder, "--at", given]),
    ):
        assert (ran.code, ran.out) == (6, "")
        assert "of another state folder" in ran.err
        assert "found one of state 0123456789abcdef" in ran.err
    assert not consumer_path(state_folder(folder), "new").exists() or option == "--until"


def test_a_consumer_whose_state_was_made_anew_is_refused(folder: Path) -> None:
    for name in ("journal", "cleaned.json"):
        (state_folder(folder) / name).unlink(missing_ok=True)
    ran = follow(folder, "--consumer", "c")
    assert (ran.code, ran.out) == (6, "")


def test_a_state_that_was_restored_refuses_what_was_made_after_the_backup(folder: Path, tmp_path: Path) -> None:
    """It has the same id, and a journal that ends before what those positions count."""
    state = state_folder(folder)
    shutil.copytree(state, tmp_path / "backup")
    journal = FolderJournal(state)
    journal.append([SegmentEndRecord(segment=9, published=90, end=100, finished="completed")])
    later = offset(folder, j=journal.count)
    assert follow(folder, "--from", later, "--once").code == 0
    shutil.rmtree(state)
    shutil.copytree(tmp_path / "backup", state)
    assert follow(folder, "--consumer", "c").code == 0
    for ran in (follow(folder, "--from", later), run_cli(["consumers", folder, "seek", "c", later])):
        assert (ran.code, ran.out) == (6, "")
        assert f"expected {journal.count} records, found {journal.count - 1}" in ran.err
