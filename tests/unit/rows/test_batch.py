"""Batches of change rows: lists, JSON lines and Arrow say the same."""

from __future__ import annotations

import json

import pyarrow

from tailer.rows.batch import COLUMNS, ChangeBatch, arrow_schema
from tests.unit.rows.tables import EXAMPLE, built, prepared
from tests.unit.scan.mutations import FIRST, SECOND

BATCH = built(FIRST, SECOND, tables=prepared(EXAMPLE), node='n"é').batch


def test_columns_are_those_of_the_design_in_order() -> None:
    assert " ".join(COLUMNS) == (
        "node keyspace table table_id op partition_key clustering is_static columns range write_ts ttl expires_at "
        "cells token segment offset row event_id txn attrs"
    )
    assert list(json.loads(BATCH.json_lines().splitlines()[0])) == list(COLUMNS)


def test_json_lines_nest_what_arrow_has_as_text() -> None:
    nested = {"partition_key", "clustering", "columns", "range", "cells", "attrs"}
    arrow = BATCH.to_arrow().to_pylist()
    lines = [json.loads(line) for line in BATCH.json_lines().splitlines()]
    assert len(lines) == len(arrow) == len(BATCH) == 5
    for line, row in zip(lines, arrow, strict=True):
        parsed = {name: json.loads(value) if name in nested and value else value for name, value in row.items()}
        assert parsed == line
    assert lines[0]["node"] == 'n"é'


def test_arrow_types() -> None:
    schema = arrow_schema()
    assert schema.names == list(COLUMNS)
    assert schema.field("ttl").type == pyarrow.int32()
    assert {schema.field(name).type for name in ("write_ts", "expires_at", "token", "segment", "offset", "row")} == {
        pyarrow.int64()
    }
    assert schema.field("is_static").type == pyarrow.bool_()


def test_slices() -> None:
    assert BATCH.slice(0, 2).json_lines() + BATCH.slice(2).json_lines() == BATCH.json_lines()
    assert len(BATCH.slice(4, 9)) == 1
    assert list(BATCH.slice(1, 2).rows()) == list(BATCH.rows())[1:2]


def test_a_batch_of_no_rows() -> None:
    for empty in (ChangeBatch.of([]), BATCH.slice(0, 0)):
        assert len(empty) == 0
        assert empty.json_lines() == b""
        assert empty.kinds() == {}
        assert empty.to_arrow().num_rows == 0
        assert empty.to_arrow().schema == arrow_schema()
