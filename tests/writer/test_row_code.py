"""Rows by the code that is made for a model: the same bytes, and the same refusals, as by the plain encoder."""

from __future__ import annotations

import ipaddress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple
from uuid import UUID, uuid1

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.errors import UsageError
from writer_hooks import Cql, Table


class Item(msgspec.Struct):
    name: str
    price: Decimal | None = None


class Kind(NamedTuple):
    """A field's type, and values of it."""

    hint: Any
    values: st.SearchStrategy[Any]


LONG = 2**63
KINDS = [
    Kind(int, st.integers(-LONG, LONG - 1)),
    Kind(Annotated[int, Cql("tinyint")], st.integers(-128, 127)),
    Kind(Annotated[int, Cql("smallint")], st.integers(-(2**15), 2**15 - 1)),
    Kind(Annotated[int, Cql("int")], st.integers(-(2**31), 2**31 - 1)),
    Kind(Annotated[int, Cql("varint")], st.integers()),
    Kind(float, st.floats()),
    Kind(Annotated[float, Cql("float")], st.floats(width=32)),
    Kind(bool, st.booleans()),
    Kind(str, st.text() | st.text(min_size=240, max_size=280)),
    Kind(Annotated[str, Cql("ascii")], st.text(st.characters(max_codepoint=127))),
    Kind(bytes, st.binary() | st.sampled_from([bytes(255), bytes(256), bytes(65535)])),
    Kind(Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    Kind(UUID, st.uuids()),
    Kind(Annotated[UUID, Cql("timeuuid")], st.just(uuid1())),
    Kind(datetime, st.datetimes().map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000, tzinfo=UTC))),
    Kind(date, st.dates()),
    Kind(time, st.times()),
    Kind(timedelta, st.timedeltas(min_value=timedelta(days=-9999), max_value=timedelta(days=9999))),
    Kind(ipaddress.IPv6Address, st.ip_addresses()),
    Kind(list[int], st.lists(st.integers(-9, 9), max_size=60)),
    Kind(dict[str, float], st.dictionaries(st.text(max_size=3), st.floats(), max_size=4)),
    Kind(tuple[str, int], st.tuples(st.text(max_size=3), st.integers(-9, 9))),
    Kind(Item, st.builds(Item, st.text(max_size=3), st.none() | st.decimals(allow_nan=False, allow_infinity=False))),
    Kind(list[Item], st.lists(st.builds(Item, st.text(max_size=3)), max_size=3)),
    Kind(Annotated[list[float], Cql("vector<float, 2>")], st.lists(st.floats(width=32), min_size=2, max_size=2)),
]
WRONG = st.one_of(
    st.none(), st.just(msgspec.UNSET), st.just(object), st.text(max_size=3), st.integers(), st.floats(), st.binary()
)


class Row(NamedTuple):
    """A table, and a value of the Struct that declares it."""

    table: Table
    value: msgspec.Struct


@st.composite
def rows(draw: Any, wrong: bool = False) -> Row:
    """Tables of any width and key. `wrong`: a value may be one that no such column has."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=40))
    keys, clustering = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    names = [f"f{number}" for number in range(len(kinds))]
    fields: list[Any] = []
    values: dict[str, Any] = {}
    for number, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        hint, value = kind.hint, kind.values
        if number >= keys + clustering and draw(st.booleans()):
            loose = draw(st.sampled_from([None, msgspec.UnsetType, None | msgspec.UnsetType]))
            hint |= loose
            none, unset = loose is not msgspec.UnsetType, loose is not None
            value = value | (st.none() if none else st.nothing()) | (st.just(msgspec.UNSET) if unset else st.nothing())
        fields.append((name, hint))
        values[name] = draw(value)
    if wrong:
        values[draw(st.sampled_from(names))] = draw(WRONG)
    struct = msgspec.defstruct("Generated", fields, module=__name__)
    table = Table.of(struct, "ks.generated", key=names[:keys], clustering=names[keys : keys + clustering])
    return Row(table, struct(**values))


def by_code(row: Row, op: str, **options: Any) -> Any:
    return getattr(row.table, op)(row.value, **options)


def plainly(row: Row, op: str, **options: Any) -> Any:
    return getattr(row.table, op)(msgspec.structs.asdict(row.value), **options)


TIMES = st.sampled_from([0, 1, 2**32 - 1, 2**32, 1_795_258_311_984_000, LONG - 1, -1, -LONG + 1])


@settings(max_examples=300, deadline=None)
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


@settings(max_examples=300, deadline=None)
@given(rows(wrong=True), st.sampled_from(["insert", "update", "replace"]))
def test_what_does_not_fit_is_refused_alike(row: Row, op: str) -> None:
    assert _told(lambda: by_code(row, op)) == _told(lambda: plainly(row, op))


@settings(max_examples=50, deadline=None)
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
