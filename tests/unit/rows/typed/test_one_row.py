"""Entries of one row that the scan notes by the column: the same rows as with an index, and no other is noted so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.rows.place import Place
from tailer.rows.prepared import prepare
from tailer.rows.typed.batch import TypedBuilt
from tailer.rows.typed.form import form_of
from tailer.scan.index import Index, Status
from tailer.scan.mutation.scan import scan
from tailer.schema.model import TableDefinition
from tailer.schema.typed import OnSchemaChange, TypedOptions, typed_table
from tailer.segments.group import Group
from tests.helpers.log_writer import (
    TS,
    Cell,
    Deletion,
    Liveness,
    Row,
    Table,
    Update,
    encode_mutation,
    i32,
    insert,
    insert_payload,
    simple_table,
)
from tests.unit.rows.typed.generated import clusterings, column_lists, keys, kind_of, mixed, tables, updates, values
from tests.unit.rows.typed.scanned import definition_of

reading = pytest.importorskip("tests.unit.rows.typed.reading", exc_type=ImportError)
twins = pytest.importorskip("tests.unit.scan.compiled.twins")
pytestmark = twins.compiled_only

FEWER = max(settings.default.max_examples // 4, 1)
TABLE, OTHER = simple_table("ks", "t"), simple_table("ks", "u", 2)


def read(
    payloads: Sequence[bytes],
    *wanted: TableDefinition,
    form_table: TableDefinition | None = None,
    on_change: OnSchemaChange = "fail",
    also: Sequence[TableDefinition] = (),
    slack: int = 0,
) -> tuple[Index, TypedBuilt] | None:
    """Both ways, held together."""
    starts, data = [], b""
    for payload in payloads:
        starts.append(len(data) + 8)
        data += bytes(8) + payload + bytes(4)
    known = {definition.id: definition for definition in (*wanted, *also)}
    prepared = prepare(known, [definition.id for definition in wanted])
    data += bytes(slack)
    places, sizes = np.array(starts, np.int64), np.array([len(payload) for payload in payloads], np.int64)
    group = Group(data, places, sizes, places - 8)
    form = form_of(typed_table(form_table or wanted[0], [], TypedOptions(on_change=on_change)))
    index = scan(data, starts, sizes, prepared.scan_tables)
    place = Place("local", 1_700_000_000_001, group.offsets)
    return reading.same_one_row(index, group, prepared, False, place, form)


def plain(number: int, table: Table = TABLE) -> bytes:
    return insert_payload(table, number, f"c{number}", 7 * number)


def delete(number: int) -> bytes:
    """Of a row."""
    row = Row((b"c",), None, Deletion(TS, 1_700_000_000), ())
    return encode_mutation((Update(TABLE, i32(number), (row,)),))


@pytest.mark.parametrize("slack", [0, 200])
def test_plain_inserts_leave_no_lines(slack: int) -> None:
    found = read([plain(number) for number in range(100)], definition_of(TABLE), slack=slack)
    assert found is not None
    assert len(found[0].rows) == len(found[0].updates) == len(found[0].cells) == len(found[0].values) == 0
    assert found[1].batch.batch.column("pk").to_pylist() == list(range(100))
    assert len(found[1].batch) == 100


def test_others_keep_their_places() -> None:
    payloads = [delete(number) if number % 7 == 3 else plain(number) for number in range(100)]
    found = read(payloads, definition_of(TABLE))
    assert found is not None
    assert 0 < len(found[0].rows) < 100
    assert found[1].batch.batch.column("pk").to_pylist() == list(range(100))


def test_of_two_tables_one_is_noted_by_the_column() -> None:
    payloads = [plain(number, OTHER if number % 3 else TABLE) for number in range(60)]
    both = definition_of(TABLE), definition_of(OTHER)
    for wanted, also in ((both, ()), (both[:1], both[1:]), (both[1:], both[:1])):
        found = read(payloads, *wanted, also=also)
        assert found is not None
        assert len(found[1].batch) == {2: 60, 1: 20 if wanted == both[:1] else 40}[len(wanted)]


def test_a_value_that_is_none_of_its_type_is_read_again() -> None:
    bad = encode_mutation((Update(TABLE, b"\1\2\3", (insert(TABLE, 1, "c", 1)[0].unfiltereds[0],)),))
    assert read([plain(0)] * 20 + [bad] + [plain(1)] * 20, definition_of(TABLE)) is None


def test_where_an_entry_does_not_decode_both_stop() -> None:
    for length in range(1, len(plain(5))):
        payloads = [*map(plain, range(5)), plain(5)[:length], *map(plain, range(6, 20))]
        found = read(payloads, definition_of(TABLE))
        assert found is not None
        assert found[0].stopped.entry == 5
        assert found[0].stopped.status != Status.OK


@pytest.mark.parametrize("on_change", ["fail", "ignore"])
def test_a_column_that_the_form_has_not(on_change: Literal["fail", "ignore"]) -> None:
    added = tuple(replace(column, name="w") for column in TABLE.columns if column.name == "v")
    newer = replace(TABLE, columns=(*TABLE.columns, *added))
    held = (("v", Cell(i32(1), TS, like_row=1)), ("w", Cell(i32(2), TS, like_row=1)))
    wider = encode_mutation((Update(newer, i32(50), (Row((b"a",), Liveness(TS), None, held),)),))
    found = read(
        [plain(0), plain(1), wider, *[plain(3)] * 20],
        definition_of(newer),
        form_table=definition_of(TABLE),
        on_change=on_change,
    )
    assert found is not None
    assert (found[1].misfit is not None) == (on_change == "fail")


@st.composite
def inserts(draw: st.DrawFn, table: Table, names: Sequence[str]) -> bytes:
    """One row with the columns of these names."""
    kinds = {column.name: kind_of(column.type) for column in table.columns}
    key, clustering = draw(keys(table)), draw(clusterings(table))
    cells = tuple((name, Cell(draw(values(kinds[name], whole=True)), TS, like_row=1)) for name in names)
    update = Update(table, key, (Row(clustering, Liveness(TS), None, cells),), regular=tuple(names))
    return encode_mutation((update,))


@st.composite
def logs(draw: st.DrawFn) -> tuple[Table, list[bytes]]:
    table = draw(tables())
    lists = draw(column_lists(table))
    most = draw(st.lists(inserts(table, lists[0]), min_size=1, max_size=5))
    some = draw(st.lists(inserts(table, lists[1]), max_size=2))
    rest = draw(st.lists(st.lists(updates(table), min_size=1, max_size=2).map(tuple).map(encode_mutation), max_size=2))
    return table, draw(mixed(most, most * 3 + some + rest))


@settings(max_examples=FEWER)
@given(logs(), st.sampled_from([0, 200]))
def test_of_any_table(log: tuple[Table, list[bytes]], slack: int) -> None:
    table, payloads = log
    read(payloads, definition_of(table), slack=slack)


def test_a_table_of_nothing_but_its_key() -> None:
    table = replace(TABLE, columns=tuple(column for column in TABLE.columns if column.kind == "partition_key"))
    rows = [encode_mutation((Update(table, i32(n), (Row((), Liveness(TS), None, ()),)),)) for n in range(20)]
    found = read(rows, definition_of(table))
    assert found is not None
    assert len(found[1].batch) == 20
