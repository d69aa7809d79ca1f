"""Columns that rows have behind all others, in the `source` of every format, and in its schema."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tailer.rows.widened import WidenedBatch
from tailer.schema.extras import Extras, Origin
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tests.unit.sinks.envelope.made import AT
from tests.unit.sinks.rows import batch, row
from tests.unit.sinks.tables import table

TABLE = table(state="text", total="decimal")
EXTRAS = Extras(Origin('sh"op', "dc1", "r1"), True)
SAID = {"cluster": 'sh"op', "dc": "dc1", "rack": "r1"}


def values(format: str, *, wide: bool = True, **options: Any) -> list[bytes]:
    rows = batch(row(), row(), row())
    arrow = (WidenedBatch(rows, EXTRAS, [True, False, None]) if wide else rows).to_arrow()
    made = Envelope(EnvelopeOptions(format, **options), TABLE).messages(arrow, AT)
    return [message.value or b"" for message in made]


def told(source: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    return {name: source[name] for name in SAID}, source["primary"]


@pytest.mark.parametrize("format", ["debezium", "debezium-cassandra"])
def test_the_source_has_them(format: str) -> None:
    found = [told(json.loads(value)["source"]) for value in values(format)]
    assert found == [(SAID, True), (SAID, False), (SAID, None)]
    plain = json.loads(values(format, wide=False)[0])["source"]
    # The connector's own word is the source's name where nobody asked for the server's.
    assert plain.get("cluster") == ("cdc-tail" if format == "debezium-cassandra" else None)
    assert "primary" not in plain


def test_a_schema_says_them_where_they_are() -> None:
    for wide in (True, False):
        made = json.loads(values("debezium", wide=wide, with_schema=True)[0])
        (source,) = [field for field in made["schema"]["fields"] if field["field"] == "source"]
        names = {field["field"]: field["type"] for field in source["fields"]}
        assert (names.get("rack"), names.get("primary")) == (("string", "boolean") if wide else (None, None))
        assert made["payload"]["source"].keys() <= names.keys()


def test_avro() -> None:
    fastavro = pytest.importorskip("fastavro")
    records = [next(fastavro.reader(io.BytesIO(value))) for value in values("debezium-avro")]
    assert [told(record["source"]) for record in records] == [(SAID, True), (SAID, False), (SAID, None)]
    assert "rack" not in next(fastavro.reader(io.BytesIO(values("debezium-avro", wide=False)[0])))["source"]


def test_rows_are_the_lines_of_the_terminal() -> None:
    rows = WidenedBatch(batch(row(), row()), EXTRAS, [True, None])
    made = Envelope(EnvelopeOptions("rows"), TABLE).messages(rows.to_arrow(), AT)
    assert b"".join((message.value or b"") + b"\n" for message in made) == rows.json_lines()
