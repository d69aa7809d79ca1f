"""Rows that wait: how long their messages are, which rows are left out, and what decides the partition."""

from __future__ import annotations

from typing import Any

from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.sinks.kafka.held import Held, hold
from tailer.sinks.kafka.record_size import batch_size
from tests.unit.sinks.rows import batch, row
from tests.unit.sinks.tables import no_table


def held(*rows: tuple[Any, ...], tombstones: bool = False) -> Held:
    made = batch(*rows)
    envelope = Envelope(EnvelopeOptions(tombstones=tombstones), no_table)
    return hold(made, envelope.messages(made.to_arrow(), 0))


def test_no_message_is_longer_than_it_is_held_for_and_none_much_shorter() -> None:
    for text in ("", "x" * 50, "x" * 5000, "x" * 3_000_000):
        waits = held(row(), row(columns=f'{{"v":"{text}"}}'))
        sizes = [batch_size(message.key, message.value, message.headers) for message in waits.messages]
        assert max(sizes) <= waits.longest < max(sizes) + 60
        assert sum(sizes) <= waits.bytes < sum(sizes) + 120


def test_a_row_is_left_out_with_its_tombstone() -> None:
    waits = held(row(), row(op="delete_row", columns=None), row(), tombstones=True)
    assert [message.row for message in waits.messages] == [0, 1, 1, 2]
    left = waits.without({1})
    assert [message.row for message in left.messages] == [0, 2]
    assert left.bytes < waits.bytes
    assert len(left.batch) == 3
    assert list(waits.without({0, 1, 2}).messages) == []


def test_what_decides_whether_each_row_must_be_looked_at() -> None:
    assert held(row(), row(table="other"), row()).tables == {("shop", "orders"), ("shop", "other")}
    assert not held(row()).keyless
    assert held(row(), row(op="truncate", partition_key=None, clustering=None)).keyless
