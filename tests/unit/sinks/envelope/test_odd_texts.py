"""Keys and values that UTF-8 refuses in every format of messages: four rows are four keys (`helpers.odd_texts`)."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.messages import Message
from tailer.sinks.envelope.options import EnvelopeOptions
from tests.helpers.odd_texts import BYTES, KEYS, READ, TABLE, insert
from tests.unit.rows.twins import build_both
from tests.unit.rows.typed.scanned import definition_of, scanned
from tests.unit.sinks.envelope.made import AT

DEFINITION = definition_of(TABLE)


def messages(form: Any, **options: Any) -> list[Message]:
    rows = build_both(*scanned(DEFINITION, [(insert(text),) for text in BYTES])).batch
    known = {DEFINITION.id: DEFINITION}
    return list(Envelope(EnvelopeOptions(form, **options), known.get).messages(rows.to_arrow(), AT))


def fields(value: bytes | None) -> Any:
    assert value is not None
    return json.loads(value)


def record(value: bytes | None) -> Any:
    fastavro = pytest.importorskip("fastavro")
    assert value is not None
    (found,) = fastavro.reader(io.BytesIO(value))
    return found


@pytest.mark.parametrize(("form", "read"), [("debezium", fields), ("debezium-avro", record)])
def test_debezium(form: str, read: Any) -> None:
    found = messages(form)
    assert [fields(message.key) for message in found] == [{"k": key, "c": key} for key in KEYS]
    for message, key, value in zip(found, KEYS, READ, strict=True):
        after = read(message.value)["after"]
        assert (after["k"], after["c"], after["v"]) == (key, key, value)
        frozen = after["f"]
        assert (json.loads(frozen) if isinstance(frozen, str) else frozen) == {key: [value]}


def test_debezium_with_a_schema() -> None:
    found = [fields(message.key)["payload"] for message in messages("debezium", with_schema=True)]
    assert found == [{"k": key, "c": key} for key in KEYS]


def test_debezium_cassandra() -> None:
    found = messages("debezium-cassandra")
    assert len({message.key for message in found}) == 4
    for message, key, value in zip(found, KEYS, READ, strict=True):
        text = json.dumps(fields(message.value), ensure_ascii=False)
        assert json.dumps(key, ensure_ascii=False) in text
        assert json.dumps(value, ensure_ascii=False) in text


def test_rows_as_messages() -> None:
    assert len({message.key for message in messages("rows")}) == 4
