"""Rows read back by the code that is made for a model: the same values as by the plain reader, and as were written."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.scan.record.record import Change, Definition, decode_record
from tailer.schema.record_definitions import definition_of
from tests.helpers.amount import examples
from tests.writer.generated import Row, rows
from writer_hooks import Column, Cql, Table
from writer_hooks.misfit import MisfitError
from writer_hooks.read_back import RowReader, RowValues, row_reader
from writer_hooks.read_code import whole_reader


def both(table: Table, change: Any, model: Any = None) -> tuple[list[RowValues], list[RowValues]]:
    """The rows of a change by code, and plainly."""
    definition, record = decode_record(table.definition), decode_record(change.encode(None, 5_000_000))
    assert isinstance(definition, Definition)
    assert isinstance(record, Change)
    model = model or table.declared_by
    coded = list(row_reader(definition, model).rows(record))
    return coded, list(RowReader(definition_of(definition), model).rows(record))


@settings(max_examples=examples(150), deadline=None)
@given(rows(), st.sampled_from(["insert", "update", "replace", "delete"]))
def test_the_same_as_by_the_plain_reader(row: Row, op: str) -> None:
    coded, plain = both(row.table, getattr(row.table, op)(row.value))
    # Told as texts: NaN is no NaN's equal.
    assert repr(coded) == repr(plain)
    assert [list(each.columns) for each in coded] == [list(each.columns) for each in plain]


@settings(max_examples=examples(60), deadline=None)
@given(rows())
def test_whole_rows_are_read_by_code(row: Row) -> None:
    read = whole_reader(row.table.model, type(row.value))
    assert read is not None
    record = decode_record(row.table.insert(row.value).encode(None, 5))
    assert isinstance(record, Change)
    unset = msgspec.UNSET in [getattr(row.value, name) for name in row.value.__struct_fields__]
    assert (read(record.rows[0]) is None) == unset


class Order(msgspec.Struct):
    number: int
    line: Annotated[int, Cql("int")]
    article: str
    price: Decimal | None = None


class Today(msgspec.Struct):
    """Of a later version: one field is gone, others came."""

    line: int
    number: int
    price: Decimal | None
    note: str = "none"
    more: int | msgspec.UnsetType = 3


class Needy(msgspec.Struct):
    """Of a later version, with a field that rows of before have no value for."""

    number: int
    line: int
    note: str


ORDERS = Table.of(Order, "shop.orders", key=["number"], clustering=["line"])


def test_a_row_by_hand() -> None:
    coded, plain = both(ORDERS, ORDERS.insert(Order(1, 2, "tea")))
    value = Order(1, 2, "tea")
    assert coded == [RowValues("insert", {"number": 1, "line": 2}, {"article": "tea", "price": None}, None, value)]
    assert coded == plain


def test_rows_of_an_earlier_declaration() -> None:
    change = ORDERS.insert(Order(1, 2, "tea", Decimal("0.5")))
    coded, plain = both(ORDERS, change, Today)
    assert coded == plain
    assert coded[0].value == Today(2, 1, Decimal("0.5"), "none", msgspec.UNSET)
    assert whole_reader(ORDERS.model, Today) is not None
    assert whole_reader(ORDERS.model, Needy) is None
    with pytest.raises(MisfitError, match="no value") as got:
        both(ORDERS, change, Needy)
    assert got.value.field == "note"


def test_rows_that_are_not_whole_are_left_to_the_plain_reader() -> None:
    for change in (
        ORDERS.insert({"number": 1, "line": 2, "article": "x"}),
        ORDERS.insert({"number": 1, "line": 2, "price": None, "article": "x"}),
        ORDERS.update(Order(1, 2, "x")),
        ORDERS.delete_partition({"number": 1}),
        ORDERS.delete_range({"number": 1}, start=[2]),
        ORDERS.insert(Order(1, 2, "x"), ttl=5),
        ORDERS.insert(Order(1, 2, "x")) & ORDERS.delete({"number": 1, "line": 3}),
    ):
        coded, plain = both(ORDERS, change)
        assert coded == plain


WIDE = Table(
    "shop.wide",
    [
        Column("number", "bigint", "partition_key"),
        Column("line", "int", "clustering"),
        Column("owner", "text", "static"),
        Column("tags", "set<text>"),
    ],
)


class Wide(msgspec.Struct):
    number: int
    line: int
    owner: str | None = None
    tags: set[str] | None = None


@pytest.mark.parametrize("tags", [{"a"}, None])
def test_static_and_non_frozen_columns_are_left_to_the_plain_reader(tags: Any) -> None:
    assert whole_reader(WIDE.model, Wide) is None
    coded, plain = both(WIDE, WIDE.insert({"number": 1, "line": 2, "owner": "ann", "tags": tags}), Wide)
    assert coded == plain
    assert len(coded) == 2
