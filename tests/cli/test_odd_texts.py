"""Texts that Cassandra accepts and UTF-8 refuses through the commands: four rows stay four (`helpers.odd_texts`)."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.helpers.cli import Result, run_cli
from tests.helpers.odd_texts import BYTES, KEYS, READ, delete_behind, delete_row, folder_with, four_rows, insert

FOLLOW = ("--once", "--stopped", "--output", "json")


def follow(folder: Path, *more: str | Path) -> Result:
    return run_cli(["follow", folder, *FOLLOW, *more])


def rows(folder: Path, *more: str | Path) -> list[dict[str, Any]]:
    ran = follow(folder, *more)
    assert ran.code == 0, ran.err
    return list(map(json.loads, ran.lines))


def whole(key: str, value: str) -> dict[str, Any]:
    """The data columns of a row as images and typed rows have them."""
    return {"v": value, "l": [value], "s": [key], "m": {key: value}, "f": {key: [value]}}


WHOLE = [whole(key, value) for key, value in zip(KEYS, READ, strict=True)]


def test_change_rows(tmp_path: Path) -> None:
    found = rows(four_rows(tmp_path))
    assert [(row["partition_key"], row["clustering"]) for row in found] == [({"k": key}, {"c": key}) for key in KEYS]
    for row, key, value in zip(found, KEYS, READ, strict=True):
        columns = row["columns"]
        assert (columns["v"], columns["s"]["put"], columns["m"]["put"]) == (value, [key], {key: value})
        assert (columns["l"]["put"][0][1], columns["f"]) == (value, {key: [value]})


def test_bounds_of_ranges_and_deleted_rows(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, delete_behind(BYTES[1], BYTES[2], 5), delete_row(BYTES[2], 6))
    by_range, by_row = rows(folder)
    assert (by_range["partition_key"], by_range["op"]) == ({"k": KEYS[1]}, "delete_range")
    assert (by_range["range"]["start"], by_range["range"]["end"]) == ({"c": KEYS[2]}, None)
    assert (by_row["partition_key"], by_row["clustering"], by_row["op"]) == (
        {"k": KEYS[2]},
        {"c": KEYS[2]},
        "delete_row",
    )


def test_typed_rows(tmp_path: Path) -> None:
    found = rows(four_rows(tmp_path), "--typed", "ks.odd")
    assert [{name: row[name] for name in ("k", "c", *WHOLE[0])} for row in found] == [
        {"k": key, "c": key, **data} for key, data in zip(KEYS, WHOLE, strict=True)
    ]


def test_row_images(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, *map(insert, BYTES), delete_row(BYTES[1], 1_800_000_000_000_000))
    images = rows(folder, "--image", "both", "--state", tmp_path / "state", "--consumer", "c")
    assert len(images) == 5
    *inserted, deleted = images
    assert [each["partition_key"]["k"] for each in images] == [*KEYS, KEYS[1]]
    expected = [{"k": key, "c": key, **data} for key, data in zip(KEYS, WHOLE, strict=True)]
    assert [each["after"] for each in inserted] == expected
    assert (deleted["before"], deleted["after"]) == (expected[1], None)


def test_row_images_of_one_partition(tmp_path: Path) -> None:
    """Rows are ordered by the bytes of their keys, as in the server."""
    inserts = [insert(b"1", BYTES[1], clustering=text) for text in BYTES]
    folder = folder_with(tmp_path, *inserts, delete_behind(BYTES[1], BYTES[1], 1_800_000_000_000_000))
    images = rows(folder, "--image", "both", "--state", tmp_path / "state", "--consumer", "c")
    assert {each["partition_key"]["k"] for each in images} == {KEYS[1]}
    assert [(each["op"], each["clustering"]) for each in images if each["clustering"]] == [
        *(("insert", {"c": key}) for key in KEYS),
        *(("delete", {"c": key}) for key in KEYS[2:]),
    ]


def test_typed_row_images(tmp_path: Path) -> None:
    images = rows(four_rows(tmp_path), "--image", "both", "--state", tmp_path, "--consumer", "c", "--typed", "ks.odd")
    names = ("k", "c", *WHOLE[0])
    for image, key, data in zip(images, KEYS, WHOLE, strict=True):
        assert {name: image["after"][name] for name in names} == {"k": key, "c": key, **data}


def test_a_row_is_asked_for_by_its_key(tmp_path: Path) -> None:
    """The escape stands for the bytes again."""
    rows(four_rows(tmp_path), "--image", "both", "--state", tmp_path / "state", "--consumer", "c")
    words = ["images", tmp_path / "cdc_raw", "--state", tmp_path / "state", "--consumer", "c", "--table", "ks.odd"]
    for key, data in zip(KEYS, WHOLE, strict=True):
        ran = run_cli([*words, "--output", "json", "--key", json.dumps({"k": key, "c": key})])
        assert ran.code == 0, ran.err
        assert json.loads(json.loads(ran.lines[0])["shown"]) == {"k": key, "c": key, **data}


def test_an_escape_that_no_key_has_is_refused(tmp_path: Path) -> None:
    rows(four_rows(tmp_path), "--image", "both", "--state", tmp_path / "state", "--consumer", "c")
    words = ["images", tmp_path / "cdc_raw", "--state", tmp_path / "state", "--consumer", "c", "--table", "ks.odd"]
    ran = run_cli([*words, "--key", json.dumps({"k": "cdc-tail-bytes:61", "c": "a"})])
    assert (ran.code, "cdc-tail-bytes:61" in ran.err) == (3, True), ran.err


def test_a_kept_table(tmp_path: Path) -> None:
    kept = tmp_path / "kept.db"
    to = ("--to", f"sqlite:{kept}", "--mode", "table", "--into", "odd", "--image", "after", "--consumer", "c")
    folder = folder_with(tmp_path, *map(insert, BYTES), insert(b"x", BYTES[1], 1_800_000_000_000_000))
    ran = run_cli(["follow", folder, "--once", "--stopped", "--state", tmp_path / "state", *to])
    assert ran.code == 0, ran.err
    with closing(sqlite3.connect(kept)) as database:
        found = sorted(database.execute("SELECT k, c, v FROM odd").fetchall())
    values = dict(zip(KEYS, READ, strict=True)) | {KEYS[1]: "x"}
    assert found == sorted((key, key, value) for key, value in values.items())


def test_what_was_replaced_is_said_once_for_each_column(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, *map(insert, BYTES), insert(BYTES[2], b"a"))
    for typed in ((), ("--typed", "ks.odd")):
        ran = follow(folder, *typed)
        said = [line for line in ran.err.splitlines() if "U+FFFD" in line]
        assert len(said) == 4, ran.err
        for column in ("v", "l", "m", "f"):
            assert any(f'2 values of column "{column}" of ks.odd' in line for line in said), ran.err
    assert "U+FFFD" not in follow(folder_with(tmp_path / "other", *map(insert, BYTES[:2]))).err


def test_with_odd_keys_quarantine_entries_are_put_aside(tmp_path: Path) -> None:
    folder = four_rows(tmp_path)
    for typed in ((), ("--typed", "ks.odd")):
        state = tmp_path / f"state{len(typed)}"
        words = ("--odd-keys", "quarantine", "--consumer", "c", "--state", state, *typed)
        found = rows(folder, *words)
        assert [row["k"] if typed else row["partition_key"]["k"] for row in found] == [KEYS[0], KEYS[3]]
        kept = run_cli(["quarantine", folder, "--state", state, "--consumer", "c", "--output", "json"])
        assert len(kept.lines) == 2, kept.out
        replayed = run_cli(["quarantine", folder, "replay", "--state", state, "--consumer", "c", "--output", "json"])
        assert replayed.code == 0, replayed.err
        assert [KEYS[1] in line or KEYS[2] in line for line in replayed.lines] == [True, True]
        # Of the two rows one has a text that is no character, in each of its columns but the set.
        said = [line for line in replayed.err.splitlines() if "U+FFFD" in line]
        assert len(said) == 4, replayed.err
        assert all(any(f'1 values of column "{name}" of ks.odd' in line for line in said) for name in "vlmf")
