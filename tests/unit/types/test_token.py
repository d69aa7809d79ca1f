"""Tokens; expected values are those of Cassandra's own tests and of the format page."""

from __future__ import annotations

import pytest

from tailer.types import murmur3_token

TOKENS = [
    (b"", -(2**63)),
    (b"123", -7468325962851647638),
    (b"\x00\xff\x10\xfa\x99" * 10, 5837342703291459765),
    (b"\xfe" * 8, -8927430733708461935),
    (b"\x10" * 8, 1446172840243228796),
    (b"9223372036854775807", 7162290910810015547),
    (b"\x00\x00\x00\x01", -4069959284402364209),
]


@pytest.mark.parametrize(("key", "token"), TOKENS)
def test_tokens_are_those_of_the_partitioner(key: bytes, token: int) -> None:
    assert murmur3_token(key) == token
