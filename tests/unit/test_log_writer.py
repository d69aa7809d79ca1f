"""The tests' own log writer against the worked example of the format page, section 11, byte by byte."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    Bound,
    Cell,
    Column,
    Complex,
    Deletion,
    Liveness,
    LogFolder,
    Marker,
    Row,
    Table,
    Update,
    completed,
    create_table,
    encode_mutation,
    i32,
    insert,
    insert_payload,
    live,
    segment_of,
)
from tests.helpers.logs.model import fixed_length
from tests.helpers.logs.mutation import column_order, encode_clustering, encode_subset

T, NOW = 1_700_000_000_000_000, 1_700_000_000
EXAMPLE = Table(
    UUID("11111111-2222-11ee-8888-0123456789ab"),
    "ks",
    "t",
    (
        Column("pk", "partition_key", "int", 0),
        Column("ck", "clustering", "text", 0),
        Column("v", "regular", "int"),
        Column("m", "regular", "map<text, int>"),
        Column("s", "static", "text"),
    ),
)
FIRST = (
    "000000070000018bcfe5680100027b7d9362229a00000057cd7c58770000002f8a95e2450111111111222211ee88880123456789ab040000000110"
    "fce9d96a43c0000000010176012400016100080000002a01450140cb"
)
SECOND = (
    "01" "11111111222211ee88880123456789ab" "0400000001" "18" "fce9d96a43bfff" "ef535700" "8e10" "010173" "020176016d"
    "a001" "0001026869" "02" "6c" "000161" "01008e10" "1a00000007" "0000" "01" "1a016b0400000009" "00" "000162" "02"
    "050100" "020700010001630100" "020600010001650100" "01"
)  # fmt: skip


def test_the_first_example_with_header_marker_and_entry() -> None:
    writer = segment_of(1_700_000_000_001, [[insert_payload(EXAMPLE, 1, "a", 42)]])
    assert writer.data.hex() == FIRST
    assert live(writer) == "87"
    assert [(entry.start, entry.end) for entry in writer.entries] == [(28, 87)]


def test_the_second_example() -> None:
    """Static row, a row with TTL that overwrites a map, a cell tombstone with column subset, a range tombstone."""
    gone = Deletion(T, NOW)
    overwritten = Complex((Cell(i32(9), path=b"k", like_row=2),), Deletion(T - 1, NOW))
    first = Row((b"a",), Liveness(T, 3600, NOW + 3600), None, (("v", Cell(i32(7), like_row=2)), ("m", overwritten)))
    second = Row((b"b",), cells=(("v", Cell(ts=T, deleted=NOW)),))
    start, end = Marker(Bound.EXCL_START, (b"c",), (gone,)), Marker(Bound.INCL_END, (b"e",), (gone,))
    update = Update(EXAMPLE, i32(1), (first, second, start, end), static=Row(cells=(("s", Cell(b"hi", T)),)))
    assert encode_mutation((update,)).hex() == SECOND


def test_clustering_blocks_hold_32_values() -> None:
    columns = [Column(f"c{n}", "clustering", "text", n) for n in range(35)]
    values: list[bytes | None] = [b"x"] * 35
    values[1], values[33] = None, b""
    assert encode_clustering(values, columns) == b"\x08" + b"\x01x" * 31 + b"\x04" + b"\x01x" * 2
    assert encode_clustering([b"\0\0\0\1"], [Column("c", "clustering", "int", 0)]) == b"\0\0\0\0\1"


def test_subsets_are_a_bitmap_below_64_columns_and_a_list_from_there_on() -> None:
    assert encode_subset([True, False, True, False]) == b"\x0a"
    few = [number in (3, 70) for number in range(100)]
    assert encode_subset(few) == bytes([98, 3, 70])
    most = [number not in (3, 70) for number in range(100)]
    assert encode_subset(most) == bytes([2, 3, 70])


def test_columns_sort_simple_first_and_beyond_ascii_before_ascii() -> None:
    names = {"b": "int", "a": "set<int>", "é": "text", "c": "frozen<set<int>>"}
    columns = [Column(name, "regular", cql_type) for name, cql_type in names.items()]
    assert [column.name for column in sorted(columns, key=column_order)] == ["é", "b", "c", "a"]


def test_lengths_of_fixed_types() -> None:
    assert [fixed_length(name) for name in ("int", "uuid", "empty", "vector<float, 3>")] == [4, 16, 0, 12]
    assert [fixed_length(name) for name in ("date", "text", "frozen<list<int>>", "vector<text, 3>")] == [None] * 4


def test_a_folder_with_its_create_table_is_enough_to_read_it(tmp_path: Path) -> None:
    mutations = [create_table(EXAMPLE, T), insert(EXAMPLE, 1, "a", 42), insert(EXAMPLE, 2, "b", 43)]
    writer = segment_of(1_700_000_000_001, [[encode_mutation(mutation)] for mutation in mutations])
    LogFolder(tmp_path / "cdc_raw").put(writer, completed(writer))
    result = run_cli(["follow", tmp_path / "cdc_raw", "--once", "--output", "json"])
    assert result.code == 0, result.err
    assert [line.partition('"columns":')[2][:9] for line in result.lines] == ['{"v":42},', '{"v":43},']
