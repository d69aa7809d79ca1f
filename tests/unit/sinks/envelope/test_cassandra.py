"""The format `debezium-cassandra`, field by field.

Expected messages are written by hand from the connector's own sources (3.7): `Record.buildValue` and `buildKey`,
`CassandraSchemaFactory` (rows, cells, ranges), `CassandraSourceInfoStructMaker`, `Cassandra5CommitLogReadHandlerImpl`,
and the type deserializers, as Kafka's JsonConverter writes them without schemas.
"""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any

import pytest

from tailer.errors import DefinitionError, SinkError
from tailer.schema.model import Column, TableDefinition, TypeField
from tests.unit.sinks.envelope.made import AT, key, value, values
from tests.unit.sinks.rows import ORDINARY, row
from tests.unit.sinks.tables import table

FORM = "debezium-cassandra"
TABLE = table(state="text", total="decimal", tags="set<text>")
TYPES = {"address": (TypeField("street", "text"), TypeField("zip", "int"))}
NOTHING: dict[str, Any] = {"columns": None}
SOURCE = {
    "version": importlib.metadata.version("cdc-tail"),
    "connector": "cassandra",
    "name": "cdc-tail",
    "ts_ms": 1_795_259_642_123,
    "snapshot": "false",
    "db": "NULL",
    "sequence": None,
    "ts_us": 1_795_259_642_123_456,
    "ts_ns": 1_795_259_642_123_456_000,
    "cluster": "cdc-tail",
    "file": "CommitLog-1795259642879.log",
    "pos": 28,
    "keyspace": "shop",
    "table": "orders",
}
OURS = {"node": "local", "segment": 1795259642879, "offset": 28, "event_id": "local:1795259642879:28:0"}
NO_RANGE = {"_range_start": None, "_range_end": None}


def cell(value: Any, deletion_ts: int | None = None) -> dict[str, Any]:
    return {"value": value, "deletion_ts": deletion_ts, "set": True}


KEY = {"id": cell(17), "at": cell("a")}


def after(**changes: Any) -> Any:
    return value(FORM, TABLE, **changes)["after"]


def test_an_insert() -> None:
    assert value(FORM, TABLE) == {
        "ts_ms": AT,
        "op": "i",
        "source": SOURCE | OURS | {"set": ["state", "total"]},
        "after": KEY | {"state": cell("new"), "tags": None, "total": cell(12.5)} | NO_RANGE,
    }
    assert key(FORM, TABLE) == {"id": 17, "at": "a"}


def test_an_update_and_a_deleted_column() -> None:
    made = value(FORM, TABLE, op="update", columns='{"state":null}')
    assert made["op"] == "u"
    assert made["after"] == KEY | {"state": cell(None), "tags": None, "total": None} | NO_RANGE


def test_a_cell_that_expires_tells_when() -> None:
    made = after(ttl=60, expires_at=1_795_259_702, cells='{"total":{"ttl":120,"expires_at":1795259762}}')
    assert made["state"] == cell("new", 1_795_259_702_000_000)
    assert made["total"] == cell(12.5, 1_795_259_762_000_000)
    assert after(ttl=60, expires_at=9, cells='{"state":{"ttl":null,"expires_at":null}}')["state"] == cell("new")
    assert after(ttl=60, expires_at=9, columns='{"state":null}')["state"] == cell(None)


def test_a_deleted_row_has_every_column_with_the_time() -> None:
    made = value(FORM, TABLE, op="delete_row", write_ts=5, **NOTHING)
    gone = cell(None, 5)
    assert made["op"] == "d"
    assert made["after"] == KEY | {"state": gone, "tags": gone, "total": gone} | NO_RANGE


def test_a_deleted_partition_has_its_clustering_columns_too() -> None:
    made = value(FORM, TABLE, op="delete_partition", clustering=None, write_ts=5, **NOTHING)
    gone = cell(None, 5)
    assert made["op"] == "d"
    assert made["after"] == {"id": cell(17), "at": gone, "state": gone, "tags": gone, "total": gone} | NO_RANGE
    assert key(FORM, TABLE, op="delete_partition", clustering=None, **NOTHING) == {"id": 17, "at": None}


def test_a_range_has_its_bounds() -> None:
    bounds = {"start": {"at": "a b"}, "start_inclusive": False, "end": None, "end_inclusive": True}
    made = value(FORM, TABLE, op="delete_range", clustering=None, range=json.dumps(bounds), **NOTHING)
    assert made["op"] == "r"
    value_ = {"name": "at", "value": "a b", "type": "org.apache.cassandra.db.marshal.UTF8Type"}
    assert made["after"] == {
        "id": cell(17), "at": None, "state": None, "tags": None, "total": None,
        "_range_start": {"method": "EXCL_START_BOUND", "values": [value_]},
        "_range_end": {"method": "INCL_END_BOUND", "values": []},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "json_", "text", "java"),
    [
        ("int", "-7", "-7", "Int32Type"),
        ("timestamp", '"2015-05-03 13:30:54.234Z"', "2015-05-03T13:30:54.234Z", "TimestampType"),
        ("blob", '"0xcafe"', "cafe", "BytesType"),
        ("boolean", "true", "true", "BooleanType"),
    ],
)
def test_bounds_are_printed_as_the_server_prints_them(type_: str, json_: str, text: str, java: str) -> None:
    columns = (Column("id", "partition_key", "int", 0), Column("At", "clustering", type_, 0, desc=True))
    known = TableDefinition(ORDINARY["table_id"], "shop", "orders", columns)
    bounds = f'{{"start":{{"At":{json_}}},"start_inclusive":true,"end":null,"end_inclusive":true}}'
    made = value(FORM, {known.id: known}.get, op="delete_range", clustering=None, range=bounds, **NOTHING)
    package = "org.apache.cassandra.db.marshal."
    told = {"name": '"At"', "value": text, "type": f"{package}ReversedType({package}{java})"}
    assert made["after"]["_range_start"] == {"method": "INCL_START_BOUND", "values": [told]}


def test_a_truncate_has_no_row() -> None:
    """The connector tells nothing of one."""
    made = value(FORM, TABLE, op="truncate", partition_key=None, clustering=None, range='{"before":{}}', **NOTHING)
    assert (made["op"], made["after"]) == ("t", None)
    assert key(FORM, TABLE, op="truncate", partition_key=None, clustering=None, **NOTHING) is None


def test_a_static_row_is_there_too() -> None:
    columns = (
        Column("id", "partition_key", "int", 0), Column("at", "clustering", "text", 0),
        Column("s", "static", "int"), Column("v", "regular", "int"),
    )  # fmt: skip
    known = TableDefinition(ORDINARY["table_id"], "shop", "orders", columns)
    made = value(FORM, {known.id: known}.get, op="update", is_static=True, clustering=None, columns='{"s":1}')
    assert (made["op"], made["source"]) == ("u", SOURCE | OURS | {"static": True, "set": ["s"]})
    assert made["after"] == {"id": cell(17), "at": None, "v": None, "s": cell(1)} | NO_RANGE


@pytest.mark.parametrize(
    ("type_", "json_", "expected"),
    [
        # Basic types, as they are; a time in nanoseconds.
        ("ascii", '"a"', "a"), ("text", '""', ""), ("boolean", "true", True), ("tinyint", "-1", -1),
        ("smallint", "2", 2), ("int", "3", 3), ("bigint", "9007199254740993", 9007199254740993), ("double", "1.5", 1.5),
        ("float", '"NaN"', "NaN"), ("time", '"00:00:01.000000002"', 1_000_000_002), ("blob", '"0xcafe"', "yv4="),
        # Logical ones.
        ("date", '"1970-01-02"', 1), ("date", '"1969-12-31"', -1), ("timestamp", '"1970-01-01 00:00:00.234Z"', 234),
        ("uuid", '"9f6593a0-e598-11f1-b9b8-bd260306fc63"', "9f6593a0-e598-11f1-b9b8-bd260306fc63"),
        ("inet", '"127.0.0.1"', "/127.0.0.1"), ("inet", '"2001:db8:0:0:0:0:0:1"', "/2001:db8:0:0:0:0:0:1"),
        ("varint", "7", 7), ("duration", '"1d2ns"', 86_400_000_000_002), ("duration", '"12mo"', 31_104_000_000_000_000),
        # Nothing where there are no bytes, but of text and blobs.
        ("int", '""', None), ("blob", '"0x"', ""), ("timestamp", '""', None), ("int", "null", None),
        # Made of others: a map whose keys are strings is an object, others are pairs.
        ("frozen<list<blob>>", '["0x00",null]', ["AA==", None]), ("frozen<set<date>>", '["1970-01-03"]', [2]),
        ("frozen<map<text, date>>", '{"a":"1970-01-03"}', {"a": 2}),
        ("frozen<map<int, text>>", '{"1":"x"}', [[1, "x"]]),
        ("frozen<map<date, int>>", '{"1970-01-03":1}', [[2, 1]]), ("frozen<map<inet, int>>", '{"::1":1}', {"/::1": 1}),
        ("frozen<tuple<int, blob>>", '[1,"0x00"]', {"field1": 1, "field2": "AA=="}),
        ("frozen<address>", '{"street":"s","zip":null}', {"street": "s", "zip": None}),
        ("vector<float, 2>", "[1.5,2.5]", [1.5, 2.5]),
    ],
)  # fmt: skip
def test_values_are_those_of_the_connector(type_: str, json_: str, expected: Any) -> None:
    made = value(FORM, table(c=type_, types=TYPES), columns=f'{{"c":{json_}}}')
    assert made["after"]["c"] == cell(expected)


@pytest.mark.parametrize(
    ("type_", "change", "expected"),
    [
        ("set<date>", {"replaced": False, "put": ["1970-01-03"], "removed": ["1970-01-04"]}, [2]),
        ("list<text>", {"replaced": True, "put": [["9f6593a0-e598-11f1-b9b8-bd260306fc63", "x"]]}, ["x"]),
        ("map<int, text>", {"replaced": True, "put": {"1": "x"}}, [[1, "x"]]),
        ("map<text, int>", None, {}),
        ("map<text, int>", {"replaced": False, "put": {"a": 1}, "removed": ["b"]}, {"a": 1, "b": None}),
        ("map<int, text>", {"replaced": False, "removed": ["2"]}, [[2, None]]),
        ("set<text>", None, []),
        ("address", {"replaced": False, "put": {"zip": 1}}, {"street": None, "zip": 1}),
        ("address", None, None),
    ],
)
def test_elements_are_told_as_the_connector_does_and_beside_it_in_full(type_: str, change: Any, expected: Any) -> None:
    made = value(FORM, table(c=type_, types=TYPES), op="update", columns=json.dumps({"c": change}))
    assert made["after"]["c"] == cell(expected)
    names = ["c"] if change is None or change["replaced"] else []
    assert made["source"] == SOURCE | OURS | {"deltas": {"c": change}, "set": names}


def test_a_counter_has_no_value_that_could_be_told() -> None:
    shards = [{"shard": "85524fcf-03f9-4298-b1e7-6fcf68a713cc", "kind": "global", "clock": 1, "total": 1}]
    made = value(FORM, table(c="counter"), op="update", columns=json.dumps({"c": shards}))
    assert made["after"]["c"] is None
    assert made["source"]["deltas"] == {"c": shards}


def test_renamed_key_columns_have_their_name_of_today() -> None:
    assert key(FORM, TABLE, partition_key='{"old":17}', clustering='{"older":"a"}') == {"id": 17, "at": "a"}
    assert after(partition_key='{"old":17}', clustering='{"older":"a"}')["at"] == cell("a")


def test_columns_that_were_dropped_are_none_of_the_table() -> None:
    assert (
        after(columns='{"state":"new","gone":1}')
        == KEY | {"state": cell("new"), "tags": None, "total": None} | NO_RANGE
    )


def test_a_table_that_nothing_defines_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"nothing defines shop\.orders at 1795259642879:28"):
        values(FORM, row())


def test_a_row_that_its_definition_does_not_fit_is_refused() -> None:
    with pytest.raises(SinkError, match=r"row of shop\.orders.*1795259642879:28"):
        value(FORM, table(state="date"), columns='{"state":"x"}')
