"""Keys that UTF-8 refuses in every database: rows stay apart (`tests.helpers.odd_texts`)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.odd_texts import BYTES, KEYS, READ, folder_with, insert
from tests.unit.sinks.database.conftest import made
from tests.unit.sinks.database.followed import follow
from tests.unit.sinks.database.targets import Target

VALUES = (b"0", b"1", b"2", b"3")


def log(parent: Path, first: int) -> Path:
    """A row with each key from that one on; the values are plain."""
    keys, values = BYTES[first:], VALUES[first:]
    inserts = [insert(value, key) for key, value in zip(keys, values, strict=True)]
    return folder_with(parent, *inserts, insert(b"again", keys[-3], 1_800_000_000_000_000))


def first_of(target: Target) -> int:
    """PostgreSQL has no U+0000 in a text."""
    return int(target.kind == "postgresql")


def test_change_rows(any_target: Target, tmp_path: Path) -> None:
    check_change_rows(any_target, tmp_path)


def test_data_files(tmp_path: Path) -> None:
    check_change_rows(made("files", tmp_path), tmp_path)


def check_change_rows(target: Target, parent: Path) -> None:
    folder = log(parent, 0)
    ran = follow(folder, target)
    assert ran.code == 0, ran.err
    found = target.rows("changes", ["partition_key", "clustering"])
    keys = [*KEYS, KEYS[-3]]
    assert [(json.loads(key), json.loads(clustering)) for key, clustering in found] == [
        ({"k": key}, {"c": key}) for key in keys
    ]


def test_a_kept_table(target: Target, tmp_path: Path) -> None:
    first = first_of(target)
    folder = log(tmp_path, first)
    ran = follow(folder, target, "--mode", "table", "--image", "after", into="kept")
    assert ran.code == 0, ran.err
    values = dict(zip(KEYS[first:], map(bytes.decode, VALUES[first:]), strict=True)) | {KEYS[first:][-3]: "again"}
    assert sorted(target.ask("SELECT k, c, v FROM kept")) == sorted((key, key, v) for key, v in values.items())


def test_values_that_are_no_utf8(any_target: Target, tmp_path: Path) -> None:
    ran = follow(folder_with(tmp_path, *map(insert, BYTES)), any_target)
    assert ran.code == 0, ran.err
    found = [json.loads(columns)["v"] for (columns,) in any_target.rows("changes", ["columns"])]
    assert found == list(READ)


def test_postgresql_has_no_zero_in_a_text(postgresql: Target, tmp_path: Path) -> None:
    """A kept table is stopped by a key `00`, and by a value `C0 80`, and loses neither; no rows are merged."""
    for number, update in enumerate((insert(b"1", BYTES[0]), insert(BYTES[1], b"k"))):
        folder = folder_with(tmp_path / str(number), update, insert(b"2", b"other"))
        ran = follow(folder, postgresql, "--mode", "table", "--image", "after", into=f"kept{number}")
        assert ran.code == 7, ran.err
        assert "the images of ks.odd wait" in ran.err
        assert "cannot contain NUL" in ran.err
