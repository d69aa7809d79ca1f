"""A row that a server showed, as a change row, and what is made of that again."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.errors import UsageError
from tailer.images.served_changes import served_rows
from tailer.rebuild import Table
from tailer.rebuild.changes import token_part
from tailer.rebuild.table import Plan, plan_of
from tailer.rows.batch import COLUMNS
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.snapshot.change_row import FIRST_ROW, SnapshotRows
from tailer.snapshot.row import RowReader
from tailer.snapshot.wanted import wanted_of
from tailer.types.parts import framed
from tests.oracle.jsontext import loads

UNTIL = 1_700_000_000_000_000
SECOND = 1_700_000_020
ID = "0123456789abcdef0123456789abcdef"
NAME = token_part(5) + framed([b"\0\0\0\7"])
Values = tuple[bytes | None, ...]


def plan(*columns: tuple[str, str, str]) -> Plan:
    key = (Column("id", "partition_key", "int", 0), Column("ck", "clustering", "int", 0))
    data = tuple(Column(name, kind, type_, 0) for name, kind, type_ in columns)
    types = {"pair": (TypeField("a", "int"), TypeField("b", "text"))}
    return plan_of(Table.of(TableDefinition(ID, "shop", "orders", (*key, *data), cdc=True, types=types)))


WIDE = plan(
    ("s", "static", "text"),
    ("b", "regular", "text"),
    ("l", "regular", "list<int>"),
    ("m", "regular", "map<text, int>"),
    ("n", "regular", "int"),
    ("t", "regular", "set<int>"),
    ("u", "regular", "pair"),
)
COUNTERS = plan(("c", "regular", "counter"))


def i32(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def i64(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def collection(parts: Sequence[bytes | None]) -> bytes:
    """As protocol version 4 has them; a null among times has length -1."""
    return i32(len(parts)) + b"".join([i32(-1) if part is None else i32(len(part)) + part for part in parts])


def changes_of(plan: Plan, rows: Sequence[Values], release: str = "5.0.9") -> list[dict[str, object]]:
    made = SnapshotRows(plan, "snapshot:abc:3", UNTIL, "n1", (17, 400))
    served = RowReader(plan, wanted_of(plan, release)).rows(rows, SECOND, UNTIL)
    return [dict(zip(COLUMNS, made.row(NAME, row, at), strict=True)) for at, row in enumerate(served)]


def test_each_cell_has_its_own_time() -> None:
    table = plan(("a", "regular", "int"), ("b", "regular", "text"), ("l", "regular", "list<int>"))
    row = (
        i32(1),
        *(i32(-5), i64(100), None),
        *(b"x", i64(90), i32(60)),
        *(collection([i32(8), i32(9)]), collection([i64(100), i64(70)]), collection([None, None])),
    )
    (change,) = changes_of(table, [row])
    assert {name: value for name, value in change.items() if value is not None} == {
        "node": "n1",
        "keyspace": "shop",
        "table": "orders",
        "table_id": "01234567-89ab-cdef-0123-456789abcdef",
        "op": "snapshot",
        "partition_key": '{"id":7}',
        "clustering": '{"ck":1}',
        "is_static": False,
        "columns": change["columns"],
        "write_ts": 100,
        "cells": change["cells"],
        "token": 5,
        "segment": 17,
        "offset": 400,
        "row": FIRST_ROW,
        "event_id": "snapshot:abc:3:0",
    }
    columns, cells = loads(str(change["columns"])), loads(str(change["cells"]))
    first, second = (name for name, _ in columns["l"]["put"])
    assert columns == {"a": -5, "b": "x", "l": {"replaced": False, "put": [[first, 8], [second, 9]]}}
    expiring = {"write_ts": 90, "ttl": 60, "expires_at": SECOND + 60}
    assert cells == {"b": expiring, "l": {"elements": [[second, {"write_ts": 70}]]}}


def test_a_row_of_its_key_alone_has_the_time_of_the_floor() -> None:
    (change,) = changes_of(plan(("a", "regular", "int")), [(i32(1), None, None, None)])
    assert (change["columns"], change["write_ts"], change["cells"]) == ("{}", UNTIL, None)


def test_a_counter_is_one_shard() -> None:
    (change,) = changes_of(COUNTERS, [(i32(1), i64(-3), i64(50))])
    (shard,) = loads(str(change["columns"]))["c"]
    assert (shard["kind"], shard["clock"], shard["total"]) == ("remote", 0, -3)
    assert change["write_ts"] == 50


times = st.integers(1, 5).map(lambda at: i64(UNTIL - at))
lefts = st.none() | st.integers(1, 3).map(lambda ttl: i32(60 * ttl))
ints = st.integers(-3, 3).map(i32)
texts = st.sampled_from([b"", b"x", b'\xc3\xa9"', b"more"])


@st.composite
def cell(draw: st.DrawFn, values: st.SearchStrategy[bytes]) -> Values:
    """A value with its time and TTL."""
    return draw(st.just((None, None, None)) | st.tuples(values, times, lefts))


@st.composite
def elements(draw: st.DrawFn, names: st.SearchStrategy[bytes], values: st.SearchStrategy[bytes] | None) -> Values:
    """A set, or with values a map."""
    held = draw(st.lists(names, unique=True, max_size=3))
    if not held:
        return None, None, None
    parts = held if values is None else [part for name in held for part in (name, draw(values))]
    whole = collection(parts) if values is None else i32(len(held)) + collection(parts)[4:]
    told, ttls = ([draw(each) for _ in held] for each in (times, lefts))
    return whole, collection(told), collection(ttls)


@st.composite
def pairs(draw: st.DrawFn) -> Values:
    parts = [draw(st.none() | ints), draw(st.none() | texts)]
    if parts == [None, None]:
        return None, None, None
    told = [None if part is None else draw(times) for part in parts]
    ttls = [None if part is None else draw(lefts) for part in parts]
    return framed(parts), collection(told), collection(ttls)


@st.composite
def partitions(draw: st.DrawFn) -> list[Values]:
    static = draw(cell(texts))
    lists = elements(ints, None)
    rows = st.tuples(cell(texts), lists, elements(texts, ints), cell(ints), elements(ints, None), pairs())
    keys = draw(st.lists(ints, unique=True, max_size=3))
    whole = [(key, *static, *(value for each in draw(rows) for value in each)) for key in keys]
    return whole or [(None, *static, *[None] * 18)]


@given(partitions())
def test_what_is_made_of_it_is_the_row_again(rows: list[Values]) -> None:
    if rows[0][0] is None and rows[0][1] is None:
        # No server shows it.
        return
    served = list(RowReader(WIDE, wanted_of(WIDE, "5.0.9")).rows(rows, SECOND, UNTIL))
    found = served_rows(changes_of(WIDE, rows), WIDE)
    assert found == {NAME: {row.key: row for row in served}}


@pytest.mark.parametrize("release", ["4.0.19", "5.0.9"])
def test_so_it_is_of_counters(release: str) -> None:
    rows = [(i32(1), i64(5), i64(UNTIL - 4)), (i32(2), i64(-5), i64(UNTIL))]
    served = list(RowReader(COUNTERS, wanted_of(COUNTERS, release)).rows(rows, SECOND, UNTIL))
    assert served_rows(changes_of(COUNTERS, rows, release), COUNTERS) == {NAME: {row.key: row for row in served}}


FEW, MORE = framed([i32(1), b"x"]), framed([i32(1), b"x", b"new"])
SHAPES = {
    "pair": lambda fields: fields,
    "frozen<pair>": lambda fields: fields,
    "list<frozen<pair>>": lambda fields: collection([fields]),
    "map<int, frozen<list<frozen<pair>>>>": lambda fields: i32(1) + framed([i32(3), collection([fields])]),
}


@pytest.mark.parametrize("type_", SHAPES)
def test_a_value_with_a_field_that_the_log_has_not_shown_is_refused(type_: str) -> None:
    """ALTER TYPE ADD reached the server before the log is read that far: the value is read again behind that."""
    table = plan(("u", "regular", type_))
    reader = RowReader(table, wanted_of(table, "5.0.9"))
    few, more = ((i32(1), SHAPES[type_](fields), None, None) for fields in (FEW, MORE))
    assert [row.key for row in reader.rows([few], SECOND, UNTIL)] != []
    with pytest.raises(UsageError, match=f"does not fit the definition that the log has shown.*{re.escape(type_)}"):
        list(reader.rows([more], SECOND, UNTIL))
