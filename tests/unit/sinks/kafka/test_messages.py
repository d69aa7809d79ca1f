"""Rows as messages: key, value, headers, what decides the partition, and tombstones behind deletions of one row."""

from __future__ import annotations

import json
from typing import Any

from tailer.schema.model import TableDefinition
from tailer.sinks.kafka.messages import Message, Messages
from tailer.sinks.table_text import Tables
from tests.unit.sinks.rows import ORDINARY, batch, row
from tests.unit.sinks.tables import no_table, table


def made(*rows: tuple[Any, ...], tombstones: bool = False, tables: Tables = no_table) -> list[Message]:
    return list(Messages(None, tables, tombstones=tombstones).of(batch(*rows)))


def test_a_row_is_a_message_with_its_key_and_where_it_comes_from() -> None:
    first, second = made(row(), row(partition_key='{"id":18}', clustering=None, token=None, row=1))
    assert (first.row, first.keyspace, first.table, first.key) == (0, "shop", "orders", b'{"id":17,"at":"a"}')
    assert first.value is not None
    assert json.loads(first.value)["columns"] == {"state": "new", "total": 12.5}
    assert first.headers == (
        ("event_id", b"local:1795259642879:28:0"),
        ("node", b"local"),
        ("position", b"1795259642879:28"),
    )
    assert (first.token, second.token) == (-42, None)
    assert (second.row, second.key) == (1, b'{"id":18}')


def test_a_change_of_no_partition_has_no_key() -> None:
    (message,) = made(row(op="truncate", partition_key=None, clustering=None, columns=None))
    assert message.key is None


def test_a_tombstone_stands_behind_what_deletes_the_row_of_its_key() -> None:
    deleted = row(op="delete_row", columns=None, row=1)
    of_more = row(op="delete_range", clustering=None, columns=None)
    messages = made(row(), deleted, of_more, tombstones=True)
    assert [(message.row, message.value is None) for message in messages] == [
        (0, False),
        (1, False),
        (1, True),
        (2, False),
    ]
    assert messages[1].key == messages[2].key == b'{"id":17,"at":"a"}'
    assert messages[1].headers == messages[2].headers
    assert all(message.value is not None for message in made(row(), deleted, of_more))


def test_a_partition_that_is_one_row_has_a_tombstone_too() -> None:
    deleted = row(op="delete_partition", clustering=None, columns=None)
    assert len(made(deleted, tombstones=True, tables=table())) == 1
    known = table()(ORDINARY["table_id"])
    assert known is not None
    single = TableDefinition(known.id, "shop", "orders", known.partition_key)
    assert len(made(deleted, tombstones=True, tables={single.id: single}.get)) == 2
