"""Whether a request is answered, and who asks: by the name that it is sent to, a certificate, a token.

Nothing that a client shows is ever repeated, in no answer and no line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from aiohttp import web

from tailer.serve.clients import EVERYBODY, Client, Clients
from tailer.serve.hosts import Hosts
from tailer.serve.problems import ProblemError, not_allowed, refused
from tailer.wire import words
from tailer.wire.state import Problem

CLIENT: Final = web.RequestKey("client", Client)
"""Under which a request has who asks."""

_CHALLENGE = {"WWW-Authenticate": "Bearer"}


class Access:
    """Of one server."""

    def __init__(self, clients: Clients, hosts: Hosts) -> None:
        self._clients = clients
        self._hosts = hosts

    def client_of(self, request: web.Request) -> Client:
        """Who asks. ProblemError for who may not."""
        self._check_way(request)
        if self._clients.open:
            return EVERYBODY
        given = request.headers.get("Authorization")
        if given is not None:
            return self._by_token(given)
        names = list(_certificate_names(request))
        if not names:
            what = "who asks shows neither a token nor a certificate"
            raise ProblemError(401, Problem(words.NO_TOKEN, what), _CHALLENGE)
        found = self._clients.by_certificate(names)
        if found is None:
            raise not_allowed(
                f"the certificate of {names[0]!r} is none of those that are known here",
                "The file of `serve --clients` says which are.",
            )
        return found

    def _check_way(self, request: web.Request) -> None:
        transport = request.transport
        local = None if transport is None else transport.get_extra_info("sockname")
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or not self._hosts.fits(hosts[0], local[0] if isinstance(local, tuple) else None):
            found = repr(hosts[0][:100]) if hosts else "none"
            what, remedy = "this server is not called so", "Name it with `serve --host-name NAME`."
            raise ProblemError(421, Problem(words.REFUSED, what, expected="its own name", found=found, remedy=remedy))
        if "Origin" in request.headers:
            raise refused("a page in a browser asks", status=403, expected="no Origin")

    def _by_token(self, given: str) -> Client:
        scheme, _, token = given.partition(" ")
        found = self._clients.by_token(token.strip().encode("utf-8", "surrogateescape"))
        if found is None or scheme.lower() != "bearer":
            raise ProblemError(401, Problem(words.WRONG_TOKEN, "the token is none of those known here"), _CHALLENGE)
        return found


def _certificate_names(request: web.Request) -> Iterator[str]:
    """What a client's certificate calls it: of its alternative names and its common name. None without one."""
    transport = request.transport
    shown: dict[str, Any] | None = None if transport is None else transport.get_extra_info("peercert")
    if not shown:
        return
    for part in shown.get("subject", ()):
        yield from (value for key, value in part if key == "commonName")
    yield from (value for kind, value in shown.get("subjectAltName", ()) if kind in ("DNS", "URI", "email"))
