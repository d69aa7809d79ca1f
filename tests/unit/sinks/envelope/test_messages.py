"""What messages of every format have besides their value: topics, keys, headers, tombstones; and the format `rows`."""

from __future__ import annotations

import json

import pytest

from tailer.errors import UsageError
from tailer.sinks.envelope.envelope import Envelope, EnvelopeOptions
from tailer.sinks.envelope.topics import Topics, escaped
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
        ({"op": "truncate", "partition_key": None, "clustering": None, "columns": None}, "{}"),
    ],
)
def test_the_key_is_the_primary_key(changes: dict[str, str], key: str) -> None:
    # A row of another kind beside it: columns are joined in one go only where all rows have them.
    for others in ((), (row(),), (row(clustering=None),)):
        made = batch(row(**changes), *others).to_arrow()
        messages = Envelope(EnvelopeOptions(), no_table).messages(made, 0)
        assert messages.key[0].as_py() == key.encode()


def test_headers_say_where_a_change_stands() -> None:
    (message,) = Envelope(EnvelopeOptions(), no_table).messages(
        batch(row(node="n1", event_id="n1:7:8:9", segment=7, offset=8)).to_arrow(), 0
    )
    assert message.headers == [("event_id", b"n1:7:8:9"), ("node", b"n1"), ("position", b"7:8")]


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


def test_each_table_has_its_topic() -> None:
    made = batch(row(), row(keyspace="a", table="b"), row()).to_arrow()
    messages = Envelope(EnvelopeOptions(topic="cdc-{keyspace}.{table}"), no_table).messages(made, 0)
    assert messages.topic.to_pylist() == ["cdc-shop.orders", "cdc-a.b", "cdc-shop.orders"]


def test_names_that_kafka_refuses_are_spelled_in_hex_digits() -> None:
    assert Topics("{keyspace}.{table}").of("ks.1", "naïve-t") == "ks-2e1.na-c3-afve-2dt"


def test_no_two_names_become_one() -> None:
    names = ["a-2e", "a.", "a_", "a-", "a-2d", "a2d", "ä", "a", "A"]
    assert len({escaped(name) for name in names}) == len(names)


@pytest.mark.parametrize("template", ["{node}", "a b", "ä.{table}", "{", "{keyspace}.{table}}", "{}"])
def test_a_template_that_makes_no_topic_is_refused(template: str) -> None:
    with pytest.raises(UsageError, match="--topic"):
        Topics(template)


@pytest.mark.parametrize(("template", "table"), [("{table}", "t" * 250), ("", "t"), ("..", "t"), (".", "t")])
def test_a_topic_that_kafka_does_not_take_is_refused(template: str, table: str) -> None:
    with pytest.raises(UsageError, match="--topic"):
        Topics(template).of("ks", table)


def test_two_tables_with_one_topic_are_refused_where_the_template_tells_them_apart() -> None:
    topics = Topics("{keyspace}_{table}")
    assert topics.of("a_b", "c") == "a_b_c"
    with pytest.raises(UsageError, match=r"a_b\.c and a\.b_c"):
        topics.of("a", "b_c")
    together = Topics("all")
    assert together.of("a", "b") == together.of("c", "d") == "all"


def test_a_row_is_one_object_a_line() -> None:
    messages = Envelope(EnvelopeOptions(), no_table).messages(batch(row()).to_arrow(), 0)
    assert json.loads(messages.lines())["columns"] == {"state": "new", "total": 12.5}
