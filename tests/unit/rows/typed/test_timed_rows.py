"""Rows with a TTL, with nulls, and updates: the scan notes them by the column as plain inserts, and no other row."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.log_writer import TS, Cell, Liveness, Row, Table, Update, encode_mutation, i32
from tests.helpers.logs.wire import uvint
from tests.unit.rows.typed.generated import NOW, clusterings, column_lists, keys, kind_of, mixed, tables, values
from tests.unit.rows.typed.scanned import definition_of
from tests.unit.rows.typed.test_one_row import FEWER, TABLE, read
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = [pytest.mark.slow, compiled_only]

TTL = {"ttl": 60, "expires": NOW + 60}


def payload(number: int, live: Liveness | None, *cells: Cell, table: Table = TABLE) -> bytes:
    """One row of that table, whose columns have those cells in turn."""
    names = [column.name for column in table.of_kind("regular")]
    row = Row((b"c%d" % number,), live, None, tuple(zip(names, cells, strict=False)))
    return encode_mutation((Update(table, i32(number), (row,), regular=tuple(names)),))


def null(ts: int = TS, **more: int) -> Cell:
    return Cell(ts=ts, deleted=NOW, **more)


NOTED = {
    "a row TTL": (Liveness(TS, **TTL), Cell(i32(7), TS, **TTL, like_row=2), "insert", 7, 60),
    "a null": (Liveness(TS), null(like_row=1), "insert", None, None),
    "a null in a row with a TTL": (Liveness(TS, **TTL), null(like_row=1), "insert", None, 60),
    "an update": (None, Cell(i32(7), TS), "update", 7, None),
    "an update with a TTL": (None, Cell(i32(7), TS, **TTL), "update", 7, 60),
    "an update to null": (None, null(), "update", None, None),
}


@pytest.mark.parametrize("name", NOTED)
@pytest.mark.parametrize("slack", [0, 200])
def test_noted_by_the_column(name: str, slack: int) -> None:
    live, cell, op, value, ttl = NOTED[name]
    plain = payload(0, Liveness(TS), Cell(i32(1), TS, like_row=1))
    found = read(
        [plain, *(payload(number, live, cell) for number in range(40)), plain], definition_of(TABLE), slack=slack
    )
    assert found is not None
    assert len(found[0].rows) == 0
    rows = found[1].batch.batch.to_pylist()
    assert [row["_op"] for row in rows] == ["insert", *[op] * 40, "insert"]
    assert [row["v"] for row in rows] == [1, *[value] * 40, 1]
    assert [row["_ttl"] for row in rows] == [None, *[ttl] * 40, None]
    assert [row["_expires_at"] for row in rows] == [None, *[ttl and NOW + 60] * 40, None]
    assert {row["_write_ts"] for row in rows} == {TS}
    assert {tuple(row["_set"]) for row in rows} == {("v",)}
    assert {row["_cells"] for row in rows} == {None}


LEFT = {
    "a cell without the TTL of its row": (Liveness(TS, **TTL), Cell(i32(7), TS, like_row=1)),
    "a cell with a TTL of its own": (Liveness(TS), Cell(i32(7), TS, **TTL)),
    "a cell with a time of its own": (Liveness(TS), Cell(i32(7), TS + 1)),
    "a null with a time of its own": (Liveness(TS), null(TS + 1)),
}


@pytest.mark.parametrize("name", LEFT)
def test_left_to_the_index(name: str) -> None:
    plain = payload(0, Liveness(TS), Cell(i32(1), TS, like_row=1))
    found = read([plain, *(payload(number, *LEFT[name]) for number in range(40)), plain], definition_of(TABLE))
    assert found is not None
    assert set(range(1, 41)) <= set(found[0].updates["entry"].tolist())


def test_a_length_that_says_null() -> None:
    """A length of 2^64 - 2 would be the mark of a deleted column, were it taken for one."""
    texts = Table(TABLE.id, TABLE.keyspace, TABLE.name, tuple(
        column if column.kind != "regular" else type(column)(column.name, "regular", "text") for column in TABLE.columns
    ))  # fmt: skip
    good = payload(1, None, Cell(b"abc", TS), table=texts)
    bad = good.replace(b"\3abc", uvint(2**64 - 2))
    assert bad != good
    found = read([good] * 20 + [bad] + [good] * 20, definition_of(texts))
    assert found is not None
    assert found[0].stopped.entry == 20
    assert len(found[1].batch) == 20


@st.composite
def timed(draw: st.DrawFn, table: Table, names: Sequence[str]) -> bytes:
    """One row of these columns; mostly such as are noted."""
    kinds = {column.name: kind_of(column.type) for column in table.columns}
    key, clustering = draw(keys(table)), draw(clusterings(table))
    live = draw(st.sampled_from([Liveness(TS), Liveness(TS, **TTL), None]))
    like_row = 0 if live is None else 1 + (live.ttl is not None)
    own: dict[str, int] = TTL if live is None and draw(st.booleans()) else {}
    cells: list[tuple[str, Cell]] = []
    for name in names:
        choice, value = draw(st.integers(0, 19)), draw(values(kinds[name], whole=True))
        if choice == 0:
            cells.append((name, Cell(value, TS + draw(st.integers(0, 1)))))
        elif choice == 1:
            cells.append((name, Cell(value, TS, 61, NOW + 61)))
        elif choice < 6:
            cells.append((name, null(like_row=min(like_row, 1))))
        else:
            times = {} if live is None or live.ttl is None else TTL
            cells.append((name, Cell(value, TS, **(own or times), like_row=like_row)))
    row = Row(clustering, live, None, tuple(cells))
    return encode_mutation((Update(table, key, (row,), regular=tuple(names)),))


@st.composite
def logs(draw: st.DrawFn) -> tuple[Table, list[bytes]]:
    table = draw(tables())
    lists = draw(column_lists(table))
    most = draw(st.lists(timed(table, lists[0]), min_size=1, max_size=8))
    some = draw(st.lists(timed(table, lists[1]), max_size=3))
    return table, draw(mixed(most, [*most, *some] * 2))


@settings(max_examples=FEWER)
@given(logs(), st.sampled_from([0, 200]))
def test_of_any_table(log: tuple[Table, list[bytes]], slack: int) -> None:
    table, payloads = log
    read(payloads, definition_of(table), slack=slack)


@settings(max_examples=FEWER)
@given(logs(), st.integers(0, 10**6))
def test_of_damaged_rows(log: tuple[Table, list[bytes]], where: int) -> None:
    """A byte of one is another: both ways stop there, or read the same."""
    table, payloads = log
    at, damaged = where % len(payloads), bytearray(payloads[where % len(payloads)])
    damaged[where % len(damaged)] ^= 1 << where % 8
    read([*payloads[:at], bytes(damaged), *payloads[at + 1 :]], definition_of(table))
