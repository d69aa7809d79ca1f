"""What a task of `tailer.spark.envelope` makes of Arrow batches as Spark gives them; without Spark."""

from __future__ import annotations

import json

import msgspec
import pyarrow as pa
import pytest

from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.spark.envelope import Job, made_messages
from tailer.spark.errors import CdcTailError
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
