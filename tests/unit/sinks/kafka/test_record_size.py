"""How long a batch with one message is: by the layout of Kafka's record batches (form 2), counted by hand."""

from __future__ import annotations

import pytest

from tailer.sinks.kafka.record_size import batch_size

HEAD = 8 + 4 + 4 + 1 + 4 + 2 + 4 + 8 + 8 + 8 + 2 + 4 + 4
"""baseOffset, batchLength, partitionLeaderEpoch, magic, crc, attributes, lastOffsetDelta, baseTimestamp, maxTimestamp,
producerId, producerEpoch, baseSequence, records."""


@pytest.mark.parametrize(
    ("key", "value", "headers", "record"),
    [
        # length, attributes, timestampDelta, offsetDelta, keyLength, valueLength, headers
        (None, None, [], 1 + 1 + 1 + 1 + 1 + 1 + 1),
        (b"", b"", [], 7),
        (b"k" * 10, b"v" * 20, [], 7 + 30),
        # Lengths are zigzag: 63 is the last in one byte, 8191 the last in two.
        (None, b"v" * 56, [], 7 + 56),
        (None, b"v" * 57, [], 7 + 57),
        (None, b"v" * 58, [], 8 + 58),
        (None, b"v" * 63, [], 8 + 63),
        (None, b"v" * 64, [], 9 + 64),
        (None, b"v" * 8191, [], 2 + 3 + 1 + 2 + 1 + 8191 + (1 if 3 + 1 + 2 + 1 + 8191 > 8191 else 0)),
        (None, b"v" * 8192, [], 3 + 3 + 1 + 3 + 1 + 8192),
        (b"k", b"v", [("event_id", b"n1:1:2:3"), ("é", b"")], 7 + 2 + (1 + 8 + 1 + 8) + (1 + 2 + 1)),
    ],
)
def test_a_batch_of_one_message(key: bytes, value: bytes, headers: list[tuple[str, bytes]], record: int) -> None:
    assert batch_size(key, value, headers) == HEAD + record
