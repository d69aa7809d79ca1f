"""How long a message is where the broker measures it: as the only record of a batch (form 2). Pure.

A topic's `max.message.bytes` bounds a batch. A message that alone makes too long a batch is refused by every broker.
"""

from __future__ import annotations

from typing import Final

from tailer.sinks.envelope.messages import Headers

_BATCH_HEAD: Final = 61
_ATTRIBUTES: Final = 1
_FIRST_DELTAS: Final = 2
"""Of time and offset: one byte each in the first record."""

MORE_IN_BATCH: Final = 16
"""What a record is longer at most where others stand before it: its deltas are larger numbers."""


def batch_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Bytes of a batch with one message, before compression."""
    body = _ATTRIBUTES + _FIRST_DELTAS + _sized(key) + _sized(value) + _varint(len(headers))
    for name, content in headers:
        body += _sized(name.encode()) + _sized(content)
    return _BATCH_HEAD + _varint(body) + body


def _sized(content: bytes | None) -> int:
    return 1 if content is None else _varint(len(content)) + len(content)


def _varint(number: int) -> int:
    """Bytes of a length, which Kafka writes zigzag: twice the number, seven bits a byte."""
    return ((2 * number).bit_length() + 6) // 7 or 1
