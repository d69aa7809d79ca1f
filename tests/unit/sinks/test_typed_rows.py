"""Typed lines as the rows that people are shown: what was set and nothing else, decimals with their own digits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailer.schema.model import TypeField
from tailer.schema.typed import META, TypedColumn, TypedTable
from tailer.sinks.row_text import Row
from tailer.sinks.typed_rows import TypedRows

TYPES = {"price": (TypeField("net", "decimal"), TypeField("note", "text"))}


def form(**columns: str) -> TypedTable:
    own = [TypedColumn("id", "partition_key", "decimal"), TypedColumn("at", "clustering", "text")]
    own += [TypedColumn(name, "regular", type_) for name, type_ in columns.items()]
    return TypedTable("shop.orders", tuple(own), TYPES, decimals="string")


def read(typed: TypedTable, own: dict[str, Any], **meta: Any) -> Row:
    """The row of a line in which all columns are null but for these."""
    ordinary = {"op": "update", "table_id": "5a1ff267-ace0-3f12-8563-cfae6103c65e", "is_static": False}
    told = {f"{typed.prefix}{name}": (ordinary | meta).get(name) for name in META}
    line = {column.name: own.get(column.name) for column in typed.columns} | told
    return TypedRows(typed).read(json.dumps(line, separators=(",", ":")).encode())


def texts(fields: Any) -> dict[str, str]:
    return {name: bytes(value).decode() for name, value in fields.items()}


def test_what_was_set_and_what_was_changed_by_element() -> None:
    typed = form(state="text", tags="set<text>", rest="int")
    change = {"replaced": False, "put": ["x"]}
    row = read(typed, {"id": "17", "at": "a", "state": None}, set=["state"], deltas={"tags": change}, write_ts=5, ttl=9)
    assert (row.keyspace, row.table, row.op, row.write_ts, row.ttl) == ("shop", "orders", "update", 5, 9)
    assert (texts(row.partition_key), texts(row.clustering)) == ({"id": "17"}, {"at": '"a"'})
    assert texts(row.columns) == {"state": "null", "tags": json.dumps(change, separators=(",", ":"))}


def test_a_column_that_was_assigned_and_has_deltas_is_told_once() -> None:
    shards = [{"shard": "s", "kind": "global", "clock": 1, "total": 4}]
    row = read(form(hits="counter"), {"id": "1", "hits": 4}, set=["hits"], deltas={"hits": shards})
    assert texts(row.columns) == {"hits": json.dumps(shards, separators=(",", ":"))}


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("decimal", "12.50", "12.50"),
        ("decimal", "1E+256", "1E+256"),
        ("varint", "-7", "-7"),
        ("decimal", None, "null"),
        ("text", "12.50", '"12.50"'),
        ("frozen<list<decimal>>", ["1.0", None], "[1.0,null]"),
        ("frozen<map<decimal, decimal>>", {"1.0": "2.00"}, '{"1.0":2.00}'),
        ("frozen<map<text, frozen<set<varint>>>>", {'"': ["5"]}, '{"\\"":[5]}'),
        (
            "frozen<map<frozen<map<int, int>>, decimal>>",
            [{"key": {"1": 2}, "value": "3.0"}],
            '[{"key":{"1":2},"value":3.0}]',
        ),
        ("frozen<tuple<decimal, text>>", {"_1": "1.0", "_2": "1.0"}, '{"_1":1.0,"_2":"1.0"}'),
        ("frozen<price>", {"net": "1.0", "note": None}, '{"net":1.0,"note":null}'),
        ("vector<decimal, 2>", ["1.0", "2.00"], "[1.0,2.00]"),
        ("frozen<list<text>>", ["1.0"], '["1.0"]'),
    ],
)
def test_decimals_are_shown_as_they_were_written(type_: str, value: Any, expected: str) -> None:
    row = read(form(c=type_), {"id": "1.50", "c": value}, set=["c"])
    assert texts(row.columns) == {"c": expected}
    assert texts(row.partition_key) == {"id": "1.50"}


@pytest.mark.parametrize(
    ("meta", "key", "clustering"),
    [
        ({"op": "delete_row"}, {"id": "1"}, {"at": '"a"'}),
        ({"op": "update", "is_static": True}, {"id": "1"}, {}),
        ({"op": "delete_partition"}, {"id": "1"}, {}),
        ({"op": "delete_range", "range": {"start": {"at": "a"}}}, {"id": "1"}, {}),
        ({"op": "truncate", "range": {"before": {"segment": 1, "offset": 2}}}, {}, {}),
    ],
)
def test_keys_are_shown_where_the_change_has_them(
    meta: dict[str, Any], key: dict[str, str], clustering: dict[str, str]
) -> None:
    row = read(form(), {"id": "1", "at": "a"}, **meta)
    assert (texts(row.partition_key), texts(row.clustering)) == (key, clustering)
    assert (row.range is not None) == ("range" in meta)
