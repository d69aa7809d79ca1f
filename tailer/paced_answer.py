"""HTTP answers that come within bounds: a head within the connection's timeout, a body at a least rate.

A timeout of a socket is one for each piece: a peer that sends a byte now and then keeps its client for ever.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any, Final

from tailer.limits import KIB

ANSWER_SECONDS: Final = 30.0
"""How long an answer's head may take, and over how long the rate of its body is measured."""

LEAST_BYTES: Final = 1 * KIB
"""A second: a body that comes slower is given up."""


class _Paced(io.RawIOBase):
    """The bytes of one answer. TimeoutError where its head takes longer than `seconds`, or its body is too slow."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, seconds: float) -> None:
        self._raw = raw
        self._sock = sock
        self._until = time.monotonic() + seconds
        self._in_body = False

    def begin_body(self) -> None:
        """The head has come."""
        self._in_body = True
        self._until = time.monotonic() + ANSWER_SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        rest = self._until - time.monotonic()
        if rest <= 0:
            raise TimeoutError(f"an answer that comes slower than {LEAST_BYTES} bytes a second")
        self._sock.settimeout(rest)
        count = self._raw.readinto(buffer)
        if self._in_body and count:
            self._until = min(self._until + count / LEAST_BYTES, time.monotonic() + ANSWER_SECONDS)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class PacedResponse(http.client.HTTPResponse):
    """For `response_class` of a connection."""

    def __init__(self, sock: socket.socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        self._paced = _Paced(self.fp.detach(), sock, sock.gettimeout() or ANSWER_SECONDS)
        self.fp = io.BufferedReader(self._paced)

    def begin(self) -> None:
        super().begin()
        self._paced.begin_body()
