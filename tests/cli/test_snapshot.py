"""`cdc-tail snapshot` and `--from snapshot` where they cannot be: what is missing is named, and nothing is lost.

What they do is shown on real servers (tests/server/test_snapshot.py).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailer.image_state.file import ImageFile
from tailer.image_state.folder import lock_folder
from tailer.image_state.identity import begin, read_identity
from tests.helpers.cli import run_cli
from tests.unit.spark.test_nodes_away import Log

NOBODY = "127.0.0.1:1"


@pytest.fixture
def log(tmp_path: Path) -> Log:
    made = Log(tmp_path / "n1" / "cdc_raw")
    made.write("a", "b")
    return made


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["snapshot"], "whose snapshot?"),
        (["snapshot", "--consumer", "c"], "a snapshot is read from the servers of its nodes"),
        (["follow", "--from", "snapshot"], "Give the run a name"),
        (["follow", "--from", "snapshot", "--consumer", "c"], "a snapshot is read from the servers of its nodes"),
        (["follow", "--from", "snapshot", "--consumer", "c", "--typed", "ks.t"], "are of the generic form"),
        (["follow", "--from", "snapshot", "--consumer", "c", "--with-primary", "--server", NOBODY], "no node's log"),
        (["follow", "--from", "snapshot", "--image", "after", "--consumer", "c"], "--server HOST"),
        (["follow", "--from", "snapshot", "--consumer", "c", "--older", "reread"], "--older reread is for images"),
        (["follow", "--from", "snapshots", "--consumer", "c"], "latest, snapshot, a time"),
        (["snapshot", "--consumer", "c", "--older", "keep"], "expected void or reread"),
        (["snapshot", "--consumer", "c", "--rows-per-second", "0"], "1 or more"),
        (["snapshot", "--consumer", "c", "--consistency", "SOME"], "ONE or LOCAL_ONE"),
    ],
)
def test_what_is_missing_is_named(log: Log, words: list[str], told: str) -> None:
    result = run_cli([words[0], str(log.path), *words[1:]])
    assert result.code == 2, result.err
    assert told in result.err
    assert result.lines == []


def test_one_server_for_several_nodes_is_refused(log: Log, tmp_path: Path) -> None:
    other = Log(tmp_path / "n2" / "cdc_raw")
    other.write("a")
    places = f"n1={log.path},n2={other.path}"
    result = run_cli(["snapshot", places, "--consumer", "c", "--server", NOBODY])
    assert result.code == 2, result.err
    assert "one server for several nodes does not tell which of them hold what" in result.err


def test_each_node_has_its_own_server(log: Log, tmp_path: Path) -> None:
    other = Log(tmp_path / "n2" / "cdc_raw")
    other.write("a")
    places = f"n1={log.path},n2={other.path}"
    result = run_cli(["snapshot", places, "--consumer", "c", "--server", f"n1={NOBODY}"])
    assert result.code == 2, result.err
    assert "a value for node n2 too" in result.err


def test_a_state_of_another_consumer_is_no_place_for_it(log: Log, tmp_path: Path) -> None:
    state = tmp_path / "images"
    with ImageFile(state) as file:
        file.write(lambda transaction: begin(transaction, "other", "", 1, str(state)))
        assert file.read(lambda transaction: read_identity(transaction, str(state))) is not None
    words = ["--consumer", "c", "--server", NOBODY, "--image-state", str(state)]
    result = run_cli(["snapshot", str(log.path), *words])
    assert result.code == 6, result.err
    assert "the state of images is another one's" in result.err


def test_nobody_takes_what_is_asked_for(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state is held by something that is no `follow`."""
    from tailer.cli import snapshot_asked

    monkeypatch.setattr(snapshot_asked, "TAKEN_SECONDS", 0.2)
    state = tmp_path / "images"
    with ImageFile(state) as file:
        file.write(lambda transaction: begin(transaction, "c", "", 1, str(state)))
    held = lock_folder(state)
    try:
        words = ["--consumer", "c", "--server", NOBODY, "--image-state", str(state)]
        result = run_cli(["snapshot", str(log.path), *words])
    finally:
        os.close(held)
    assert result.code == 6, result.err
    assert "does not take what it is asked" in result.err
    assert not (state / "snapshot.asked").exists()
