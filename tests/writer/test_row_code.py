"""Rows by the code that is made for a model: the same bytes, and the same refusals, as by the plain encoder."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.errors import UsageError
from tests.helpers.amount import examples
from tests.writer.generated import LONG, Row, rows
from writer_hooks import Cql, Table


def by_code(row: Row, op: str, **options: Any) -> Any:
    return getattr(row.table, op)(row.value, **options)


def plainly(row: Row, op: str, **options: Any) -> Any:
    return getattr(row.table, op)(msgspec.structs.asdict(row.value), **options)


TIMES = st.sampled_from([0, 1, 2**32 - 1, 2**32, 1_795_258_311_984_000, LONG - 1, -1, -LONG + 1])


@settings(max_examples=examples(300), deadline=None)
@given(rows(), TIMES, st.sampled_from(["insert", "update"]), st.none() | st.integers(0, 2**40))
def test_the_same_record_as_by_the_plain_encoder(row: Row, write_ts: int, op: str, txn: int | None) -> None:
    made = by_code(row, op, write_ts=write_ts, attrs={"a": 1})
    plain = plainly(row, op, write_ts=write_ts, attrs={"a": 1})
    assert isinstance(made.rows[0], msgspec.Raw)
    assert isinstance(plain.rows[0], list)
    assert made.encode(txn, write_ts) == plain.encode(txn, write_ts)


def _told(make: Any) -> bytes | str:
    """The record, or what was refused."""
    try:
        record: bytes = make().encode(None, 5)
    except UsageError as error:
        return str(error)
    return record


@settings(max_examples=examples(300), deadline=None)
@given(rows(wrong=True), st.sampled_from(["insert", "update", "replace"]))
def test_what_does_not_fit_is_refused_alike(row: Row, op: str) -> None:
    assert _told(lambda: by_code(row, op)) == _told(lambda: plainly(row, op))


@settings(max_examples=examples(90), deadline=None)
@given(rows(), st.sampled_from(["insert", "update", "replace"]), st.none() | st.integers(1, 99))
def test_the_same_with_a_ttl_and_put_together(row: Row, op: str, ttl: int | None) -> None:
    made = by_code(row, op, ttl=ttl) & row.table.delete(row.value)
    plain = plainly(row, op, ttl=ttl) & row.table.delete(msgspec.structs.asdict(row.value))
    assert made.encode(None, 5_000_000) == plain.encode(None, 5_000_000)


class Small(msgspec.Struct):
    number: int
    line: Annotated[int, Cql("int")]
    text: str
    note: str | None = None
    more: int | msgspec.UnsetType = msgspec.UNSET


SMALL = Table.of(Small, "ks.small", key=["number"], clustering=["line"])


def test_a_row_by_hand() -> None:
    head = bytes.fromhex("99 00 91 c408 0000000000000001 91 c404 00000002 c2 c0c0c0")
    text = bytes.fromhex("96 02 c401 78 c0c0c0c0")
    none = bytes.fromhex("96 03 c0 c0c0c0c0")
    more = bytes.fromhex("96 04 c408 0000000000000005 c0c0c0c0")

    def made(value: Small) -> bytes:
        (row,) = SMALL.insert(value).rows
        return bytes(row)  # type: ignore[arg-type]

    assert made(Small(1, 2, "x")) == head + b"\x92" + text + none + b"\xc0"
    assert made(Small(1, 2, "x", None, 5)) == head + b"\x93" + text + none + more + b"\xc0"


class Wide(msgspec.Struct):
    number: int
    text: str


@pytest.mark.parametrize("columns", [1, 15, 16, 127, 128, 129, 300])
def test_any_number_of_columns(columns: int) -> None:
    struct = msgspec.defstruct("Many", [("k", int), *((f"c{number}", int) for number in range(columns))])
    row = Row(Table.of(struct, "ks.many", key=["k"]), struct(*range(columns + 1)))
    assert by_code(row, "insert").encode(None, 5) == plainly(row, "insert").encode(None, 5)
    assert isinstance(by_code(row, "insert").rows[0], msgspec.Raw)


def test_a_name_that_is_a_word_of_the_code_is_no_matter() -> None:
    names = ["op", "value", "get", "join", "count", "v0", "encode_v0", "same_0", "BIN", "UNSET", "HEADS"]
    struct = msgspec.defstruct("Words", [(name, str | None if name != "op" else str) for name in names])
    row = Row(Table.of(struct, "ks.words", key=["op"]), struct(*names))
    made = by_code(row, "insert")
    assert isinstance(made.rows[0], msgspec.Raw)
    assert made.encode(None, 5) == plainly(row, "insert").encode(None, 5)


def test_a_struct_of_another_table_is_encoded_by_name() -> None:
    class Other(msgspec.Struct):
        text: str
        line: int
        number: int

    made = SMALL.insert(Other("x", 2, 1))
    assert made.encode(None, 5) == SMALL.insert({"text": "x", "line": 2, "number": 1}).encode(None, 5)


@pytest.mark.parametrize("length", [0, 255, 256, 65535, 65536, 100_000])
def test_long_values(length: int) -> None:
    wide = Table.of(Wide, "ks.wide", key=["number"])
    row = Row(wide, Wide(1, "x" * length))
    assert by_code(row, "insert").encode(None, 5) == plainly(row, "insert").encode(None, 5)
