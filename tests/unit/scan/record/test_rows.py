"""A native log's rows are those of a server's log with the same changes; all builds give them alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.rows.generic.build import build
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared, prepare
from tailer.rows.records import with_attrs
from tailer.scan.index import Status
from tailer.scan.mutation.scan import scan
from tailer.scan.record.scan import Scanned
from tailer.schema.typed import TypedOptions, typed_table
from tests.unit.rows.twins import build_both
from tests.unit.scan.compiled.twins import WITHOUT_JIT
from tests.unit.scan.record.generated import Log, logs
from tests.unit.scan.record.packed import Ext
from tests.unit.scan.record.scanned import laid_out, scan_both

SEGMENT = 1_700_000_000_001
ATTRS = {"origin": 3, "who": "é\n"}
FEWER = max(settings.default.max_examples // 4, 1)


def read(log: Log, *, number_from: int | None = None) -> tuple[Prepared, Scanned]:
    prepared = prepare({log.key: log.definition}, {log.key})
    found = scan_both(*laid_out(log.records), prepared.scan_tables, 0, number_from)
    assert found.index.stopped.status == Status.OK, found.index.stopped
    return prepared, found


def without_place(lines: bytes) -> list[dict[str, Any]]:
    """A server lists simple columns before others, a native log's writer as it likes."""
    found = []
    for line in lines.splitlines():
        row = dict(json.loads(line, object_pairs_hook=list))
        for name in ("columns", "cells"):
            row[name] = row[name] and sorted(row[name], key=str)
        del row["offset"], row["event_id"]
        found.append(row)
    return found


@settings(max_examples=FEWER)
@given(logs())
def test_rows_are_those_of_a_servers_log(log: Log) -> None:
    prepared, found = read(log)
    theirs = prepare({log.definition.id: log.definition}, {log.definition.id})
    data, starts, sizes = laid_out(log.mutations)
    index = scan(data, starts, sizes, theirs.scan_tables)
    want = build(index, data, theirs, Place("local", SEGMENT, starts))
    made = build_both(found.index, found.data, prepared, Place("local", SEGMENT, laid_out(log.records)[1]))
    assert [fault.entry for fault in made.faults] == [fault.entry for fault in want.faults]
    assert without_place(made.batch.json_lines()) == without_place(want.batch.json_lines())


@settings(max_examples=FEWER)
@given(logs(txn=7, attrs=ATTRS), st.integers(0, 3))
def test_a_transaction_is_told_by_all_builds_alike(log: Log, first: int) -> None:
    prepared, found = read(log, number_from=first)
    place = with_attrs(Place("local", SEGMENT, [500] * len(log.records), "boot-7"), found)
    assert len(place.attrs) == len(log.records)
    made = build_both(found.index, found.data, prepared, place)
    rows = [json.loads(line) for line in made.batch.json_lines().splitlines()]
    assert all(row["txn"] == "boot-7" and row["attrs"] == ATTRS and row["offset"] == 500 for row in rows)
    numbers = [row["row"] for row in rows]
    assert numbers == sorted(set(numbers))
    if not made.faults:
        assert numbers == list(range(first, found.number))
    check_typed(log, prepared, found, place)


@settings(max_examples=FEWER)
@given(logs(attrs=ATTRS))
def test_typed_rows_plain_and_compiled(log: Log) -> None:
    prepared, found = read(log)
    check_typed(log, prepared, found, with_attrs(Place("local", SEGMENT, laid_out(log.records)[1]), found))


def check_typed(log: Log, prepared: Prepared, found: Scanned, place: Place) -> None:
    from tailer.rows.typed.form import form_of
    from tailer.rows.typed.plain import build_plain

    form = form_of(typed_table(log.definition, [], TypedOptions()))
    want = build_plain(found.index, found.data, prepared, place, form)
    if WITHOUT_JIT:
        return
    from tailer.rows.typed.compiled.fast import build_fast
    from tailer.rows.typed.compiled.one_row import read_record_one_row
    from tests.unit.rows.typed.reading import same_built

    same_built(build_fast(found.index, found.data, prepared, place, form), want)
    if place.txn is None:
        one_row = read_record_one_row(*laid_out(log.records), prepared, 0, place, form)
        if one_row is not None:
            same_built(one_row[1], want)


TEXTS: dict[str, tuple[Any, str]] = {
    "numbers": ({"a": 1, "b": -3, "c": 2**64 - 1, "d": -(2**63)}, f'{{"a":1,"b":-3,"c":{2**64 - 1},"d":{-(2**63)}}}'),
    "floats": ({"a": 0.5, "n": float("nan"), "i": float("-inf")}, '{"a":0.5,"n":"NaN","i":"-Infinity"}'),
    "words": ({"t": True, "f": False, "n": None}, '{"t":true,"f":false,"n":null}'),
    "text": ({'é"\n': "a\\b"}, r'{"é\"\n":"a\\b"}'),
    "bytes": ({"b": b"\0\xff", "e": Ext(5, b"ab")}, '{"b":"0x00ff","e":"0x6162"}'),
    "nested": ({"a": [1, [], {"b": {}}], "m": {"x": [None]}}, '{"a":[1,[],{"b":{}}],"m":{"x":[null]}}'),
    "keys": ({1: 2, None: 3, b"\1": 4, (1, "x"): 5}, r'{"1":2,"null":3,"0x01":4,"[1,\"x\"]":5}'),
    "nothing": ({}, "{}"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_attributes_as_json(name: str) -> None:
    from tests.unit.scan.record.packed import entry
    from tests.unit.scan.record.scanned import TABLES, change, row

    value, text = TEXTS[name]
    found = scan_both(*laid_out([entry(change(row(), more=(value,)))]), TABLES)
    assert found.index.stopped.status == Status.OK
    assert with_attrs(Place("n", 1, [0]), found).attrs == {0: text}


def test_text_that_is_none_is_bytes() -> None:
    from tests.unit.scan.record.packed import entry
    from tests.unit.scan.record.scanned import TABLES, change, row

    payload = entry(change(row(), more=())) + b"\x81\xa1k\xa2\xc3\x28"
    payload = b"\x97" + payload[1:]
    found = scan_both(*laid_out([payload]), TABLES)
    assert with_attrs(Place("n", 1, [0]), found).attrs == {0: '{"k":"0xc328"}'}
