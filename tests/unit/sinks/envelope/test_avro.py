"""The format `debezium-avro`, read by fastavro's own readers; the registry is a stand-in of its documented answers."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tailer.errors import CdcError, DefinitionError, SinkError, UsageError
from tailer.schema.model import TypeField
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.messages import Message
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.sinks.envelope.registry import HttpRegistry
from tailer.sinks.outlet import TargetAwayError
from tailer.sinks.table_text import Tables
from tests.helpers.schema_registry import StandIn, registry
from tests.unit.sinks.envelope.made import AT
from tests.unit.sinks.rows import batch, row
from tests.unit.sinks.tables import no_table, table

fastavro = pytest.importorskip("fastavro")

TABLE = table(state="text", total="decimal")
TYPES = {"address": (TypeField("street", "text"), TypeField("zip code", "int"))}


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with registry() as running:
        yield running


def messages(*rows: tuple[Any, ...], tables: Tables = TABLE, **options: Any) -> list[Message]:
    envelope = Envelope(EnvelopeOptions("debezium-avro", **options), tables)
    return list(envelope.messages(batch(*rows).to_arrow(), AT))


def opened(value: bytes | None) -> Any:
    """The record of a container."""
    assert value is not None
    (record,) = fastavro.reader(io.BytesIO(value))
    return record


def read(wire: bytes | None, stand_in: StandIn) -> Any:
    """The record of Confluent's wire form: a zero byte, the schema's id in four, the record."""
    assert wire is not None
    assert wire[0] == 0
    schema = json.loads(stand_in.schemas[int.from_bytes(wire[1:5], "big")])
    return fastavro.schemaless_reader(io.BytesIO(wire[5:]), schema, None)


def test_without_a_registry_a_value_opens_by_itself() -> None:
    (message,) = messages(row())
    told = opened(message.value)
    assert told["after"] == {"id": 17, "at": "a", "state": "new", "total": "12.50"}
    assert (told["before"], told["op"], told["ts_ms"]) == (None, "c", AT)
    assert told["source"] | {"version": ""} == {
        "version": "", "connector": "cdc-tail", "name": "cdc-tail", "ts_ms": 1_795_259_642_123,
        "ts_us": 1_795_259_642_123_456, "keyspace": "shop", "table": "orders", "node": "local",
        "segment": 1795259642879, "offset": 28, "event_id": "local:1795259642879:28:0", "partial": True,
        "set": ["state", "total"], "static": False, "ttl": None, "expires_at": None, "cells": None, "deltas": None,
        "range": None, "txn": None, "attrs": None,
    }  # fmt: skip
    assert message.key == b'{"id":17,"at":"a"}'


def test_the_same_row_is_the_same_bytes() -> None:
    assert messages(row()) == messages(row())


def test_with_a_registry_keys_and_values_have_its_ids(stand_in: StandIn) -> None:
    (message,) = messages(row(), registry=stand_in.address, topic="a.{table}")
    assert read(message.key, stand_in) == {"id": 17, "at": "a"}
    assert read(message.value, stand_in)["after"]["state"] == "new"
    assert list(stand_in.subjects) == ["a.orders-key", "a.orders-value"]


def test_ids_of_eight_bytes(stand_in: StandIn) -> None:
    """As Apicurio's readers before 3.0 take them: `DefaultIdHandler`."""
    plain, wide = (messages(row(), registry=stand_in.address, registry_ids=number)[0] for number in (4, 8))
    for four, eight in ((plain.key, wide.key), (plain.value, wide.value)):
        assert four is not None
        assert eight == b"\0" + bytes(4) + four[1:]


def test_a_schema_is_registered_once(stand_in: StandIn) -> None:
    envelope = Envelope(EnvelopeOptions("debezium-avro", registry=stand_in.address), TABLE)
    for _ in range(3):
        envelope.messages(batch(row(), row()).to_arrow(), AT)
    assert len(stand_in.asked) == 2


def test_deletes(stand_in: StandIn) -> None:
    gone = {"columns": None}
    made = messages(
        row(op="delete_row", **gone),
        row(op="delete_partition", clustering=None, **gone),
        row(op="truncate", partition_key=None, clustering=None, **gone),
        registry=stand_in.address,
        tombstones=True,
    )
    assert [message.value is None for message in made] == [False, True, False, False]
    told = [read(message.value, stand_in) for message in made if message.value is not None]
    assert [each["op"] for each in told] == ["d", "delete_partition", "t"]
    assert told[0]["before"] == {"id": 17, "at": "a", "state": None, "total": None}
    assert [each["after"] for each in told] == [None] * 3
    assert [each["before"] for each in told[1:]] == [None] * 2
    assert read(made[2].key, stand_in) == {"id": 17, "at": None}
    assert made[3].key is None


@pytest.mark.parametrize(
    ("type_", "json_", "expected"),
    [
        ("tinyint", "-1", -1), ("bigint", "9007199254740993", 9007199254740993), ("boolean", "true", True),
        ("double", "1.5", 1.5), ("double", '"-Infinity"', float("-inf")), ("blob", '"0xcafe"', b"\xca\xfe"),
        ("text", '"é"', "é"), ("text", '""', ""), ("int", '""', None), ("int", "null", None),
        ("varint", "123456789012345678901234567890", "123456789012345678901234567890"),
        ("date", '"2020-02-29"', datetime.date(2020, 2, 29)), ("time", '"00:00:01.000000002"', 1_000_000_002),
        ("timestamp", '"2015-05-03 13:30:54.234Z"', datetime.datetime(2015, 5, 3, 13, 30, 54, 234000, datetime.UTC)),
        ("inet", '"127.0.0.1"', "127.0.0.1"), ("duration", '"1y2mo3d"', "1y2mo3d"),
        ("frozen<list<int>>", "[1,null]", [1, None]), ("frozen<map<int, blob>>", '{"1":"0x00"}', {"1": b"\0"}),
        ("frozen<tuple<int, text>>", '[1,"x"]', {"_1": 1, "_2": "x"}),
        ("frozen<address>", '{"street":"s","zip code":1}', {"street": "s", "zip_x20code": 1}),
        ("frozen<list<frozen<address>>>", '[{"street":"s","zip code":1}]', [{"street": "s", "zip_x20code": 1}]),
        ("vector<float, 2>", "[1.5,2.5]", [1.5, 2.5]),
    ],
)  # fmt: skip
def test_values(type_: str, json_: str, expected: Any) -> None:
    # Beside it a column of the same type: a record is defined once in a schema.
    tables = table(types=TYPES, c=type_, d=type_)
    (message,) = messages(row(columns=f'{{"c":{json_},"d":{json_}}}'), tables=tables)
    after = opened(message.value)["after"]
    assert after["c"] == after["d"] == expected


def test_names_that_avro_refuses(stand_in: StandIn) -> None:
    tables = table(**{"1": "int", "a b": "int"})
    (message,) = messages(row(columns='{"1":1,"a b":2}'), tables=tables, registry=stand_in.address)
    assert read(message.value, stand_in)["after"] == {"id": 17, "at": "a", "_1": 1, "a_x20b": 2}
    with pytest.raises(UsageError, match=r"shop\.orders become one"):
        messages(row(), tables=table(**{"a b": "int", "a_x20b": "int"}))


def test_a_table_that_nothing_defines_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"nothing defines shop\.orders"):
        messages(row(), tables=no_table)


def test_a_row_that_its_definition_does_not_fit_is_refused() -> None:
    with pytest.raises(SinkError, match="1795259642879:28"):
        messages(row(columns='{"state":1}'), tables=table(state="date"))


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (409, b'{"error_code":409,"message":"incompatible"}', SinkError, "orders-key.*409 .*incompatible"),
        (422, b'{"error_code":42201,"message":"Invalid Avro schema"}', SinkError, "Invalid Avro schema"),
        (401, b"", UsageError, "CDC_TAIL_REGISTRY_USER"),
        (403, b"", UsageError, "CDC_TAIL_REGISTRY_USER"),
        (500, b"", TargetAwayError, "cannot answer now"),
        (503, b"", TargetAwayError, "cannot answer now"),
        (429, b"", TargetAwayError, "cannot answer now"),
        (200, b"<html>", SinkError, "gave no id"),
        (200, b'{"id":true}', SinkError, "gave no id"),
        (200, b"[]", SinkError, "gave no id"),
    ],
)
def test_what_a_registry_answers(stand_in: StandIn, status: int, body: bytes, kind: type[CdcError], says: str) -> None:
    stand_in.answer = status, body
    with pytest.raises(kind, match=says):
        messages(row(), registry=stand_in.address)


def test_a_registry_that_is_not_there_is_away() -> None:
    with registry() as stopped:
        address = stopped.address
    with pytest.raises(TargetAwayError, match="does not answer"):
        messages(row(), registry=address)


def test_user_and_password_come_from_the_environment(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    messages(row(), registry=stand_in.address)
    monkeypatch.setenv("CDC_TAIL_REGISTRY_USER", "Aladdin")
    monkeypatch.setenv("CDC_TAIL_REGISTRY_PASSWORD", "open sesame")
    messages(row(), registry=stand_in.address)
    # The example of RFC 7617.
    assert [told for _, told in stand_in.asked] == [None, None, *["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="] * 2]


@pytest.mark.parametrize("address", ["registry:8081", "ftp://registry", "http://", "http://me:secret@registry"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="--registry"):
        HttpRegistry(address)


@pytest.mark.parametrize(
    "options", [{"format": "rows", "registry": "http://r"}, {"format": "rows", "with_schema": True}, {"format": "x"}]
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"--(registry|with-schema|format)"):
        Envelope(EnvelopeOptions(**options), no_table)
