"""What messages of every format have besides their value: topics, keys, headers, tombstones; and the format `rows`."""

from __future__ import annotations

import json

import pytest

from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tests.unit.sinks.rows import batch, row
from tests.unit.sinks.tables import no_table

DELETE = {"op": "delete_row", "columns": None}


def test_a_row_is_its_json_line() -> None:
    made = batch(row(), row(**DELETE), row(partition_key='{"id":"\\u0001é\\""}', node='a"b'))
    messages = Envelope(EnvelopeOptions(), no_table).messages(made.to_arrow(), 0)
    assert messages.lines() == made.json_lines()
    assert [message.value for message in messages] == made.json_lines().splitlines()


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, '{"id":17,"at":"a"}'),
        ({"partition_key": '{"a":1,"b":"x"}', "clustering": None}, '{"a":1,"b":"x"}'),
        ({"op": "delete_partition", "clustering": None, "columns": None}, '{"id":17}'),
        ({"op": "truncate", "partition_key": None, "clustering": None, "columns": None}, None),
    ],
)
def test_the_key_is_the_primary_key(changes: dict[str, str], key: str | None) -> None:
    # A row of another kind beside it: columns are joined in one go only where all rows have them.
    for others in ((), (row(),), (row(clustering=None),)):
        made = batch(row(**changes), *others).to_arrow()
        messages = Envelope(EnvelopeOptions(), no_table).messages(made, 0)
        assert messages.key[0].as_py() == (key and key.encode())


def test_headers_say_where_a_change_stands() -> None:
    (message,) = Envelope(EnvelopeOptions(), no_table).messages(
        batch(row(node="n1", event_id="n1:7:8:9", segment=7, offset=8)).to_arrow(), 0
    )
    assert message.headers == (("event_id", b"n1:7:8:9"), ("node", b"n1"), ("position", b"7:8"))


def test_a_tombstone_stands_behind_each_delete_of_a_row() -> None:
    made = batch(row(**DELETE), row(), row(op="delete_partition", clustering=None, columns=None), row(**DELETE))
    plain = list(Envelope(EnvelopeOptions(), no_table).messages(made.to_arrow(), 0))
    messages = Envelope(EnvelopeOptions(tombstones=True), no_table).messages(made.to_arrow(), 0)
    assert [(each.row, each.value is None) for each in messages] == [
        (0, False), (0, True), (1, False), (2, False), (3, False), (3, True),
    ]  # fmt: skip
    assert [each for each in messages if each.value is not None] == plain
    first, tombstone = list(messages)[:2]
    assert tombstone == first._replace(value=None)
    assert messages.lines() == made.json_lines()


def test_no_rows_are_no_messages() -> None:
    messages = Envelope(EnvelopeOptions(tombstones=True), no_table).messages(batch().to_arrow(), 0)
    assert list(messages) == []
    assert messages.lines() == b""


def test_a_row_is_one_object_a_line() -> None:
    messages = Envelope(EnvelopeOptions(), no_table).messages(batch(row()).to_arrow(), 0)
    assert json.loads(messages.lines())["columns"] == {"state": "new", "total": 12.5}
