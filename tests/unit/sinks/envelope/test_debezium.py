"""The format `debezium`, field by field: as the page about outlets names them."""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any

import pytest

from tailer.errors import DefinitionError
from tailer.schema.model import TypeField
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tests.unit.sinks.envelope.made import AT, value, values
from tests.unit.sinks.rows import batch, row
from tests.unit.sinks.tables import no_table, table

SOURCE = {
    "version": importlib.metadata.version("cdc-tail"),
    "connector": "cdc-tail",
    "name": "cdc-tail",
    "ts_ms": 1_795_259_642_123,
    "ts_us": 1_795_259_642_123_456,
    "keyspace": "shop",
    "table": "orders",
    "node": "local",
    "segment": 1795259642879,
    "offset": 28,
    "event_id": "local:1795259642879:28:0",
    "partial": True,
}
ORDINARY = SOURCE | {"set": ["state", "total"]}
TABLE = table(state="text", total="decimal")
TYPES = {"address": (TypeField("street", "text"), TypeField("zip", "int"))}
NOTHING: dict[str, Any] = {"columns": None}
KEY = {"id": 17, "at": "a"}


def test_an_insert() -> None:
    assert value("debezium") == {
        "before": None,
        "after": {"id": 17, "at": "a", "state": "new", "total": 12.5},
        "source": ORDINARY,
        "op": "c",
        "ts_ms": AT,
    }


def test_fields_come_in_this_order_and_numbers_keep_their_digits() -> None:
    (message,) = Envelope(EnvelopeOptions("debezium"), no_table).messages(batch(row()).to_arrow(), AT)
    assert message.value is not None
    assert message.value.startswith(
        b'{"before":null,"after":{"id":17,"at":"a","state":"new","total":12.50},"source":{"ver'
    )
    assert list(json.loads(message.value)["source"]) == list(ORDINARY)


def test_an_update_tells_what_it_set_and_no_more() -> None:
    made = value("debezium", op="update", columns='{"state":null}')
    assert (made["op"], made["before"], made["after"]) == ("u", None, {**KEY, "state": None})
    assert made["source"]["partial"] is True


def test_a_deleted_row_is_told_by_its_key() -> None:
    made = value("debezium", op="delete_row", **NOTHING)
    assert (made["op"], made["before"], made["after"]) == ("d", KEY, None)


def test_what_deletes_several_rows_is_no_row_to_any_reader() -> None:
    bounds = '{"start":{"at":"a"},"start_inclusive":true,"end":null,"end_inclusive":true}'
    gone = [
        row(op="delete_range", clustering=None, range=bounds, **NOTHING),
        row(op="delete_partition", clustering=None, **NOTHING),
        row(
            op="truncate",
            partition_key=None,
            clustering=None,
            range='{"before":{"segment":1,"offset":2}}',
            write_ts=None,
            **NOTHING,
        ),
    ]
    made = values("debezium", *gone, tables=TABLE)
    assert [each["op"] for each in made] == ["delete_range", "delete_partition", "t"]
    assert [(each["before"], each["after"]) for each in made] == [(None, None)] * 3
    assert made[0]["source"] == SOURCE | {"range": json.loads(bounds)}
    assert made[2]["source"] == SOURCE | {
        "ts_ms": None,
        "ts_us": None,
        "range": {"before": {"segment": 1, "offset": 2}},
    }


def test_the_only_row_of_a_partition_is_a_row() -> None:
    """Of a table without clustering columns DELETE takes the partition away, which has no other row."""
    alone = table("", state="text")
    made = value("debezium", alone, op="delete_partition", partition_key='{"id":17}', clustering=None, **NOTHING)
    assert (made["op"], made["before"], made["after"]) == ("d", {"id": 17}, None)
    (_, tombstone) = values(
        "debezium", row(op="delete_partition", clustering=None, **NOTHING), tables=alone, tombstones=True
    )
    assert tombstone is None


def test_a_static_row_has_the_key_of_its_partition() -> None:
    made = value("debezium", op="update", clustering=None, is_static=True, columns='{"state":"x"}')
    assert (made["op"], made["after"]) == ("u", {"id": 17, "state": "x"})
    assert made["source"] == SOURCE | {"set": ["state"], "static": True}


def test_a_row_beside_others_that_have_more_is_the_same() -> None:
    """What no row has is left out at once, what some have row by row."""
    plain, more = values(
        "debezium",
        row(),
        row(ttl=60, expires_at=1795259702, cells='{"state":{"ttl":null}}', txn='a"-1', attrs='{"by":"me"}'),
    )
    assert plain == value("debezium")
    assert more["source"] == ORDINARY | {
        "ttl": 60, "expires_at": 1795259702, "cells": {"state": {"ttl": None}}, "txn": 'a"-1', "attrs": {"by": "me"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("us", "ms"),
    [(-1, -1), (-1000, -1), (999, 0), (2**63 - 1, 9_223_372_036_854_775), (-(2**63), -9_223_372_036_854_776)],
)
def test_milliseconds_are_rounded_down(us: int, ms: int) -> None:
    for others in ((), (row(write_ts=None),)):
        source = values("debezium", row(write_ts=us), *others)[0]["source"]
        assert (source["ts_us"], source["ts_ms"]) == (us, ms)


@pytest.mark.parametrize(
    ("type_", "change", "shown"),
    [
        ("set<text>", {"replaced": True, "put": ["x", "y"]}, ["x", "y"]),
        ("list<int>", {"replaced": True, "put": [["9f6593a0-e598-11f1-b9b8-bd260306fc63", 9]]}, [9]),
        ("map<text, int>", {"replaced": True, "put": {"a": 1}}, {"a": 1}),
        ("address", {"replaced": True, "put": {"zip": 8000}}, {"street": None, "zip": 8000}),
        ("address", {"replaced": True, "put": {"renamed": 1}}, {"renamed": 1}),
        ("set<text>", {"replaced": True}, None),
        ("set<text>", {"replaced": True, "put": ["x"], "removed": ["y"]}, ["x"]),
        ("set<text>", None, None),
        ("counter", None, None),
    ],
)
def test_an_assignment_shows_the_value(type_: str, change: Any, shown: Any) -> None:
    made = value("debezium", table(types=TYPES, c=type_), op="update", columns=json.dumps({"c": change, "d": 1}))
    assert made["after"] == KEY | {"c": shown, "d": 1}
    assert made["source"]["deltas"] == {"c": change}


@pytest.mark.parametrize(
    ("type_", "change"),
    [
        ("set<text>", {"replaced": False, "put": ["x"], "removed": ["y"]}),
        ("list<int>", {"replaced": False, "removed": ["9f6593a0-e598-11f1-b9b8-bd260306fc63"]}),
        ("map<text, int>", {"replaced": False, "put": {"a": 1}}),
        ("address", {"replaced": False, "put": {"zip": 8000}}),
        ("counter", [{"shard": "85524fcf-03f9-4298-b1e7-6fcf68a713cc", "kind": "global", "clock": 1, "total": 1}]),
    ],
)
def test_a_change_by_element_shows_no_value(type_: str, change: Any) -> None:
    """Elements that were put are not all there are."""
    tables = table(types=TYPES, c=type_)
    made = value("debezium", tables, op="update", columns=json.dumps({"c": change, "d": 1}))
    assert made["after"] == KEY | {"d": 1}
    assert made["source"]["deltas"] == {"c": change}
    plain, _ = values("debezium", row(), row(op="update", columns=json.dumps({"c": change})), tables=tables)
    assert "deltas" not in plain["source"]


def test_a_frozen_value_is_none_that_was_changed_by_element() -> None:
    made = value("debezium", table(c="frozen<address>", types=TYPES), columns='{"c":{"replaced":true,"put":[1]}}')
    assert made["after"]["c"] == {"replaced": True, "put": [1]}


@pytest.mark.parametrize("columns", ['{"c":{"replaced":false,"put":[1]}}', '{"c":[{"shard":"s","total":1}]}'])
def test_a_change_by_element_of_a_table_that_nothing_defines_is_refused(columns: str) -> None:
    with pytest.raises(DefinitionError, match=r"nothing defines shop\.orders"):
        value("debezium", columns=columns)


def test_rows_of_several_tables_keep_their_order() -> None:
    other = "00000000-ace0-3f12-8563-cfae6103c65e"
    change = '{"c":{"replaced":true,"put":["x"]}}'
    rows = [row(columns=change), row(table_id=other, table="b"), row(columns=change), row(table_id=other, table="b")]
    tables = table(c="set<text>")
    known = {other.replace("-", ""): table(state="text")("5a1ff267ace03f128563cfae6103c65e")}
    made = values("debezium", *rows, tables=lambda id: tables(id) or known.get(id))
    assert [each["after"].get("c", each["after"].get("state")) for each in made] == [["x"], "new", ["x"], "new"]


def test_names_and_values_are_json() -> None:
    made = value("debezium", keyspace='a"b', node="n\\", event_id="e\n", columns='{"\\"":"\\u0001"}')
    source = made["source"]
    assert (source["keyspace"], source["node"], source["event_id"]) == ('a"b', "n\\", "e\n")
    assert made["after"] == KEY | {'"': "\1"}
