"""Definitions made ready: flat tables for the scan."""

from __future__ import annotations

import msgspec
import pytest

from tailer.rows import prepared as ready
from tailer.scan.tables import LENGTH_PREFIX, ScanColumn
from tailer.schema.model import Column
from tests.unit.rows.tables import EXAMPLE, prepared, printed, table, told
from tests.unit.scan.mutations import TABLE, cell, ck, counted, mutation, update


def test_lengths_and_shapes() -> None:
    types = {
        "boolean": 1, "int": 4, "bigint": 8, "uuid": 16, "empty": 0, "vector<float, 3>": 12,
        "smallint": -1, "date": -1, "text": -1, "counter": -1, "frozen<map<int, int>>": -1, "tuple<int, int>": -1,
    }  # fmt: skip
    columns = [Column(f"c{number}", "regular", text) for number, text in enumerate(types)]
    (scan,) = prepared(table(*columns)).scan_tables.tables
    assert {name.decode(): column for name, column in scan.columns.items()} == {
        f"c{number}": ScanColumn(number, length, False) for number, length in enumerate(types.values())
    }


def test_the_cells_of_non_frozen_columns_carry_lengths_whatever_their_elements() -> None:
    columns = [
        Column(f"c{number}", "regular", text) for number, text in enumerate(["list<int>", "set<int>", "map<int, int>"])
    ]
    (scan,) = prepared(table(*columns)).scan_tables.tables
    assert list(scan.columns.values()) == [ScanColumn(number, LENGTH_PREFIX, True) for number in range(3)]


def test_clustering_is_in_the_order_of_positions() -> None:
    definition = table(Column("third", "clustering", "bigint", 2), Column("second", "clustering", "uuid", 1))
    (prepared_table,) = prepared(definition).tables
    assert prepared_table.scan.clustering == (LENGTH_PREFIX, 16, 8)
    assert [column.name for column in prepared_table.clustering] == ["ck", "second", "third"]


def test_a_column_that_was_dropped_and_added_again_has_its_new_type() -> None:
    definition = table(Column("v", "regular", "text"), Column("v", "regular", "int", dropped=True))
    row = b"\x24" + ck(b"a") + b"\x00" + cell(0x08, counted(b"new"))
    (line,) = printed(mutation(update(row, columns=["v"])), definition=definition)
    assert told(line, "columns") == 'columns={"v":"new"}'


def test_a_dropped_column_is_delivered_with_the_type_it_had() -> None:
    definition = table(Column("v", "regular", "int", dropped=True))
    row = b"\x24" + ck(b"a") + b"\x00" + cell(0x08, b"\0\0\0\x07")
    (line,) = printed(mutation(update(row, columns=["v"])), definition=definition)
    assert told(line, "columns") == 'columns={"v":7}'


def test_only_wanted_and_followed_tables_are_kept() -> None:
    assert prepared(EXAMPLE).scan_tables.kept_ids == (TABLE,)
    assert prepared(EXAMPLE, wanted=()).scan_tables.kept_ids == ()
    assert prepared(EXAMPLE, wanted=(), followed=[EXAMPLE.id]).scan_tables.kept_ids == (TABLE,)
    assert prepared(unread=[EXAMPLE.id]).scan_tables.unread == {TABLE}


def test_equal_definitions_share_their_tables() -> None:
    first = prepared(EXAMPLE).tables[0]
    assert prepared(msgspec.convert(msgspec.to_builtins(EXAMPLE), type(EXAMPLE))).tables[0] is first
    unwanted = prepared(EXAMPLE, wanted=()).tables[0]
    assert not unwanted.delivered
    altered = prepared(table(Column("v", "regular", "bigint"))).tables[0]
    assert altered.scan.columns == {b"v": ScanColumn(0, 8, False)}
    assert prepared(EXAMPLE, wanted=()).tables[0] is unwanted
    again = prepared(EXAMPLE).tables[0]
    assert again is not altered
    assert again.scan == first.scan


def test_tables_beyond_the_bound_are_prepared_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "SHARED_MAX", 2)
    first = prepared(EXAMPLE).tables[0]
    for number in range(2):
        prepared(msgspec.structs.replace(EXAMPLE, id=bytes([number] * 16).hex()))
    assert len(ready._shared) <= 2
    again = prepared(EXAMPLE).tables[0]
    assert again is not first
    assert again.scan == first.scan
