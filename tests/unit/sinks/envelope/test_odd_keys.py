"""Keys of addresses and times that print as others do, in every format of messages: each row has a key of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.messages import Message
from tailer.sinks.envelope.options import EnvelopeOptions
from tests.helpers.odd_keys import INETS, KEYS, TABLE, TIMES, insert
from tests.unit.rows.twins import build_both
from tests.unit.rows.typed.scanned import definition_of, scanned
from tests.unit.sinks.envelope.made import AT

DEFINITION = definition_of(TABLE)
NANOS = [int.from_bytes(c, "big", signed=True) for _ in INETS for c in TIMES]


def messages(form: Any, **options: Any) -> list[Message]:
    rows = build_both(*scanned(DEFINITION, [(insert(number),) for number in range(len(KEYS))])).batch
    known = {DEFINITION.id: DEFINITION}
    return list(Envelope(EnvelopeOptions(form, **options), known.get).messages(rows.to_arrow(), AT))


def test_debezium() -> None:
    found = messages("debezium")
    assert [json.loads(message.key) for message in found] == [{"k": k, "c": c} for k, c in KEYS]


def test_debezium_with_a_schema() -> None:
    """Times are numbers there."""
    found = messages("debezium", with_schema=True)
    expected = [(k, nanos) for (k, _), nanos in zip(KEYS, NANOS, strict=True)]
    for rows in (
        [json.loads(message.key)["payload"] for message in found],
        [json.loads(message.value or b"")["payload"]["after"] for message in found],
    ):
        assert [(row["k"], row["c"]) for row in rows] == expected


@pytest.mark.parametrize("form", ["rows", "debezium-avro", "debezium-cassandra"])
def test_each_has_its_own(form: str) -> None:
    assert len({bytes(message.key) for message in messages(form)}) == len(KEYS)
