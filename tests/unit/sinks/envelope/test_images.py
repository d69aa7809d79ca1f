"""Images as messages: whole rows on both sides where they are known, and what is not known told as such."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tailer.errors import UsageError
from tailer.images.image import Image
from tailer.images.image_rows import ImageRows
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.messages import Message
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.sinks.table_text import Tables
from tests.helpers.image_files import CAUSE, image
from tests.unit.sinks.envelope.made import AT
from tests.unit.sinks.tables import no_table, table

TABLE = table(state="text", total="decimal")
KEY = {"id": 17, "at": "a"}
ONE, TWO = {**KEY, "state": "new", "total": None}, {**KEY, "state": "paid", "total": 12.5}


def messages(*images: Image, form: str = "debezium", tables: Tables = no_table, **options: Any) -> list[Message]:
    envelope = Envelope(EnvelopeOptions(form, **options), tables, images=True)
    return list(envelope.messages(ImageRows(images).to_arrow(), AT))


def value(made: Image, **options: Any) -> Any:
    (message,) = messages(made, **options)
    return json.loads(message.value or b"null")


@pytest.mark.parametrize(
    ("op", "before", "after", "letter"),
    [
        ("insert", None, ONE, "c"),
        ("update", ONE, TWO, "u"),
        ("upsert", None, ONE, "r"),
        ("delete", TWO, None, "d"),
        ("expire", TWO, None, "d"),
    ],
)
def test_both_sides(op: str, before: Any, after: Any, letter: str) -> None:
    told = value(image(op, before, after))
    assert (told["before"], told["after"], told["op"], told["source"]["partial"]) == (before, after, letter, False)
    assert list(told) == ["before", "after", "source", "op", "ts_ms"]


def test_the_source() -> None:
    source = value(image("update", ONE, TWO, prev_seq=4))["source"]
    assert source["ts_us"] == 1_795_259_642_123_456
    assert {name: source[name] for name in ("node", "segment", "offset", "event_id")} == {
        name: CAUSE[name] for name in ("node", "segment", "offset", "event_id")
    }
    assert (source["image"], source["seq"], source["prev_seq"], len(source["image_id"])) == ("update", 9, 4, 32)
    (message,) = messages(image("update", ONE, TWO, prev_seq=4))
    assert dict(message.headers) == {
        "event_id": source["image_id"].encode(), "node": b"n1", "position": b"5:28",
    }  # fmt: skip
    assert (message.key, message.token) == (b'{"id":17,"at":"a"}', 7)


def test_what_time_alone_did_has_no_row_of_a_log() -> None:
    made = image("expire", ONE, None, write_ts=None, **dict.fromkeys(CAUSE))
    source = value(made)["source"]
    assert [source[name] for name in ("ts_ms", "ts_us", "node", "segment", "offset", "event_id")] == [None] * 6
    (message,) = messages(made)
    assert (dict(message.headers)["node"], dict(message.headers)["position"]) == (None, None)


def test_a_row_that_is_not_known_whole() -> None:
    told = value(image("upsert", None, {**KEY, "state": "x"}, complete=False))
    assert (told["after"], told["source"]["partial"]) == ({**KEY, "state": "x"}, True)
    gone = value(image("delete", None, None, complete=False))
    assert (gone["op"], gone["before"], gone["after"]) == ("d", KEY, None)


def test_a_static_row_has_the_partition_s_key() -> None:
    made = image("delete", {"id": 17, "s": 1}, None, is_static=True, clustering=None)
    told = value(made)
    assert (told["op"], told["before"], told["source"]["static"]) == ("d", {"id": 17, "s": 1}, True)
    assert [message.key for message in messages(made, tombstones=True)] == [b'{"id":17}'] * 2


@pytest.mark.parametrize("op", ["truncate", "schema", "drop"])
def test_of_a_whole_table(op: str) -> None:
    made = image(op, token=None, partition_key=None, clustering=None)
    told = value(made)
    letter = "t" if op == "truncate" else op
    assert (told["op"], told["before"], told["after"], told["source"]["image"]) == (letter, None, None, op)
    (message,) = messages(made, tombstones=True)
    assert (message.key, message.token) == (None, None)


def test_of_rows_that_nobody_knows() -> None:
    bounds = '{"start":null,"end":null}'
    told = value(image("delete_range", clustering=None, range=bounds, complete=False))
    assert (told["op"], told["before"], told["source"]["range"]) == ("delete_range", None, json.loads(bounds))


def test_tombstones_stand_behind_what_is_gone() -> None:
    made = messages(image("insert", None, ONE), image("delete", ONE, None), image("expire", ONE, None), tombstones=True)
    assert [(message.row, message.value is None) for message in made] == [
        (0, False), (1, False), (1, True), (2, False), (2, True),
    ]  # fmt: skip


def test_rows_are_the_lines_of_the_terminal() -> None:
    images = [
        image("update", ONE, TWO, changed=("state", 'a "b"')),
        image("delete_range", clustering=None, range='{"start":null}', changed=(), complete=False),
        image("expire", ONE, None, write_ts=None, **dict.fromkeys(CAUSE)),
        image("schema", token=None, partition_key=None, clustering=None, prev_seq=1),
    ]
    made = [message.value for message in messages(*images, form="rows")]
    assert b"\n".join(map(bytes, made)) + b"\n" == ImageRows(images).json_lines()


def test_with_a_schema() -> None:
    told = value(image("update", ONE, TWO), with_schema=True, tables=TABLE)
    payload, fields = told["payload"], {field["field"]: field for field in told["schema"]["fields"]}
    assert (payload["before"], payload["after"]) == ({**ONE}, {**TWO, "total": "12.5"})
    source = {field["field"]: field["type"] for field in fields["source"]["fields"]}
    assert [source[name] for name in ("image", "image_id", "seq", "prev_seq")] == ["string", "string", "int64", "int64"]
    gone = value(image("delete", None, None, complete=False), with_schema=True, tables=TABLE)["payload"]
    assert (gone["before"], gone["after"]) == (KEY, None)


def test_in_avro() -> None:
    fastavro = pytest.importorskip("fastavro")
    gone = image("expire", TWO, None, write_ts=None, **dict.fromkeys(CAUSE))
    made = messages(image("update", ONE, TWO), gone, form="debezium-avro", tables=TABLE)
    told = [next(iter(fastavro.reader(io.BytesIO(message.value or b"")))) for message in made]
    assert (told[0]["before"], told[0]["after"]) == (ONE, {**TWO, "total": "12.5"})
    assert (told[0]["source"]["partial"], told[0]["source"]["seq"], told[0]["source"]["node"]) == (False, 9, "n1")
    assert (told[1]["op"], told[1]["after"], told[1]["source"]["node"]) == ("d", None, None)


def test_the_form_of_debezium_s_connector_is_of_rows() -> None:
    with pytest.raises(UsageError, match="rows or debezium or debezium-avro"):
        messages(image("insert", None, ONE), form="debezium-cassandra")


@pytest.mark.parametrize("options", [{"form": "debezium"}, {"with_schema": True}, {"form": "debezium-avro"}])
def test_a_counter_has_its_value(options: dict[str, Any]) -> None:
    (message,) = messages(image("update", {**KEY, "n": 2}, {**KEY, "n": -7}), tables=table(n="counter"), **options)
    if options.get("form") == "debezium-avro":
        fastavro = pytest.importorskip("fastavro")
        (told,) = fastavro.reader(io.BytesIO(message.value or b""))
    else:
        told = json.loads(message.value or b"")
    told = told.get("payload", told)
    assert (told["before"], told["after"]) == ({**KEY, "n": 2}, {**KEY, "n": -7})
