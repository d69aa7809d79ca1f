"""States with images, and the targets of their consumers, as earlier versions left them: each row is there once."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.helpers.cli import run_cli
from tests.helpers.data_files import lines_of
from tests.install.keep_targets import COMMANDS, LOG, begin

KEPT = Path(__file__).with_name("kept_targets")


@pytest.fixture(params=sorted(path.name for path in KEPT.iterdir()))
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a version left, with one row more in the log."""
    with tarfile.open(KEPT / request.param) as tar:
        tar.extractall(tmp_path, filter="data")
    (tmp_path / request.param).touch()
    begin(tmp_path).grow(4)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(file: str, question: str) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        return sorted(str(value) for (value,) in database.execute(question))


UNREADABLE = "c1742153.tar.xz"
"""A version between two releases, whose state of images says version 1 and has another shape (A12)."""


def run(*names: str) -> None:
    for name in names:
        # A second run finds nothing new.
        for _ in range(2):
            ran = run_cli(COMMANDS[name])
            assert ran.code == 0, (name, ran.err)


def test_rows_in_a_database(old: Path) -> None:
    run("rows")
    keys = asked("rows.db", "SELECT partition_key FROM changes WHERE op = 'insert'")
    assert [json.loads(key) for key in keys] == [{"pk": number} for number in (1, 2, 3, 4)]


def is_refused(old: Path, name: str) -> bool:
    """Of the version whose state cannot be read: one sentence, and nothing is changed."""
    if not (old / UNREADABLE).exists():
        return False
    before = (old / LOG).with_name("cdc_raw.cdc_tail").joinpath("images", name, "data.mdb").read_bytes()
    ran = run_cli(COMMANDS[name])
    assert ran.code == 6, ran.err
    assert "a table of the state of images cannot be read (" in ran.err
    assert ran.err.rstrip().endswith(
        "Restore it together with the consumer, or begin anew: another consumer and folder."
    )
    assert (old / LOG).with_name("cdc_raw.cdc_tail").joinpath("images", name, "data.mdb").read_bytes() == before
    return True


def test_images_in_a_database(old: Path) -> None:
    if is_refused(old, "images"):
        return
    run("images")
    # Rows were not known whole by an earlier version, which called these upserts.
    images = asked("images.db", "SELECT after FROM changes WHERE op IN ('insert', 'upsert', 'update')")
    assert sorted(json.loads(image)["v"] for image in images) == [1, 2, 3, 4]


def test_a_kept_table(old: Path) -> None:
    if is_refused(old, "table"):
        return
    run("table")
    assert asked("t.db", "SELECT v FROM t") == ["1", "2", "3", "4"]


def test_data_files_and_their_shipper(old: Path) -> None:
    run("files", "ship")
    # What was shipped may be gone from `out`.
    told = lines_of(old / "lake" / "local")
    assert [row["columns"]["v"] for row in told if row["op"] == "insert"] == [1, 2, 3, 4]


def test_a_delta_table(old: Path) -> None:
    run("delta")
    keys = DeltaTable("lake_table").to_pyarrow_table(columns=["op", "partition_key"]).to_pylist()
    told = [json.loads(row["partition_key"])["pk"] for row in keys if row["op"] == "insert"]
    assert sorted(told) == [1, 2, 3, 4]


def test_nothing_of_it_is_a_problem(old: Path) -> None:
    assert json.loads(run_cli(["status", LOG, "--output", "json"]).out)["problems"] == []
