"""Every op, format and kind of column as one table: what `after`, `source.set` and `source.deltas` say of it.

Changes are written as docs/change-rows.md describes `columns`; expected values are written by hand.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pytest

from tailer.images.image_rows import ImageRows
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tests.helpers.image_files import image
from tests.unit.sinks.envelope.made import AT
from tests.unit.sinks.rows import ORDINARY, batch, row
from tests.unit.sinks.tables import table as tables_of
from tests.unit.snapshot.test_change_row import COUNTERS as COUNTED
from tests.unit.snapshot.test_change_row import changes_of, collection, i32, i64, plan

fastavro = pytest.importorskip("fastavro")

FORMATS: Final = {
    "debezium": EnvelopeOptions("debezium"),
    "with-schema": EnvelopeOptions("debezium", with_schema=True),
    "avro": EnvelopeOptions("debezium-avro"),
    "cassandra": EnvelopeOptions("debezium-cassandra"),
}
ID: Final = "9f6593a0-e598-11f1-b9b8-bd260306fc63"
KEY: Final = {"id": 17, "at": "a"}
ABSENT: Final = object()
"""The column is not in `after`; where a schema makes absent fields null, it is null."""


def shard(total: int) -> dict[str, Any]:
    return {"shard": "85524fcf-03f9-4298-b1e7-6fcf68a713cc", "kind": "global", "clock": 1, "total": total}


@dataclass(frozen=True)
class Kind:
    """A kind of column. `put`: as a change row has it. `value`: as `SELECT JSON` shows it. `elements`: what
    `debezium-cassandra` shows of a change by element."""

    type: str
    put: Any
    value: Any
    elements: Any = ABSENT


KINDS: Final = {
    "simple": Kind("int", 1, 1),
    "frozen list": Kind("frozen<list<int>>", [1, 2], [1, 2]),
    "frozen UDT": Kind("frozen<address>", {"street": None, "zip": 1}, {"street": None, "zip": 1}),
    "list": Kind("list<int>", [[ID, 9], [ID, 9]], [9, 9], [9, 9]),
    "set": Kind("set<text>", ["x", "y"], ["x", "y"], ["x", "y"]),
    "map": Kind("map<text, int>", {"a": 1}, {"a": 1}, {"a": 1}),
    "UDT": Kind("address", {"zip": 8}, {"street": None, "zip": 8}, {"street": None, "zip": 8}),
    "counter": Kind("counter", [shard(3), shard(-10)], -7),
    "counter that wraps": Kind("counter", [shard(2**63 - 1), shard(1)], -(2**63)),
}
ALL_AT_ONCE: Final = ("simple", "frozen list", "frozen UDT")
COUNTERS: Final = ("counter", "counter that wraps")
TYPES: Final = {"address": (TypeField("street", "text"), TypeField("zip", "int"))}


def definition(type_: str, *, static: bool = False, name: str = "c") -> TableDefinition:
    columns = (
        Column("id", "partition_key", "int", 0),
        Column("at", "clustering", "text", 0),
        Column(name, "static" if static else "regular", type_),
    )
    return TableDefinition(ORDINARY["table_id"], "shop", "orders", columns, types=TYPES)


def columns_of(**columns: str) -> TableDefinition:
    found = tables_of(**columns)(ORDINARY["table_id"])
    assert found is not None
    return found


def value_of(form: str, value: bytes | None) -> Any:
    """What a message's value says."""
    if form == "avro":
        (record,) = fastavro.reader(io.BytesIO(value or b""))
        return record
    told = json.loads(value or b"null")
    return told["payload"] if form == "with-schema" else told


def message(form: str, table: TableDefinition, /, **change: Any) -> Any:
    """The value of one row's message."""
    envelope = Envelope(FORMATS[form], {table.id: table}.get)
    (made,) = envelope.messages(batch(row(**change)).to_arrow(), AT)
    return value_of(form, made.value)


def shown(form: str, after: dict[str, Any], name: str = "c") -> Any:
    """What `after` shows of a column."""
    if form == "cassandra":
        assert after[name] is None or after[name]["set"] is True
        return ABSENT if after[name] is None else after[name]["value"]
    if form == "avro":
        return ABSENT if after[name] is None else after[name]
    return after.get(name, ABSENT)


def deltas(source: dict[str, Any]) -> Any:
    told = source.get("deltas")
    return json.loads(told) if isinstance(told, str) else told


def change(kind: str, how: str) -> Any:
    """What `columns` has of the column."""
    put = KINDS[kind].put
    if how == "deleted":
        return None
    if kind in ALL_AT_ONCE or kind in COUNTERS:
        return put
    return {"replaced": how == "assigned", "put": put}


def ways(op: str, kind: str) -> tuple[str, ...]:
    """What an op can do to a column of the kind."""
    if op == "snapshot":
        return ("read",)
    if kind in ALL_AT_ONCE:
        return ("assigned", "deleted")
    return ("by element", "deleted") if kind in COUNTERS else ("assigned", "by element", "deleted")


def expected(form: str, kind: str, how: str) -> Any:
    match how:
        case "read" | "assigned":
            return KINDS[kind].value
        case "by element":
            return KINDS[kind].elements if form == "cassandra" else ABSENT
    # A record of Avro has null for both.
    return ABSENT if form == "avro" else None


CASES: Final = [
    (op, how, kind, static)
    for op in ("insert", "update", "snapshot")
    for kind in KINDS
    for how in ways(op, kind)
    for static in (False, True)
]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("op", "how", "kind", "static"), CASES)
def test_a_row_that_is_there(form: str, op: str, how: str, kind: str, static: bool) -> None:
    table = definition(KINDS[kind].type, static=static)
    columns = {"c": change(kind, how)}
    clustering = None if static else ORDINARY["clustering"]
    made = message(form, table, op=op, is_static=static, clustering=clustering, columns=json.dumps(columns))
    wanted = expected(form, kind, how)
    if form == "cassandra" and how == "deleted":
        # What the connector writes for a deleted collection.
        wanted = {"list": [], "set": [], "map": {}}.get(kind)
    assert shown(form, made["after"]) == wanted
    assert deltas(made["source"]) == (None if kind in ALL_AT_ONCE else columns)
    assert made["source"]["set"] == ([] if how == "by element" else ["c"])


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "op", ["delete_row", "delete_range", "delete_partition", "truncate", "schema", "snapshot_range"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_change_without_a_row_behind_it(form: str, op: str, kind: str) -> None:
    """The definition that `schema` and `snapshot_range` have in `columns` is no change of columns called so."""
    table = definition(KINDS[kind].type, name="columns")
    without_key = op in ("truncate", "schema", "snapshot_range")
    made = message(
        form,
        table,
        op=op,
        partition_key=None if without_key else ORDINARY["partition_key"],
        clustering=ORDINARY["clustering"] if op == "delete_row" else None,
        range='{"start":null,"start_inclusive":true,"end":null,"end_inclusive":true}' if op == "delete_range" else None,
        columns=msgspec.json.encode(table).decode() if op in ("schema", "snapshot_range") else None,
    )
    letters = {"truncate": "t", "delete_row": "d"}
    if form == "cassandra":
        letters |= {"delete_range": "r", "delete_partition": "d"}
        assert (made["after"] is None) == without_key
    else:
        assert made["after"] is None
    assert made["op"] == letters.get(op, op)
    assert deltas(made["source"]) is None
    assert made["source"].get("set") is None


@pytest.mark.parametrize("form", FORMATS)
def test_a_column_set_to_null_is_told_from_one_that_was_not_touched(form: str) -> None:
    """`UPDATE t SET v = 2`, the same with `w = null`, and an INSERT of the key alone."""
    table = columns_of(v="int", w="int", z="int")
    one, both, none = (
        message(form, table, op="update", columns=text) for text in ('{"v":2}', '{"v":2,"w":null}', "{}")
    )
    assert [each["source"]["set"] for each in (one, both, none)] == [["v"], ["v", "w"], []]


@pytest.mark.parametrize("form", ["debezium", "with-schema", "avro"])
def test_a_sink_that_applies_what_was_set_has_the_table(form: str) -> None:
    """As the page says: of `after` the columns that `source.set` names."""
    table = columns_of(v="int", w="int", tags="set<text>")
    kept: dict[str, Any] = {}
    for columns in (
        '{"v":1,"w":1,"tags":{"replaced":true,"put":["x"]}}',
        '{"v":2}',
        '{"tags":{"replaced":false,"put":["y"]}}',
        '{"w":null}',
    ):
        made = message(form, table, op="update", columns=columns)
        kept |= {name: made["after"][name] for name in made["source"]["set"]}
    assert kept == {"v": 2, "w": None, "tags": ["x"]}


@pytest.mark.parametrize("form", ["debezium", "with-schema", "avro"])
def test_columns_of_an_image_that_are_not_known_are_not_named(form: str) -> None:
    """One that is known to be null is."""
    table = columns_of(v="int", w="int", z="int")
    envelope = Envelope(FORMATS[form], {table.id: table}.get, images=True)
    rows = [
        image("upsert", None, {**KEY, "v": 1, "w": None}, complete=False),
        image("delete", {**KEY, "v": 1}, None),
        image("update", None, {"id": 17, "w": 1}, is_static=True, clustering=None),
    ]
    made = [value_of(form, each.value) for each in envelope.messages(ImageRows(rows).to_arrow(), AT)]
    assert [each["source"].get("set") for each in made] == [["v", "w"], None, ["w"]]


def test_names_are_those_of_the_record() -> None:
    """Avro has no letters for some; a column that the definition has no more is not in `after`."""
    made = message("avro", columns_of(**{"zip code": "int"}), columns='{"zip code":1,"gone":2}')
    assert made["source"]["set"] == ["zip_x20code"]
    assert made["after"]["zip_x20code"] == 1


@pytest.mark.parametrize("form", FORMATS)
def test_what_a_server_answers_is_what_a_message_shows(form: str) -> None:
    """From the bytes of SELECT on: a list and a counter."""
    wide = plan(("a", "regular", "int"), ("l", "regular", "list<int>"))
    cells = (i32(-5), i64(100), None), (collection([i32(8), i32(9)]), collection([i64(100), i64(70)]), None)
    (wide_row,) = changes_of(wide, [(i32(1), *cells[0], *cells[1])])
    (counter_row,) = changes_of(COUNTED, [(i32(1), i64(-3), i64(50))])
    key = {"id": 7, "ck": 1}
    for made, each, columns in ((wide_row, wide, {"a": -5, "l": [8, 9]}), (counter_row, COUNTED, {"c": -3})):
        told = message(form, each.table.definition, **made)
        assert {name: shown(form, told["after"], name) for name in (*key, *columns)} == {**key, **columns}
        assert told["source"]["set"] == list(columns)
