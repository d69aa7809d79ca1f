"""`debezium` with schemas, field by field: what Kafka's JsonConverter reads, written by hand from its documentation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailer.errors import DefinitionError, SinkError
from tailer.schema.model import TypeField
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.sinks.table_text import Tables
from tests.unit.sinks.envelope.made import AT, value
from tests.unit.sinks.rows import batch, row
from tests.unit.sinks.tables import no_table, table

TABLE = table(state="text", total="decimal")
TYPES = {"address": (TypeField("street", "text"), TypeField("zip", "int"))}
KEY_FIELDS = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "at"},
]
ROW_FIELDS = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "at"},
    {"type": "string", "optional": True, "field": "state"},
    {"type": "string", "optional": True, "field": "total"},
]


def made(*rows: tuple[Any, ...], tables: Tables = TABLE) -> list[tuple[Any, Any]]:
    """Keys and values."""
    envelope = Envelope(EnvelopeOptions("debezium", with_schema=True), tables)
    messages = envelope.messages(batch(*rows).to_arrow(), AT)
    return [(json.loads(each.key or b"null"), json.loads(each.value or b"null")) for each in messages]


def test_an_insert() -> None:
    ((key, told),) = made(row())
    assert key == {
        "schema": {"type": "struct", "name": "cdc-tail.shop.orders.Key", "optional": False, "fields": KEY_FIELDS},
        "payload": {"id": 17, "at": "a"},
    }
    schema = told["schema"]
    assert (schema["type"], schema["name"], schema["optional"]) == ("struct", "cdc-tail.shop.orders.Envelope", False)
    assert [field["field"] for field in schema["fields"]] == ["before", "after", "source", "op", "ts_ms"]
    for side in schema["fields"][:2]:
        assert side["name"] == "cdc-tail.shop.orders.Value"
        assert (side["type"], side["optional"], side["fields"]) == ("struct", True, ROW_FIELDS)
    plain = value("debezium")
    assert told["payload"] == plain | {"after": plain["after"] | {"total": "12.50"}}


def test_every_member_of_a_payload_has_its_schema() -> None:
    """What a schema does not name the converter leaves out."""
    rich = row(
        ttl=60, expires_at=9, cells='{"state":{"ttl":null}}', txn="a-1", attrs='{"by":"me"}', is_static=True,
        columns='{"state":"x"}', range='{"before":{}}',
    )  # fmt: skip
    ((_, told),) = made(rich)
    source = next(field for field in told["schema"]["fields"] if field["field"] == "source")
    types = {field["field"]: field["type"] for field in source["fields"]}
    python = {"string": str, "int32": int, "int64": int, "boolean": bool, "array": list}
    for name, found in told["payload"]["source"].items():
        assert type(found) is python[types[name]], name
    assert told["payload"]["source"]["attrs"] == '{"by":"me"}'
    assert told["payload"]["source"]["cells"] == '{"state":{"ttl":null}}'


def test_changes_of_no_row() -> None:
    gone = {"columns": None}
    told = made(
        row(op="delete_row", **gone),
        row(op="delete_partition", clustering=None, **gone),
        row(op="truncate", partition_key=None, clustering=None, **gone),
    )
    assert [(each["payload"]["op"], each["payload"]["before"], each["payload"]["after"]) for _, each in told] == [
        ("d", {"id": 17, "at": "a"}, None), ("delete_partition", None, None), ("t", None, None),
    ]  # fmt: skip
    assert [key and key["payload"] for key, _ in told] == [{"id": 17, "at": "a"}, {"id": 17, "at": None}, None]


TEXT = {"type": "string", "optional": True}
INT = {"type": "int32", "optional": True}


def logical(type_: str, name: str) -> dict[str, Any]:
    return {"type": type_, "name": f"io.debezium.{name}", "version": 1}


def struct(name: str, **fields: dict[str, Any]) -> dict[str, Any]:
    listed = [{**schema, "field": field} for field, schema in fields.items()]
    return {"type": "struct", "name": f"cdc-tail.shop.orders.{name}", "fields": listed}


@pytest.mark.parametrize(
    ("type_", "json_", "schema", "payload"),
    [
        ("tinyint", "-1", {"type": "int8"}, -1),
        ("smallint", "1", {"type": "int16"}, 1),
        ("int", '""', {"type": "int32"}, None),
        ("bigint", "9007199254740993", {"type": "int64"}, 9007199254740993),
        ("boolean", "true", {"type": "boolean"}, True),
        ("float", "1.5", {"type": "float"}, 1.5),
        ("double", "1.5", {"type": "double"}, 1.5),
        ("blob", '"0xcafe"', {"type": "bytes"}, "yv4="),
        ("varint", "7", {"type": "string"}, "7"),
        ("date", '"1970-01-02"', logical("int32", "time.Date"), 1),
        ("time", '"00:00:01.000000002"', logical("int64", "time.NanoTime"), 1_000_000_002),
        ("timestamp", '"1970-01-01 00:00:01.000Z"', logical("int64", "time.Timestamp"), 1000),
        ("uuid", '"a"', logical("string", "data.Uuid"), "a"),
        ("inet", '"127.0.0.1"', {"type": "string"}, "127.0.0.1"),
        ("duration", '"1y2mo"', {"type": "string"}, "1y2mo"),
        ("frozen<set<int>>", "[1]", {"type": "array", "items": INT}, [1]),
        (
            "frozen<map<date, decimal>>",
            '{"1970-01-02":1.50}',
            {"type": "map", "keys": {"type": "string", "optional": False}, "values": TEXT},
            {"1970-01-02": "1.50"},
        ),
        (
            "frozen<address>",
            '{"street":"s","zip":null}',
            struct("address", street=TEXT, zip=INT),
            {"street": "s", "zip": None},
        ),
        ("frozen<tuple<int, text>>", '[1,"x"]', struct("tuple", _1=INT, _2=TEXT), {"_1": 1, "_2": "x"}),
    ],
)
def test_types_and_values(type_: str, json_: str, schema: dict[str, Any], payload: Any) -> None:
    ((_, told),) = made(row(columns=f'{{"c":{json_}}}'), tables=table(types=TYPES, c=type_))
    after = next(field for field in told["schema"]["fields"] if field["field"] == "after")
    assert after["fields"][2] == schema | {"optional": True, "field": "c"}
    assert told["payload"]["after"]["c"] == payload


@pytest.mark.parametrize("type_", ["float", "double", "frozen<list<double>>"])
def test_a_number_that_the_converter_would_read_as_another_is_refused(type_: str) -> None:
    json_ = '["NaN"]' if "list" in type_ else '"NaN"'
    with pytest.raises(SinkError, match=r"NaN is no number.*1795259642879:28|1795259642879:28.*NaN"):
        made(row(columns=f'{{"c":{json_}}}'), tables=table(c=type_))


def test_a_table_that_nothing_defines_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"nothing defines shop\.orders"):
        made(row(), tables=no_table)


def test_columns_that_were_dropped_are_none_of_the_table() -> None:
    ((_, told),) = made(row(columns='{"state":"x","gone":1}'))
    assert told["payload"]["after"] == {"id": 17, "at": "a", "state": "x"}


def test_no_rows() -> None:
    assert made() == []
