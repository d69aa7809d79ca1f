"""Masked rows beside the same rows unmasked, in both forms: nothing but what is masked differs, and that as it must."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.errors import UsageError
from tailer.rows import masked
from tailer.rows.choice import Made
from tailer.rows.generic import build as plain
from tailer.rows.masked import shown_rows
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.rows.table_masks import NO_MASKING, Masking, last4
from tailer.rows.typed.form import form_of
from tailer.rows.typed.plain import build_plain
from tailer.scan.index import Index
from tailer.schema.masks import ColumnMask, How, Masks, check_known, masks_of
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.schema.typed import TypedOptions, TypedTable, typed_table
from tailer.types import Shape, parse_type
from tests.helpers.logs.model import Table, Update
from tests.unit.rows.typed.generated import tables, updates
from tests.unit.rows.typed.scanned import definition_of, scanned
from tests.unit.scan.compiled.twins import compiled_only

FEWER = max(settings.default.max_examples // 4, 1)
SECRET = b"sixteen bytes of key"
Log = tuple[Table, list[tuple[Update, ...]]]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("4111111111111234", "****1234"),
        ("12345678", "****5678"),
        ("1234567", "****"),
        ("", "****"),
        ("ääääöäüß", "****öäüß"),
    ],
)
def test_last4_hides_at_least_as_much_as_it_shows(value: str, shown: str) -> None:
    assert last4(value.encode()).decode() == shown


def test_last4_of_bytes_that_are_no_text() -> None:
    assert last4(b"12345678\xff") == b"****"


@st.composite
def logs(draw: st.DrawFn) -> Log:
    table = draw(tables())
    mutations = draw(st.lists(st.lists(updates(table), min_size=1, max_size=2).map(tuple), min_size=1, max_size=6))
    return table, mutations


def words_for(definition: TableDefinition, column: Column) -> list[How]:
    type_ = parse_type(column.type, definition.types)
    hashes: list[How] = [] if type_.shape is Shape.UDT else ["hash"]
    if column.kind in ("partition_key", "clustering"):
        return hashes
    return [*hashes, "null", "exclude", *(["last4"] if column.type in ("text", "ascii") else [])]  # type: ignore[list-item]


@st.composite
def masked_logs(draw: st.DrawFn) -> tuple[Log, Masks]:
    log = draw(logs())
    definition = definition_of(log[0])
    chosen = []
    for column in definition.columns:
        how = draw(st.sampled_from([None, *words_for(definition, column)]))
        if how is not None:
            chosen.append(ColumnMask(definition.name, column.name, how))
    return log, Masks(tuple(sorted(chosen)), key="x")


def read(log: Log, masking: Masking, typed: TypedTable | None) -> Made:
    table, mutations = log
    return shown_rows(*scanned(definition_of(table), mutations, masking), typed)


def by_event(made: Made, name: str) -> dict[str, dict[str, Any]]:
    return {row[name]: row for row in map(json.loads, made.batch.json_lines().splitlines())}


def is_hash(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def without(fields: dict[str, Any] | None, names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in (fields or {}).items() if name not in names}


@settings(max_examples=FEWER, deadline=None)
@given(masked_logs())
def test_generic_rows_differ_in_what_is_masked_alone(given: tuple[Log, Masks]) -> None:
    log, masks = given
    how = masks.of("ks.t")
    clear = by_event(read(log, NO_MASKING, None), "event_id")
    hashed = by_event(read(log, Masking(masks, SECRET), None), "event_id")
    assert clear.keys() <= hashed.keys(), "a value that is none of its type is no fault where nobody reads it"
    hidden = {name for name, word in how.items() if word in ("hash", "last4")}
    for event, row in clear.items():
        mine = hashed[event]
        same = ["op", "is_static", "write_ts", "ttl", "expires_at", "segment", "offset", "row", "table_id"]
        assert [mine[name] for name in same] == [row[name] for name in same]
        for field in ("partition_key", "clustering"):
            assert without(mine[field], hidden) == without(row[field], hidden)
            assert (mine[field] or {}).keys() == (row[field] or {}).keys()
            for name in hidden & (row[field] or {}).keys():
                assert is_hash(mine[field][name]) or mine[field][name] is None is row[field][name]
        assert without(mine["columns"], {*how}) == without(row["columns"], {*how})
        assert without(mine["cells"], {*how}) == without(row["cells"], {*how})
        for name, word in how.items():
            if name in (row["columns"] or {}):
                check_column(word, row["columns"][name], mine["columns"].get(name, "absent"))
        # What is masked of a partition key is masked of its token.
        in_key = hidden & {column.name for column in log[0].of_kind("partition_key")}
        assert (mine["token"] == row["token"]) == (not in_key)


def check_column(how: How, clear: Any, shown: Any) -> None:
    if how == "exclude":
        assert shown == "absent"
    elif how == "null" or clear is None:
        assert shown is None
    elif how == "last4":
        assert shown.startswith("****")
        assert len(shown) in (4, 8)
    elif not is_hash(shown):
        # A collection that is changed by element: each of them is hashed.
        assert shown.keys() == clear.keys()
        assert [len(shown[part]) for part in ("put", "removed") if part in shown] == [
            len(clear[part]) for part in ("put", "removed") if part in clear
        ]
        put = shown.get("put", [])
        parts = [*put, *put.values()] if isinstance(put, dict) else [e[1] if isinstance(e, list) else e for e in put]
        assert all(map(is_hash, parts))


@settings(max_examples=FEWER, deadline=None)
@given(masked_logs())
def test_typed_rows_agree_with_the_generic_ones(given: tuple[Log, Masks]) -> None:
    log, masks = given
    how, definition = masks.of("ks.t"), definition_of(log[0])
    form = typed_table(definition, [], TypedOptions(decimals="string"))
    clear = by_event(read(log, NO_MASKING, form), "_event_id")
    shown = masks.shown_typed(form)
    made = read(log, Masking(masks, SECRET), shown)
    assert made.batch.to_arrow().schema.names == [*(column.name for column in shown.columns), *shown.meta]
    hashed = by_event(made, "_event_id")
    generic = by_event(read(log, Masking(masks, SECRET), None), "event_id")
    assert clear.keys() <= hashed.keys()
    left_out = {name for name, word in how.items() if word == "exclude"}
    for event, row in hashed.items():
        other = generic[event]
        for field in ("op", "range", "cells", "token", "write_ts", "ttl", "expires_at"):
            assert row[f"_{field}"] == other[field]
        told = {**(other["partition_key"] or {}), **(other["clustering"] or {}), **(other["columns"] or {})}
        for name, word in how.items():
            if name in told and not isinstance(told[name], dict) and word in ("hash", "last4", "null"):
                assert row[name] == told[name]
        if event in clear:
            assert without({n: v for n, v in row.items() if n[0] != "_"}, {*how}) == without(
                {n: v for n, v in clear[event].items() if n[0] != "_"}, {*how}
            )
            names = clear[event]["_set"]
            assert row["_set"] == (None if names is None else [name for name in names if name not in left_out])


def plain_rows(index: Index, data: bytes, prepared: Prepared, place: Place, typed: TypedTable | None) -> Made:
    if typed is None:
        return Made(*plain.build(index, data, prepared, place))
    return Made(*build_plain(index, data, prepared, place, form_of(typed)))


def compiled_rows(index: Index, data: bytes, prepared: Prepared, place: Place, typed: TypedTable | None) -> Made:
    from tailer.rows.generic.compiled.build import build
    from tailer.rows.typed.compiled.fast import build_fast

    if typed is None:
        return Made(*build(index, data, prepared, place))
    return Made(*build_fast(index, data, prepared, place, form_of(typed)))


@compiled_only
@settings(max_examples=FEWER, deadline=None)
@given(masked_logs())
def test_both_twins_give_the_same_masked(given: tuple[Log, Masks]) -> None:
    log, masks = given
    shown = masks.shown_typed(typed_table(definition_of(log[0]), [], TypedOptions()))
    for form in (None, shown):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(masked, "build_rows", plain_rows)
            want = read(log, Masking(masks, SECRET), form)
            patch.setattr(masked, "build_rows", compiled_rows)
            made = read(log, Masking(masks, SECRET), form)
        assert (made.faults, made.misfit, made.ignored) == (want.faults, want.misfit, want.ignored)
        assert made.batch.json_lines() == want.batch.json_lines()
        assert made.batch.to_arrow().equals(want.batch.to_arrow())


TABLE = TableDefinition(
    "0" * 32,
    "ks",
    "t",
    (
        Column("id", "partition_key", "int", 0),
        Column("hits", "regular", "counter"),
        Column("home", "regular", "point"),
        Column("lines", "regular", "frozen<list<text>>"),
        Column("a.b", "regular", "text"),
    ),
    types={"point": (TypeField("x", "int"),)},
)


@pytest.mark.parametrize("column", ["hits", "home"])
def test_what_has_no_value_of_its_own_is_not_hashed(column: str) -> None:
    with pytest.raises(UsageError, match=rf"--mask ks.t.{column}=hash: a counter, or a user-defined type"):
        check_known(masks_of([f"ks.t.{column}=hash"], []), [TABLE])


def test_the_shown_definition_has_the_types_of_the_rows() -> None:
    masks = masks_of(["ks.t.id=hash", "ks.t.lines=hash", "ks.t.home=null", "ks.t.a.b=last4"], ["ks.t.hits"])
    shown = masks.shown(TABLE)
    assert [(column.name, column.type) for column in shown.columns] == [
        ("id", "text"), ("home", "point"), ("lines", "text"), ("a.b", "text"),
    ]  # fmt: skip
    assert check_known(masks, [TABLE]) == ()


def test_a_renamed_key_column_is_named_by_both_names() -> None:
    renamed = TableDefinition("0" * 32, "ks", "t", (Column("key", "partition_key", "int", 0), *TABLE.columns[1:]))
    masks = masks_of(["ks.t.key=hash"], [])
    with pytest.raises(UsageError, match=r"expected --mask ks.t.id=hash too"):
        check_known(masks, [TABLE, renamed])
    assert check_known(masks_of(["ks.t.key=hash", "ks.t.id=hash"], []), [TABLE, renamed]) == ()
