"""A schema registry over HTTP, by Confluent's interface, which Apicurio has under `/apis/ccompat/v7`.

A schema is registered once for each process. User and password come from the environment. Knows no schema.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Final

from tailer.errors import CdcError, SinkError, UsageError
from tailer.paced_answer import PacedResponse
from tailer.sinks.outlet import TargetAwayError

USER_VARIABLE: Final = "CDC_TAIL_REGISTRY_USER"
PASSWORD_VARIABLE: Final = "CDC_TAIL_REGISTRY_PASSWORD"

_SECONDS: Final = 30
_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_ID_MAX: Final = 2**31 - 1
_SHOWN: Final = 300
_ANSWER_BYTES_MAX: Final = 1 << 20


class _Connection(http.client.HTTPConnection):
    response_class = PacedResponse


class _SecureConnection(http.client.HTTPSConnection):
    response_class = PacedResponse


class _Paced(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request)


class _SecurePaced(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, request)


class _Stays(urllib.request.HTTPRedirectHandler):
    """A POST that is sent elsewhere arrives as a GET, and takes the password with it."""

    def redirect_request(self, *args: Any) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_Paced, _SecurePaced, _Stays)


class HttpRegistry:
    """UsageError for an address that is none, for a user who may not."""

    def __init__(self, address: str) -> None:
        parts = urllib.parse.urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("--registry", expected="http://HOST:PORT or https://…", found=repr(address))
        if parts.username or parts.password:
            raise UsageError(
                "--registry has a user or password",
                remedy=f"Give them in {USER_VARIABLE} and {PASSWORD_VARIABLE}, where nobody else sees them.",
            )
        self._address = address.rstrip("/")
        self._known: dict[tuple[str, str], int] = {}

    def id_of(self, subject: str, schema: str) -> int:
        """The id of a schema under a subject, registered if it is not there.

        SinkError for a schema that the registry refuses, TargetAwayError where it does not answer.
        """
        found = self._known.get((subject, schema))
        if found is None:
            found = self._known[subject, schema] = self._register(subject, schema)
        return found

    def _register(self, subject: str, schema: str) -> int:
        url = f"{self._address}/subjects/{urllib.parse.quote(subject, safe='')}/versions"
        body = json.dumps({"schema": schema, "schemaType": "AVRO"}).encode()
        request = urllib.request.Request(url, body, self._headers(), method="POST")
        try:
            with _OPENER.open(request, timeout=_SECONDS) as answer:
                return _id_in(answer.read(_ANSWER_BYTES_MAX), url)
        except urllib.error.HTTPError as error:
            raise _refused(error, subject, url) from error
        except (OSError, http.client.HTTPException) as error:
            raise TargetAwayError(
                f"the schema registry does not answer: {getattr(error, 'reason', error)}", file=url
            ) from error

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": _TYPE, "Accept": f"{_TYPE}, application/json"}
        user = os.environ.get(USER_VARIABLE)
        if user:
            pair = f"{user}:{os.environ.get(PASSWORD_VARIABLE, '')}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers


def _id_in(answer: bytes, url: str) -> int:
    try:
        told = json.loads(answer)
        id = told["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        id = None
    if not isinstance(id, int) or isinstance(id, bool) or not 0 <= id <= _ID_MAX:
        raise SinkError(
            "the schema registry gave no id",
            file=url,
            expected='{"id": …}',
            found=answer[:_SHOWN].decode(errors="replace"),
        )
    return id


def _refused(error: urllib.error.HTTPError, subject: str, url: str) -> CdcError:
    said = _said(error)
    if error.code in (401, 403):
        return UsageError(
            "the schema registry does not let us in",
            file=url,
            found=said,
            remedy=f"Give its user and password in {USER_VARIABLE} and {PASSWORD_VARIABLE}.",
        )
    if error.code < 400:
        elsewhere = error.headers.get("Location", "")
        return UsageError(
            "the schema registry sends elsewhere", file=url, found=said, remedy=f"Name that address: {elsewhere}."
        )
    if error.code in (408, 429) or error.code >= 500:
        return TargetAwayError("the schema registry cannot answer now", file=url, found=said)
    remedy = "Give another --topic, or another rule of compatibility in the registry." if error.code == 409 else ""
    return SinkError(f"the schema registry refuses the schema of {subject}", file=url, found=said, remedy=remedy)


def _said(error: urllib.error.HTTPError) -> str:
    """Status and first words. Of an answer that breaks off the status is enough."""
    text = b""
    with error, contextlib.suppress(OSError, http.client.HTTPException):
        text = error.read(_SHOWN)
    return f"{error.code} {text.decode(errors='replace')}".strip()
