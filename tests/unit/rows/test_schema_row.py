"""Rows that tell of definitions: their numbers, which no consumer's knowledge of other tables decides."""

from __future__ import annotations

from itertools import count
from zlib import crc32

from tailer.rows.place import Place
from tailer.rows.schema_row import schema_batch
from tailer.schema.model import Column, TableDefinition
from tailer.schema.selection import Selection
from tailer.snapshot.change_row import FIRST_ROW as FIRST_SNAPSHOT_ROW

AT = Place("n1", 7, [40])


def table(id: str) -> TableDefinition:
    return TableDefinition(id, "k", f"t{id}", (Column("id", "partition_key", "int"),), cdc=True)


def numbers(*ids: str) -> dict[str, int]:
    batch = schema_batch({id: table(id) for id in ids}, {}, Selection(), AT)
    rows = batch.to_arrow().select(["table_id", "row", "event_id"]).to_pylist()
    assert [row["event_id"] for row in rows] == [f"n1:7:40:{row['row']}" for row in rows]
    assert [row["row"] for row in rows] == sorted(row["row"] for row in rows)
    return {row["table_id"].replace("-", ""): row["row"] for row in rows}


def test_a_table_has_its_number_whatever_other_tables_are_known() -> None:
    some, other = f"{1:032x}", f"{2:032x}"
    both = numbers(some, other)
    assert both == {id: 1_000_000 + crc32(id.encode()) % 1_000_000 for id in (some, other)}
    assert numbers(some)[some] == both[some]
    assert numbers(other)[other] == both[other]


def test_tables_whose_numbers_would_be_the_same_have_two() -> None:
    met: dict[int, str] = {}
    for number in count(1):
        id = f"{number:032x}"
        first = met.setdefault(crc32(id.encode()) % 1_000_000, id)
        if first != id:
            break
    found = numbers(id, first)
    assert found[id] == found[first] + 1
    assert found == numbers(first, id)


def test_numbers_are_below_those_of_snapshot_rows() -> None:
    found = numbers(*(f"{number:032x}" for number in range(1000)))
    assert len(set(found.values())) == 1000
    assert all(1_000_000 <= each < FIRST_SNAPSHOT_ROW for each in found.values())
