"""The checks of the hour find what they are for: each fault, made by hand, and the same input without it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.server.cluster.hour.accounts import Accounts, LogRows, accounts
from tests.server.cluster.hour.compare import compared
from tests.server.cluster.hour.fold import Fold
from tests.server.cluster.hour.recording import Definition
from tests.server.cluster.hour.values import of_json, of_postgresql, of_sqlite
from tests.server.cluster.hour.workload import Acknowledged

TABLE = Definition("seq", "id-1", {"pk": "int", "ck": "int", "w": "bigint", "s": "int"}, ["pk"], ["ck"], ["s"])
FIRST, SECOND = 1_000_001, 1_000_002


def image(
    seq: int, prev: int | None, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, **more: Any
) -> str:
    """An image of the row (1, 1)."""
    made = {
        "keyspace": "hour", "table": "seq", "table_id": "id-1", "token": 5, "partition_key": {"pk": 1},
        "clustering": {"ck": 1}, "is_static": False, "op": "update", "before": before, "after": after,
        "write_ts": seq, "seq": seq, "prev_seq": prev, "complete": True, "event_id": "n1:1:1:0",
        "node": "n1", "segment": 1, "offset": 1,
    }  # fmt: skip
    return json.dumps({**made, **more})


def row(value: int | None) -> dict[str, Any]:
    return {"pk": 1, "ck": 1, "w": value}


def folded(*images: str) -> Fold:
    fold = Fold()
    fold.add(images)
    return fold


SOUND = (image(1, None, None, row(FIRST), op="insert"), image(2, 1, row(FIRST), row(SECOND)))


def test_a_sound_sequence_has_no_fault() -> None:
    fold = folded(*SOUND)
    assert dict(fold.counts) == {}
    assert {ticket: list(rows.values()) for ticket, rows in fold.shown.items()} == {
        (FIRST, "seq"): [1],
        (SECOND, "seq"): [1],
    }
    assert list(fold.shown_rows(TABLE)) == [({"pk": "1", "ck": "1", "w": str(SECOND)}, True)]


@pytest.mark.parametrize(
    ("images", "fault"),
    [
        ((*SOUND, SOUND[1]), "twice"),
        ((*SOUND, image(2, 1, row(FIRST), row(None))), "twice, with other content"),
        ((SOUND[0], image(3, 2, row(FIRST), row(SECOND))), "sequence broken"),
        ((*SOUND, image(1, 2, row(SECOND), row(1), is_static=True)), "sequence not growing"),
        ((SOUND[0], image(2, 1, row(7), row(SECOND))), "before is not the after before it (complete)"),
        ((*SOUND, image(3, 2, row(SECOND), None, op="vanish")), "unknown op"),
    ],
)
def test_each_fault_of_a_sequence_is_found(images: tuple[str, ...], fault: str) -> None:
    assert dict(folded(*images).counts) == {fault: 1}


def test_a_dropped_table_has_no_rows_and_its_sequences_begin_again() -> None:
    drop = image(3, None, None, None, op="drop", partition_key=None, clustering=None)
    fold = folded(*SOUND, drop, image(4, None, None, row(FIRST), op="insert"))
    assert dict(fold.counts) == {}
    assert list(folded(*SOUND, drop).shown_rows(TABLE)) == []


def test_static_columns_are_in_each_row_of_the_partition() -> None:
    static = image(3, 2, None, {"s": 9}, is_static=True, clustering=None)
    assert list(folded(*SOUND, static).shown_rows(TABLE)) == [
        ({"pk": "1", "ck": "1", "w": str(SECOND), "s": "9"}, True)
    ]
    assert list(folded(image(1, None, None, {"s": 9}, is_static=True, clustering=None)).shown_rows(TABLE)) == [
        ({"pk": "1", "s": "9"}, True)
    ]


def test_each_difference_of_a_table_is_found() -> None:
    select = {'["1", "1"]': {"pk": "1", "ck": "1", "w": "5"}, '["1", "2"]': {"pk": "1", "ck": "2", "w": "6"}}
    equal = [(found, True) for found in select.values()]
    assert compared("sqlite", TABLE, select, equal).equal
    assert compared("sqlite", TABLE, select, equal[:1]).missing == 1
    assert compared("sqlite", TABLE, select, [*equal, ({"pk": "2", "ck": "1"}, True)]).extra == 1
    assert compared("sqlite", TABLE, select, [*equal, equal[0]]).twice == 1
    changed = [({**equal[0][0], "w": "7"}, True), ({"pk": "1", "ck": "2"}, False)]
    found = compared("sqlite", TABLE, select, changed)
    assert (found.differing, found.incomplete, found.equal) == (2, 1, False)
    assert [(one.column, one.select, one.found) for one in found.examples] == [("w", "5", "7"), ("w", "6", None)]


def log_row(ticket: int, timestamp: int, segment: int = 1) -> str:
    return json.dumps({
        "table": "seq", "table_id": "id-1", "partition_key": {"pk": 1}, "columns": {"w": ticket}, "cells": None,
        "write_ts": timestamp, "segment": segment, "offset": timestamp,
    })  # fmt: skip


def held(logs: Mapping[str, list[str]], *images: str, changes: Any = ()) -> Accounts:
    """Of the two writes, acknowledged one after the other."""
    rows = LogRows()
    for node, lines in logs.items():
        rows.add(node, lines)
    entries = [
        Acknowledged("seq.update", "seq", ((ticket, "seq"),), True, False, at, at + 0.5)
        for ticket, at in ((FIRST, 10.0), (SECOND, 20.0))
    ]
    return accounts(entries, changes, rows, folded(*images))


IN_ORDER = [log_row(FIRST, 1), log_row(SECOND, 2)]


def test_each_write_in_order_is_held_to_its_image() -> None:
    sound = held({"n1": IN_ORDER, "n2": IN_ORDER}, *SOUND)
    assert (sound.figures["held to an image"], sound.figures["with an image"]) == (2, 2)
    assert sound.figures["WITHOUT AN IMAGE"] == 0
    lacking = held({"n1": IN_ORDER, "n2": IN_ORDER}, image(2, None, None, row(SECOND)))
    assert lacking.figures["WITHOUT AN IMAGE"] == 1
    assert len(lacking.without_image) == 1


def test_a_write_that_a_newer_one_overtook_in_some_log_may_have_none() -> None:
    for other in ([log_row(SECOND, 2), log_row(FIRST, 1)], [log_row(SECOND, 2)]):
        found = held({"n1": IN_ORDER, "n2": other}, image(2, None, None, row(SECOND)))
        assert (found.figures["no image, overtaken"], found.figures["WITHOUT AN IMAGE"]) == (1, 0)


def test_a_write_before_the_consumer_or_beside_a_schema_change_may_have_none() -> None:
    last = image(2, None, None, row(SECOND), node="n1", offset=2)
    assert held({"n1": IN_ORDER}, last).figures["no image, early"] == 1
    last = image(2, None, None, row(SECOND))
    change = {"cql": "ALTER TABLE hour.seq DROP x", "sent": 10.2, "done": 10.4, "refusal": None}
    assert held({"n1": IN_ORDER}, last, changes=[change]).figures["no image, schema"] == 1


def test_a_write_that_is_older_than_what_the_server_answered_may_have_none() -> None:
    answered = image(5, None, None, row(SECOND), event_id="snapshot:again:1:0", node=None, segment=None, offset=None)
    found = held({"n1": IN_ORDER, "n2": IN_ORDER}, answered, image(6, 5, row(SECOND), row(SECOND)))
    assert (found.figures["no image, read"], found.figures["WITHOUT AN IMAGE"]) == (1, 0)


def test_a_write_without_a_row_and_one_with_two_images_are_found() -> None:
    assert held({"n1": IN_ORDER[1:]}, SOUND[0]).figures["without a row in any log"] == 1
    twice = (*SOUND, image(3, 2, row(SECOND), row(FIRST)))
    assert held({"n1": IN_ORDER}, *twice).figures["with two images"] == 1


@pytest.mark.parametrize(
    ("type_", "json_value", "sqlite", "postgresql"),
    [
        ("bigint", 5, 5, "5"),
        ("boolean", True, 1, "true"),
        ("float", "0.1", 0.10000000149011612, "0.1"),
        ("double", "NaN", "NaN", "NaN"),
        ("decimal", "1.50", "1.50", "1.50"),
        ("varint", 10**30, str(10**30), str(10**30)),
        ("blob", "0x0aff", b"\x0a\xff", "\\x0aff"),
        ("time", "00:00:01.000000002", 1_000_000_002, "1000000002"),
        ("timestamp", "2020-01-01 00:20:34.567Z", "2020-01-01 00:20:34.567Z", "2020-01-01 00:20:34.567+00"),
        ("date", "2020-01-01", "2020-01-01", "2020-01-01"),
        ("map<text, bigint>", {"k": 5}, '{"k": 5}', '{"k":5}'),
    ],
)
def test_one_value_has_one_spelling(type_: str, json_value: Any, sqlite: Any, postgresql: str) -> None:
    spelled = of_json(type_, json_value)
    assert spelled is not None
    assert of_sqlite(type_, sqlite) == spelled
    assert of_postgresql(type_, postgresql) == spelled
