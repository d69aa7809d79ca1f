"""Definitions from elsewhere: the segment with the CREATE statements is gone, a file or a journal stands in for it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import Result, run_cli
from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.sets import CASES, FRAMED, PLAIN, key_options
from tests.oracle import Row, expected
from tests.oracle.segments import segments

SETS = [name for name in (*PLAIN, *FRAMED) if name != "50-torn"]
"""`50-torn` was dumped with the definitions of its end: its lines do not show what is asked here."""


def follow(folder: Path, set_dir: Path, *more: str) -> Result:
    options, env = key_options(set_dir)
    return run_cli(["follow", folder, "--once", "--output", "json", *options, *more], env)


def without_the_creates(folder: Path) -> Path:
    first = segments(folder)[0].id
    for file in folder.glob(f"CommitLog-*-{first}*"):
        file.unlink()
    return folder


def with_schema_file(set_dir: Path) -> list[str]:
    return ["--schema", str(set_dir / "schema.cql")]


@pytest.mark.parametrize("name", SETS)
def test_a_schema_file_stops_at_the_first_table_that_it_does_not_name(
    name: str, sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder, set_dir = without_the_creates(fresh_folder(name)), sets_root / name
    want = expected(set_dir, folder, base=True)
    assert "cdc.dropped" in want.undefined[0].reason
    result = follow(folder, set_dir, *with_schema_file(set_dir))
    same_rows(want.rows, without_truncates(result.lines))
    assert result.code == 3
    assert f"{want.undefined[0].segment}:{want.undefined[0].offset}" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("name", SETS)
def test_quarantine_keeps_exactly_the_entries_of_tables_that_the_file_does_not_name(
    name: str, sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder, set_dir = without_the_creates(fresh_folder(name)), sets_root / name
    want = expected(set_dir, folder, base=True, quarantine=True)
    # cdc.dropped twice, once in a batch with two known tables, and the first life of cdc.recreated
    assert len(want.undefined) == 4
    result = follow(folder, set_dir, "--on-error", "quarantine", *with_schema_file(set_dir))
    same_rows(want.rows, without_truncates(result.lines))
    assert result.code == 0, result.err
    kept = list(quarantined(folder))
    assert [(each["segment"], each["offset"]) for each in kept] == [entry[:2] for entry in want.undefined]
    assert [len(bytes.fromhex(each["bytes"])) for each in kept] == [entry.size + 12 for entry in want.undefined]
    if name in PLAIN:
        assert [bytes.fromhex(each["bytes"]) for each in kept] == [
            raw_entry(folder, *entry[:3]) for entry in want.undefined
        ]
    assert "4" in result.err
    assert "quarantine" in result.err


@pytest.mark.parametrize("name", ["50-cases", "40-cases", "50-zstd", "50-aes"])
def test_without_any_definitions_both_remedies_are_named(name: str, sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder, set_dir = without_the_creates(fresh_folder(name)), sets_root / name
    want = expected(set_dir, folder)
    result = follow(folder, set_dir)
    assert want.rows == []
    assert (result.code, without_truncates(result.lines)) == (3, [])
    assert "--schema" in result.err
    assert "--server" in result.err
    assert f"{want.undefined[0].segment}:{want.undefined[0].offset}" in result.err


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("reader", [[], ["--consumer", "second"]], ids=["no-consumer", "another-consumer"])
def test_the_journal_of_an_earlier_run_gives_all_rows_again(
    name: str, reader: list[str], sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder, set_dir = fresh_folder(name), sets_root / name
    whole = expected(set_dir, folder)
    assert follow(folder, set_dir, "--consumer", "first").code == 0
    first = segments(folder)[0].id
    later = [row for row in whole.rows if row.data["segment"] != first]
    without_the_creates(folder)
    result = follow(folder, set_dir, *reader)
    assert result.code == 0, result.err
    same_rows(later, without_truncates(result.lines))


@pytest.mark.parametrize("name", ["50-cases", "50-snappy"])
def test_a_journal_elsewhere_serves_as_well(
    name: str, sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    folder, set_dir = fresh_folder(name), sets_root / name
    whole = expected(set_dir, folder)
    state = ["--state", str(tmp_path / "state")]
    (tmp_path / "state").mkdir()
    assert follow(folder, set_dir, "--consumer", "first", *state).code == 0
    first = segments(folder)[0].id
    shutil.rmtree(folder.with_name(f"{folder.name}.cdc_tail"), ignore_errors=True)
    result = follow(without_the_creates(folder), set_dir, *state)
    assert result.code == 0, result.err
    same_rows([row for row in whole.rows if row.data["segment"] != first], without_truncates(result.lines))


ALTERED: list[tuple[Any, ...]] = [
    # clustering, columns: written when the column was still `ck`, and b, c, s were columns
    (None, {"s": 1}),
    ({"clus": 1}, {"a": 1, "b": "before", "c": [1]}),
    ({"clus": 2}, {"a": 2, "d": 22}),
    (None, {"f": "st"}),
    ({"clus": 2}, {"e": {"replaced": False, "put": {"x": 1}}}),
    ({"clus": 3}, {"a": 3}),
    ({"clus": 4}, {"b": "b is back"}),
    ({"clus": 5}, {"a": 5}),
]

ALTERED_TYPE: list[dict[str, Any]] = [
    # before the type's first ALTER in the log: the file's fields a, bb, c; the dropped column is a tuple
    {
        "f": {"a": 1, "bb": "x", "c": None},
        "gone": [None, "column to be dropped", None],
        "l": [{"a": 1, "bb": None, "c": None}],
        "u": {"replaced": True, "put": {"a": 1, "bb": "x"}},
    },
    # the log itself says a, b, c
    {"f": {"a": 2, "b": "y", "c": 3}, "u": {"replaced": True, "put": {"a": 2, "b": "y", "c": 3}}},
    {"u": {"replaced": False, "put": {"c": 9}}},
    # and then a, bb, c
    {"f": {"a": 3, "bb": "new", "c": None}, "u": {"replaced": False, "put": {"bb": "renamed"}}},
    {"u": {"replaced": False, "put": {"a": 8}}},
]


@pytest.mark.parametrize("name", SETS)
def test_rows_before_an_alter_show_the_names_of_the_file(name: str, sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder, set_dir = without_the_creates(fresh_folder(name)), sets_root / name
    result = follow(folder, set_dir, "--on-error", "quarantine", *with_schema_file(set_dir))
    rows = [json.loads(line) for line in without_truncates(result.lines)]
    altered = [(row["clustering"], without_list_keys(row["columns"])) for row in rows if row["table"] == "altered"]
    assert altered == ALTERED
    if name in CASES:  # the shorter workload has no ALTER TYPE
        assert [without_list_keys(row["columns"]) for row in rows if row["table"] == "altered_type"] == ALTERED_TYPE


@pytest.mark.parametrize("name", SETS)
def test_what_the_file_changes_is_the_names_alone(name: str, sets_root: Path, fresh_folder: FreshFolder) -> None:
    """Of the rows that both have, only those of altered tables differ from what a reader of the whole log gets."""
    folder, set_dir = fresh_folder(name), sets_root / name
    whole = {row.data["event_id"]: row for row in expected(set_dir, folder).rows}
    given = expected(set_dir, without_the_creates(folder), base=True, quarantine=True).rows
    differ = {row.data["table"] for row in given if row.text != whole[row.data["event_id"]].text}
    assert differ == {"altered", "altered_type"} & {row.data["table"] for row in given}
    assert {row.data["table"] for row in missing(given, whole)} == {"dropped", "recreated", "with_plain"}


def missing(given: list[Row], whole: dict[str, Row]) -> list[Row]:
    first = min(row.data["segment"] for row in given)
    there = {row.data["event_id"] for row in given}
    return [row for event, row in whole.items() if event not in there and row.data["segment"] >= first]


def without_list_keys(columns: dict[str, Any]) -> dict[str, Any]:
    """Lists by their elements alone: their keys are times of the recording."""
    made = dict(columns)
    for name in ("c", "l"):
        if name in made:
            made[name] = [element for _, element in made[name]["put"]]
    return made


def quarantined(folder: Path) -> Iterator[dict[str, Any]]:
    """The records that the state folder keeps beside the log folder."""
    for file in sorted((folder.with_name(f"{folder.name}.cdc_tail") / "quarantine").iterdir()):
        for line in file.read_bytes().splitlines():
            yield json.loads(line)


def raw_entry(folder: Path, segment: int, offset: int, size: int) -> bytes:
    (log,) = folder.glob(f"CommitLog-*-{segment}.log")
    return log.read_bytes()[offset : offset + size + 12]
