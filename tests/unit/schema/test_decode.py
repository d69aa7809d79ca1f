"""Raw rows of `system_schema` → deltas, on bytes made by hand."""

from __future__ import annotations

import pytest

from tailer.errors import DefinitionError
from tailer.schema.decode import RawCell, RawRange, RawRow, deltas
from tailer.schema.rows import RangeDeletion, SchemaDelta


def test_each_kind_of_cell() -> None:
    row = RawRow(
        "tables",
        b"ks",
        [b"t"],
        liveness=5,
        row_deletion=4,
        cells=[
            RawCell("id", None, bytes(range(16)), 5),
            RawCell("cdc", None, b"\x01", 5),
            RawCell("flags", None, b"\0\0\0\x02\0\0\0\x08compound\0\0\0\x07counter", 5),
            RawCell("comment", None, b"\xff not text, and not looked at", 5),
        ],
    )
    assert deltas([row]) == [
        SchemaDelta(
            "tables",
            "ks",
            ("t",),
            {
                "id": (5, "000102030405060708090a0b0c0d0e0f"),
                "cdc": (5, True),
                "flags": (5, ["compound", "counter"]),
            },
            5,
            4,
        )
    ]
    cells = [RawCell("position", None, b"\xff\xff\xff\xff", 1), RawCell("column_name_bytes", None, b"\xff\x00", 1)]
    assert deltas([RawRow("columns", b"ks", [b"t", b"c"], cells=[*cells, RawCell("type", None, None, 2)])]) == [
        SchemaDelta(
            "columns", "ks", ("t", "c"), {"position": (1, -1), "column_name_bytes": (1, "ff00"), "type": (2, None)}
        )
    ]
    time = RawCell("dropped_time", None, (1795257919446).to_bytes(8, "big"), 1)
    dropped = deltas([RawRow("dropped_columns", b"ks", [b"t", b"c"], cells=[time])])
    assert dropped[0].cells == {"dropped_time": (1, 1795257919446000)}


def test_deletions() -> None:
    assert deltas([RawRow("tables", b"ks", partition_deletion=9)]) == [
        SchemaDelta("tables", "ks", partition_deletion=9)
    ]
    covered = RawRow("columns", b"ks", range=RawRange([b"t", b"a"], False, [b"t"], True, 9))
    assert deltas([covered]) == [SchemaDelta("columns", "ks", range=RangeDeletion(("t", "a"), False, ("t",), True, 9))]


@pytest.mark.parametrize("keyspace", [b"system", b"system_schema"])
def test_the_server_s_own_keyspaces_and_other_tables_are_passed_over(keyspace: bytes) -> None:
    rows = [RawRow("tables", keyspace, partition_deletion=9), RawRow("functions", b"ks", [b"f", b"\xff"], 1)]
    assert deltas(rows) == []


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("tables", "id", b"short"),
        ("tables", "cdc", b""),
        ("columns", "position", b"\0\0\0"),
        ("columns", "type", b"\xff"),
        ("dropped_columns", "dropped_time", b"\0"),
        ("types", "field_names", b"\0\0\0\x02\0\0\0\x01a"),
        ("types", "field_names", b"\0\0\0\x01\xff\xff\xff\xff"),
        ("types", "field_names", b"\x7f\xff\xff\xff\0\0\0\x01a"),
        ("types", "field_names", b"\0\0\0\x00tail"),
    ],
)
def test_bytes_that_do_not_fit_are_a_definition_error(table: str, column: str, value: bytes) -> None:
    clustering = [b"t", b"c"] if "columns" in table else [b"t"]
    with pytest.raises(DefinitionError, match=f"system_schema.{table} does not fit its layout in column {column}"):
        deltas([RawRow(table, b"ks", clustering, cells=[RawCell(column, None, value, 1)])])


def test_keys_that_do_not_fit_are_a_definition_error() -> None:
    with pytest.raises(DefinitionError, match="keyspace_name"):
        deltas([RawRow("tables", b"\xff", [b"t"])])
    with pytest.raises(DefinitionError, match="expected 2 values, found 1"):
        deltas([RawRow("columns", b"ks", [b"t"])])
