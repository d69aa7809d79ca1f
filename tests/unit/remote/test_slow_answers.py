"""A node that drips its answers, byte by byte and for ever: no reader is held by it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tailer.errors import NodeAwayError
from tailer.remote.link import Link
from tests.helpers.dripping import Dripping
from tests.helpers.links import linked

SECONDS = 2.0
"""How long an answer may be silent here; the node is never silent for so long."""

EACH = SECONDS / 10


@contextmanager
def dripping(at_once: bytes, each: bytes) -> Iterator[tuple[Dripping, Link]]:
    node = Dripping(at_once, each, EACH)
    try:
        with linked(node.url) as link:
            yield node, link
    finally:
        node.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("at_once", "each"),
    [
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (HEAD + b"Content-Length: 1000000\r\n\r\n", b"x"),
        (HEAD + b"Content-Length: 1000000\r\n\r\n" + b"x" * 500_000, b"x"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;", b"x"),
    ],
    ids=["status", "headers", "continue", "body", "body that began fast", "chunks", "extension of a chunk"],
)
def test_what_drips_is_given_up(at_once: bytes, each: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.paced_answer.ANSWER_SECONDS", SECONDS)
    with dripping(at_once, each) as (node, link):
        began = time.monotonic()
        with pytest.raises(NodeAwayError, match="does not answer") as failed:
            link.ask("GET", "/x", seconds=SECONDS)
        assert SECONDS * 0.9 < time.monotonic() - began < SECONDS + 30
        assert failed.value.remedy
        # The connection ends too.
        assert node.gone.wait(30)


def test_what_comes_slowly_but_surely_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """At more than the least rate, for longer than one silence may last."""
    monkeypatch.setattr("tailer.paced_answer.ANSWER_SECONDS", SECONDS)
    piece = b"x" * 400
    count = 15
    head = HEAD + b"Content-Length: %d\r\n\r\n" % (count * len(piece))
    with dripping(head, piece) as (_, link):
        began = time.monotonic()
        assert link.ask("GET", "/x", seconds=SECONDS).body == piece * count
        assert time.monotonic() - began > SECONDS
