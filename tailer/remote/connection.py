"""Requests to one node over connections that are kept. Knows of the answers that they have a status and bytes.

A connection is of one thread at a time. Redirects are not followed: another address is another node.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from tailer.errors import CdcError, NodeAwayError, UsageError
from tailer.options.log_place import NodeUrl
from tailer.paced_answer import ANSWER_SECONDS, PacedResponse
from tailer.remote.access import Access
from tailer.system_errors import lack_behind, system_error

CONNECT_SECONDS: Final = 5.0
ANSWER_BYTES_MAX: Final = 1 << 30
"""What is longer comes from no node."""

_REFUSED_WORDS: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED", "DECRYPT_ERROR")
"""What an alert's name holds by which a node says that it does not take our certificate."""

_KEPT_MAX: Final = 4
_BROKEN: Final = (http.client.HTTPException, OSError)


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class _Connection(http.client.HTTPConnection):
    """With TLS where there is a context. Its socket is there before it is connected: whoever ends it can do so then."""

    response_class = PacedResponse

    def __init__(self, url: NodeUrl, context: ssl.SSLContext | None) -> None:
        super().__init__(url.host, url.port)
        self._context = context

    def connect(self) -> None:
        error: OSError = OSError(f"no address of {self.host}")
        for family, kind, protocol, _, address in socket.getaddrinfo(self.host, self.port, 0, socket.SOCK_STREAM):
            self.sock = socket.socket(family, kind, protocol)
            try:
                self.sock.settimeout(CONNECT_SECONDS)
                self.sock.connect(address)
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._context is not None:
                    self.sock = self._context.wrap_socket(
                        self.sock, server_hostname=self.host, do_handshake_on_connect=False
                    )
                    self.sock.do_handshake()
                return
            except OSError as failed:
                error = failed
                self.close()
                if isinstance(failed, ssl.SSLError):
                    break
        raise error


class Connections:
    """Of one node. Any thread may ask; each request has a connection of its own as long as it lasts."""

    def __init__(self, url: NodeUrl, access: Access) -> None:
        self._url = url
        self._context = access.context() if url.secure else None
        token = access.token()
        # Bearer of RFC 6750.
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._lock = threading.Lock()
        self._idle: list[_Connection] = []
        self._busy: dict[_Connection, float] = {}
        self._closed = False

    def ask(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> Answer:
        """The answer to one request. NodeAwayError where none comes, or only a part of it.

        A connection that was kept may have been closed by the node meanwhile: then it is asked once more on a new one.
        """
        kept = self._take()
        if kept is not None:
            try:
                return self._on(kept, method, target, headers, body, seconds)
            except _BROKEN as error:
                kept.close()
                if isinstance(error, TimeoutError):
                    raise self._error(error) from error
        fresh = _Connection(self._url, self._context)
        try:
            return self._on(fresh, method, target, headers, body, seconds)
        except _BROKEN as error:
            fresh.close()
            raise self._error(error) from error

    def close(self) -> None:
        """Whoever still waits for an answer gets none, and nobody asks any more."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        self.cut(0.0)
        for each in idle:
            each.close()

    def cut(self, seconds: float) -> None:
        """Whoever has waited so long for an answer, or for a connection, gets none."""
        with self._lock:
            before = time.monotonic() - seconds
            for sock in [each.sock for each, since in self._busy.items() if since <= before and each.sock is not None]:
                # Not closed under who reads from it: it sees the end, and closes.
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _on(
        self,
        connection: _Connection,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        seconds: float,
    ) -> Answer:
        self._begin(connection)
        try:
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(seconds)
            try:
                connection.request(method, target, body, {**self._headers, **headers})
            except (BrokenPipeError, ConnectionResetError):
                # It may have said why.
                if not connection.sock:
                    raise
            with connection.getresponse() as response:
                found = Answer(response.status, dict(response.headers), _body(response))
        finally:
            with self._lock:
                self._busy.pop(connection, None)
        if response.will_close:
            connection.close()
        else:
            self._give_back(connection)
        return found

    def _begin(self, connection: _Connection) -> None:
        with self._lock:
            if self._closed:
                raise ConnectionAbortedError("this reader has ended")
            self._busy[connection] = time.monotonic()

    def _take(self) -> _Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: _Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _KEPT_MAX:
                self._idle.append(connection)
                return
        connection.close()

    def _error(self, error: Exception) -> CdcError:
        where = str(self._url)
        if isinstance(error, ssl.SSLCertVerificationError):
            return UsageError(
                "the node's certificate is not to be trusted",
                file=where,
                found=error.verify_message or str(error),
                remedy="Give the certificates that sign it with --node-ca (nodeCa); the address must be one that the "
                "certificate names.",
            )
        if (lack := lack_behind(error)) is not None:
            return system_error("cannot connect to the node", lack, where)
        found = str(error) or type(error).__name__
        if isinstance(error, ssl.SSLError) and any(word in (error.reason or "") for word in _REFUSED_WORDS):
            return UsageError(
                "the node does not take our certificate",
                file=where,
                found=found,
                remedy="Give one that its --client-ca has signed with --node-cert and --node-key (nodeCert, nodeKey).",
            )
        remedy = "It is tried again where something waits; is `cdc-tail serve` running there?"
        if isinstance(error, ssl.SSLError):
            remedy = "Does the node speak TLS there?"
        elif self._context is not None and isinstance(error, ConnectionResetError):
            # `RemoteDisconnected` too: servers of asyncio say no more where they do not take a certificate.
            remedy = "Is `cdc-tail serve` running there, and does it take our certificate (--node-cert, --node-key)?"
        return NodeAwayError("the node does not answer", file=where, found=found, remedy=remedy)


def _body(response: http.client.HTTPResponse) -> bytes:
    if response.length is None and not response.chunked:
        # One that was cut in its head has lost it, and http.client takes it for whole.
        raise http.client.HTTPException("an answer that does not say how long it is")
    found = response.read(ANSWER_BYTES_MAX)
    if response.length and len(found) < ANSWER_BYTES_MAX:
        # With a bound it gives what there is.
        raise http.client.IncompleteRead(found, response.length)
    if len(found) == ANSWER_BYTES_MAX:
        raise http.client.HTTPException("an answer without end")
    return found
