"""A definition that cannot be decoded: the rows of its table are no rows that nobody asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.cli import run_cli
from tests.helpers.logs.native import INSERT, PARTITION_KEY, REGULAR, NativeTable, NativeWriter, cell, row
from tests.native.logs import ORDERS, folder_of, number, put

BAD = NativeTable(
    bytes(range(32, 48)), "shop", "bad", (("id", PARTITION_KEY, "int", False), ("v", REGULAR, "list<", False))
)


@pytest.mark.parametrize(
    ("tables", "aside"),
    [(["shop.*"], 1), (["shop.bad", "--table-may-come"], 1), (["shop.orders"], 0), (["shop.o*"], 0)],
)
def test_its_rows_go_to_quarantine_where_the_table_is_wanted(tmp_path: Path, tables: list[str], aside: int) -> None:
    writer = NativeWriter(7)
    change = BAD.change([row(INSERT, [number(2)], None, [cell(1, b"x")])])
    writer.section([ORDERS.definition, BAD.definition, put(1, "a"), change])
    folder = folder_of(tmp_path, writer)
    words = ["--once", "--output", "json", "--consumer", "c", "--on-error", "quarantine", "--table", *tables]
    result = run_cli(["follow", folder, *words])
    assert (result.code, len(result.lines)) == (0, 0 if "shop.bad" in tables else 1), result.err
    assert "a definition at 7:" in result.err
    kept = [json.loads(line) for line in run_cli(["quarantine", folder, "list", "--output", "json"]).lines]
    assert ["no definition for table" in each["reason"] for each in kept] == [True] * aside


def test_so_do_those_that_come_behind_a_restart(tmp_path: Path) -> None:
    writer = NativeWriter(7)
    change = BAD.change([row(INSERT, [number(2)], None, [cell(1, b"x")])])
    writer.section([ORDERS.definition, BAD.definition, put(1, "a"), change])
    folder = folder_of(tmp_path, writer, live=True)
    words = ["follow", folder, "--once", "--output", "json", "--consumer", "c", "--on-error", "quarantine"]
    assert len(run_cli([*words, "--table", "shop.*"]).lines) == 1
    writer.section([put(3, "c"), change])
    folder_of(tmp_path, writer)
    assert len(run_cli([*words, "--table", "shop.*"]).lines) == 1
    assert len(run_cli(["quarantine", folder, "list", "--output", "json"]).lines) == 2
