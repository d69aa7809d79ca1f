"""Entries that fail: as a whole, alone, and with an error that says what, where, expected and found."""

from __future__ import annotations

import pytest

from tailer.errors import DefinitionError
from tailer.rows.explain import explain, explain_value
from tailer.rows.place import Place
from tailer.scan.mutation.scan import scan
from tailer.schema.model import Column, TypeField
from tests.unit.rows.tables import EXAMPLE, OFFSET, SEGMENT, built, prepared, table
from tests.unit.scan.mutations import FIRST, SECOND, TABLE, cell, ck, counted, mutation, update, vint

SHORT = table(
    Column("v", "regular", "smallint"), Column("u", "regular", "addr"), types={"addr": (TypeField("f", "int"),)}
)
ROW = b"\x24" + ck(b"a") + b"\x00"


def bad_value() -> bytes:
    """Two rows: the first has a null, the second three bytes for a smallint."""
    second = b"\x24" + ck(b"b") + b"\x00" + cell(0x08, counted(b"\0\0\x07"))
    return mutation(update(ROW + cell(0x0D, vint(0)), second, columns=["v"]))


def test_a_value_that_does_not_fit_takes_its_whole_entry_and_no_other() -> None:
    good = mutation(update(ROW))
    made = built(good, bad_value(), good, tables=prepared(SHORT))
    assert [fault.entry for fault in made.faults] == [1]
    assert made.batch.column("offset") == [OFFSET, OFFSET + len(good) + len(bad_value()) + 24]
    error = explain_value(made.faults[0], Place("local", SEGMENT, [0, 77, 0]))
    assert str(error).startswith(f"a value that does not fit its type at {SEGMENT}:77: found 3 bytes for smallint")


@pytest.mark.parametrize("path", [b"\0\x01", b"\xff\xff", b"\0", b"\0\0\0"], ids=["beyond", "below", "short", "long"])
def test_a_field_that_the_type_has_not(path: bytes) -> None:
    content = vint(1) + cell(0x08, counted(path), counted(b"\0\0\0\x07"))
    made = built(mutation(update(ROW + content, columns=["u"])), tables=prepared(SHORT))
    assert len(made.batch) == 0
    assert len(made.faults) == 1


def test_a_key_that_does_not_fit() -> None:
    made = built(mutation(update(ROW, key=b"\0\0\x01")), FIRST, tables=prepared(EXAMPLE))
    assert [fault.entry for fault in made.faults] == [0]
    assert len(made.batch) == 1


def sentence(payload: bytes) -> str:
    tables = prepared(EXAMPLE)
    index = scan(payload, [0], [len(payload)], tables.scan_tables)
    error = explain(index, payload, tables, Place("local", 5, [64]))
    assert isinstance(error, DefinitionError)
    assert error.remedy
    return str(error)


def test_explained() -> None:
    assert sentence(mutation(update(table=bytes(16)))).startswith(
        "no definition for table 00000000-0000-0000-0000-000000000000 at 5:64. "
    )
    assert sentence(mutation(update(columns=["é"]))).startswith('no definition for column "é" of ks.t at 5:64. ')
    assert sentence(SECOND + b"\0\0").startswith(
        "a mutation that is shorter than its entry, by the definition of ks.t at 5:64: "
        "expected all 105 bytes read, found 2 left over at byte 103. "
    )
    assert "past its entry" in sentence(SECOND[:50])
    assert "found 0x12 at byte 22" in sentence(b"\x01" + TABLE + counted(b"\0\0\0\x01") + b"\x12")
    assert "found 4 at byte" in sentence(mutation(update(b"\x02\x04\0\0")))
    assert "bounds in pairs" in sentence(mutation(update(b"\x02\x00\0\0")))
    assert "its table" in sentence(b"\x00")


def test_a_wanted_table_of_a_type_that_does_not_parse_is_an_error() -> None:
    broken = table(Column("v", "regular", "nonsense<"))
    with pytest.raises(DefinitionError):
        prepared(broken)
    assert prepared(broken, wanted=()).tables == ()
