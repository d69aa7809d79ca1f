"""Each row of a batch is written by the definition that was in force at its place."""

from __future__ import annotations

import json

from tailer.schema.model import TableDefinition
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.sinks.in_force import Version
from tests.unit.sinks.rows import ORDINARY, batch, row
from tests.unit.sinks.tables import table

ID = ORDINARY["table_id"]
PUT = '{"w":{"replaced":true,"put":["x"],"removed":[]}}'


def definition(**columns: str) -> TableDefinition:
    found = table(**columns)(ID)
    assert found is not None
    return found


NUMBER, WITHOUT, TEXTS = definition(w="int"), definition(), definition(w="set<text>")
VERSIONS = [Version((7, 0), NUMBER), Version((7, 100), WITHOUT), Version((8, 20), TEXTS)]


def after(form: str, *rows: tuple[int, int, str | None], **options: bool) -> list[object]:
    """What `after` has of w, of rows by segment, offset and columns."""
    envelope = Envelope(EnvelopeOptions(form, **options), lambda id: TEXTS, versions=lambda id: VERSIONS)  # type: ignore[arg-type]
    made = [row(segment=segment, offset=offset, columns=columns) for segment, offset, columns in rows]
    told = [json.loads(message.value or b"") for message in envelope.messages(batch(*made).to_arrow(), 0)]
    return [each.get("payload", each)["after"].get("w") for each in told]


def test_a_column_that_was_a_number_and_is_a_set_later() -> None:
    rows = (8, 20, PUT), (7, 99, '{"w":7}'), (6, 500, '{"w":6}'), (7, 101, "{}"), (9, 0, PUT)
    for form, options in (("debezium", {}), ("debezium", {"with_schema": True})):
        assert after(form, *rows, **options) == [["x"], 7, 6, None, ["x"]], (form, options)


def test_a_row_whose_column_the_definition_at_its_place_lacks_has_no_value() -> None:
    assert after("debezium", (7, 100, '{"w":7}'), with_schema=True) == [None]


def test_the_first_definition_counts_for_earlier_rows() -> None:
    assert after("debezium", (1, 0, '{"w":7}'), with_schema=True) == [7]


def test_what_a_server_has_is_written_by_the_newest_definition() -> None:
    """Its place says how far the log was read then: the server may be ahead of it."""
    envelope = Envelope(EnvelopeOptions("debezium", with_schema=True), lambda id: TEXTS, versions=lambda id: VERSIONS)
    made = row(op="snapshot", segment=7, offset=50, columns=PUT)
    (message,) = envelope.messages(batch(made).to_arrow(), 0)
    told = json.loads(message.value or b"")
    after = next(each for each in told["schema"]["fields"] if each["field"] == "after")
    assert [each["type"] for each in after["fields"] if each["field"] == "w"] == ["array"]


def test_a_row_without_a_place_has_the_newest_definition() -> None:
    envelope = Envelope(EnvelopeOptions("debezium"), lambda id: TEXTS, versions=lambda id: VERSIONS)
    (message,) = envelope.messages(batch(row(segment=None, offset=None, columns=PUT)).to_arrow(), 0)
    assert json.loads(message.value or b"")["after"]["w"] == ["x"]
