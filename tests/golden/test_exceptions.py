"""What the recordings' README tells of as exceptions, each looked at on its own, with the values written out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import run_cli
from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.sets import CASES
from tests.oracle import expected

COMPOSITE = {"c": "0x0004000000010000016100"}
DYNAMIC = {"d": "0x806900040000000100807300016100"}


@pytest.fixture(params=CASES)
def rows(request: pytest.FixtureRequest, fresh_folder: FreshFolder) -> list[dict[str, Any]]:
    result = run_cli(["follow", fresh_folder(request.param), "--once", "--output", "json"])
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.lines]


def columns_of(table: str, rows: list[dict[str, Any]]) -> list[Any]:
    return [row["columns"] for row in rows if row["table"] == table]


def test_values_that_the_server_cannot_print(rows: list[dict[str, Any]]) -> None:
    assert columns_of("empty_boolean", rows) == [{"b": ""}]
    assert columns_of("custom_composite", rows) == [COMPOSITE, DYNAMIC]
    assert columns_of("tuple_short", rows) == [{"t": [7, None, None]}, {"t": [7, "two of three", None]}]


def test_system_tables_views_and_tables_without_cdc_give_no_rows(rows: list[dict[str, Any]]) -> None:
    assert {row["keyspace"] for row in rows} == {"cdc", "CdcMixed"}
    assert not {"mv", "plain_nocdc"} & {row["table"] for row in rows}


def test_a_table_gives_rows_only_while_its_flag_is_on(rows: list[dict[str, Any]]) -> None:
    assert columns_of("toggled", rows) == [{"v": "on"}, {"v": "on again"}]


def test_masks_change_nothing(rows: list[dict[str, Any]]) -> None:
    for columns in columns_of("masked", rows):
        assert columns == {"birth": "1984-01-02", "name": "alice"}


def test_both_lives_of_a_table_are_told_apart(rows: list[dict[str, Any]]) -> None:
    lives = [(row["table_id"], row["columns"]) for row in rows if row["table"] == "recreated"]
    assert [columns for _, columns in lives] == [{"v": "first life"}, {"w": 100}]
    assert len({identity for identity, _ in lives}) == 2


@pytest.mark.parametrize("tables", [["cdc.mv", "cdc.plain_nocdc"], ["cdc.with_plain"], ["cdc.toggled", "cdc.dropped"]])
@pytest.mark.parametrize("name", CASES)
def test_selected_tables_whatever_their_flag(
    name: str, tables: list[str], sets_root: Path, fresh_folder: FreshFolder
) -> None:
    """Row numbers stay those of the whole mutation: an event has one identity, whatever is selected."""
    folder = fresh_folder(name)
    options = [option for table in tables for option in ("--table", table)]
    result = run_cli(["follow", folder, "--once", "--output", "json", *options])
    want = expected(sets_root / name, folder, tables=tables)
    assert {f"{row.data['keyspace']}.{row.data['table']}" for row in want.rows} == set(tables)
    same_rows(want.rows, without_truncates(result.lines))
    assert result.code == 0, result.err
