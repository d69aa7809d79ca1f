"""What a task of `tailer.spark.envelope` makes of Arrow batches as Spark gives them; without Spark."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from tailer.errors import UsageError
from tailer.rebuild import Table
from tailer.rows.typed.form import form_of
from tailer.schema.model import Column, TableDefinition
from tailer.schema.typed import TypedColumn, TypedOptions, TypedTable, typed_table
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.spark.envelope import Job, made_messages, typed_of
from tailer.spark.errors import CdcTailError
from tailer.spark.form import form_schema
from tests.unit.sinks.rows import ORDINARY, batch, row
from tests.unit.sinks.tables import table


def job(**options: object) -> bytes:
    tables = table(tags="set<text>")
    known = tables(ORDINARY["table_id"])
    assert known is not None
    return msgspec.json.encode(Job(EnvelopeOptions(**options), {known.id: known}, None))  # type: ignore[arg-type]


def test_a_batch_becomes_a_batch_of_messages() -> None:
    rows = batch(row(op="delete_row", columns=None), row(event_id="e", node="n", segment=7, offset=8)).to_arrow()
    (made,) = made_messages(job(format="debezium", topic="a.{table}", tombstones=True), [rows])
    assert made.schema.equals(
        pa.schema([
            ("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary()),
            ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ])
    )  # fmt: skip
    told = made.to_pylist()
    assert [each["topic"] for each in told] == ["a.orders"] * 3
    assert [each["key"] for each in told] == [b'{"id":17,"at":"a"}'] * 3
    assert [each["value"] and json.loads(each["value"])["op"] for each in told] == ["d", None, "c"]
    assert told[2]["headers"] == [
        {"key": "event_id", "value": b"e"}, {"key": "node", "value": b"n"}, {"key": "position", "value": b"7:8"},
    ]  # fmt: skip


def test_definitions_travel_along() -> None:
    change = '{"tags":{"replaced":true,"put":["x"]}}'
    (made,) = made_messages(job(format="debezium"), [batch(row(columns=change)).to_arrow()])
    assert json.loads(made.to_pylist()[0]["value"])["after"]["tags"] == ["x"]


def test_errors_are_those_that_sparks_users_see() -> None:
    other = row(table_id="00000000-0000-0000-0000-000000000000", columns='{"c":{"replaced":true}}')
    with pytest.raises(CdcTailError, match=r"\[CDC-3\] nothing defines shop\.orders"):
        list(made_messages(job(format="debezium"), [batch(other).to_arrow()]))


KEY = Column("id", "partition_key", "int", 0)


def with_b(type_: str, **more: Any) -> TableDefinition:
    """A table with one column besides its key."""
    return TableDefinition("00" * 16, "ks", "t", (KEY, Column("b", "regular", type_, **more)), cdc=True)


def frame_of(form: TypedTable) -> Any:
    """Of a DataFrame what tells of its form."""
    schema = form_schema(form)
    return SimpleNamespace(columns=schema.names, schema=schema)


AGAIN = with_b("blob", dropped_time=5, added_time=90)


@pytest.mark.parametrize(
    ("type_", "name"),
    [("text", "b_dropped_text"), ("decimal", "b_dropped_decimal"), ("list<int>", None)],
)
@pytest.mark.parametrize("decimals", ["decimal", "string"])
def test_a_typed_form_with_a_column_of_before_its_name_was_given_again(
    type_: str, name: str | None, decimals: Any
) -> None:
    """O10: the frame of `option("table", …)` has `b_dropped_text` behind `b` (docs/change-rows.md)."""
    form = typed_table(AGAIN, [with_b(type_), AGAIN], TypedOptions(decimals=decimals))
    found = typed_of(frame_of(form), [Table.of(AGAIN, [with_b(type_)])])
    assert found is not None
    assert name is None or [column.name for column in found.columns] == ["id", "b", name]
    assert found.columns[:2] == (TypedColumn("id", "partition_key", "int"), TypedColumn("b", "regular", "blob"))
    earlier = found.columns[2]
    assert (earlier.kind, earlier.type, earlier.of, found.decimals) == (
        "regular", type_, "b", decimals if type_ == "decimal" else "decimal",
    )  # fmt: skip


def test_the_type_of_such_a_column_is_in_its_name() -> None:
    form = typed_table(AGAIN, [with_b("text"), AGAIN], TypedOptions())
    found = typed_of(frame_of(form), [Table.of(AGAIN)])
    assert found is not None
    assert found.columns[2] == TypedColumn("b_dropped_text", "regular", "text", of="b")


def test_a_value_of_such_a_column_has_the_name_that_it_had() -> None:
    form = typed_table(AGAIN, [with_b("text"), AGAIN], TypedOptions())
    found = typed_of(frame_of(form), [Table.of(AGAIN)])
    values = dict.fromkeys(form_schema(form).names) | {
        "id": 7, "b_dropped_text": "0xff", "_op": "update", "_set": ["b_dropped_text"], "_table_id": AGAIN.id,
        "_is_static": False, "_write_ts": 40, "_token": 1, "_node": "n", "_segment": 1, "_offset": 2, "_row": 0,
        "_event_id": "e",
    }  # fmt: skip
    batch = pa.RecordBatch.from_pylist([values], schema=form_of(form).schema)
    sent = msgspec.json.encode(Job(EnvelopeOptions(format="debezium"), {AGAIN.id: AGAIN}, found))
    (made,) = made_messages(sent, [batch])
    assert json.loads(made.to_pylist()[0]["value"])["after"] == {"id": 7, "b": "0xff"}


@pytest.mark.parametrize("name", ["c_dropped_text", "b_dropped_list_00000000", "b_dropped_", "c"])
def test_a_column_that_the_table_never_had(name: str) -> None:
    form = TypedTable("ks.t", (TypedColumn("id", "partition_key", "int"), TypedColumn(name, "regular", "text")))
    with pytest.raises(UsageError, match=r"a column of ks\.t") as caught:
        typed_of(frame_of(form), [Table.of(AGAIN)])
    assert (caught.value.found, "table_definition" in caught.value.remedy) == (repr(name), True)
