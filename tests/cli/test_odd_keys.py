"""Keys of addresses and times that print as others do (`blobAsInet`, `blobAsTime` write them): rows stay apart."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import run_cli
from tests.helpers.odd_keys import KEYS, SHOWN, all_rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return all_rows(tmp_path)


def follow(folder: Path, *more: str | Path) -> list[dict[str, Any]]:
    ran = run_cli(["follow", folder, "--once", "--stopped", "--consumer", "c", "--output", "json", *more])
    assert ran.code == 0, ran.err
    return list(map(json.loads, ran.lines))


def test_change_rows(folder: Path) -> None:
    found = follow(folder)
    assert [(row["partition_key"]["k"], row["clustering"]["c"]) for row in found] == KEYS
    assert [row["columns"] for row in found] == [{**SHOWN, "v": number} for number in range(len(KEYS))]


def test_row_images_and_one_of_them(folder: Path, tmp_path: Path) -> None:
    images = follow(folder, "--image", "after", "--state", tmp_path / "state")
    expected = [{"k": k, "c": c, **SHOWN, "v": number} for number, (k, c) in enumerate(KEYS)]
    assert [image["after"] for image in images] == expected
    words = [
        "images",
        folder,
        "--state",
        tmp_path / "state",
        "--consumer",
        "c",
        "--table",
        "ks.odd",
        "--output",
        "json",
    ]
    for row in expected:
        ran = run_cli([*words, "--key", json.dumps({"k": row["k"], "c": row["c"]})])
        assert ran.code == 0, ran.err
        assert json.loads(json.loads(ran.lines[0])["shown"]) == row


def test_typed_rows(folder: Path) -> None:
    found = follow(folder, "--typed", "ks.odd")
    assert [(row["k"], row["c"]) for row in found] == KEYS


def test_a_kept_table(folder: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.db"
    to = ("--to", f"sqlite:{kept}", "--mode", "table", "--into", "odd", "--image", "after", "--consumer", "c")
    ran = run_cli(["follow", folder, "--once", "--stopped", "--state", tmp_path / "state", *to])
    assert ran.code == 0, ran.err
    with closing(sqlite3.connect(kept)) as database:
        assert sorted(v for (v,) in database.execute("SELECT v FROM odd")) == list(range(len(KEYS)))


@pytest.mark.parametrize(
    "key",
    [
        {"k": "cdc-tail-bytes:01020304", "c": "00:00:00.000000000"},
        {"k": "cdc-tail-bytes:00000000000000000000FFFF01020304", "c": "00:00:00.000000000"},
        {"k": "1.2.3.4", "c": "cdc-tail-bytes:0000000000000000"},
        {"k": "1.2.3.4", "c": "cdc-tail-bytes:00"},
        {"k": "1.2.3.4", "c": "cdc-tail-bytes:no"},
    ],
)
def test_an_escape_that_no_key_has_is_refused(key: dict[str, str], folder: Path, tmp_path: Path) -> None:
    follow(folder, "--image", "after", "--state", tmp_path / "state")
    words = ["images", folder, "--state", tmp_path / "state", "--consumer", "c", "--table", "ks.odd"]
    ran = run_cli([*words, "--key", json.dumps(key)])
    assert (ran.code, "cdc-tail-bytes" in ran.err) == (3, True), ran.err
