"""One POST at a time over HTTP or HTTPS, and what the answer means for a run. Knows no data file.

A redirect is no answer: a POST that is sent elsewhere by itself may arrive as something else. Passwords and tokens come
from the environment.
"""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Iterable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from types import TracebackType
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from tailer.errors import SinkError, UsageError
from tailer.paced_answer import PacedResponse
from tailer.sinks.outlet import TargetAwayError

HEADER_VARIABLE: Final = "CDC_TAIL_SHIP_AUTHORIZATION"
USER_VARIABLE: Final = "CDC_TAIL_SHIP_USER"
PASSWORD_VARIABLE: Final = "CDC_TAIL_SHIP_PASSWORD"

TIMEOUT_SECONDS: Final = 60.0
ANSWER_BYTES_MAX: Final = 64 << 20
_LOGIN: Final = (401, 403, 407)
_LATER: Final = (408, 425, 429)
"""Of the answers that blame who asks those that another time may be otherwise."""
_SHOWN: Final = 300


class Answer(NamedTuple):
    """A status and what came with it."""

    status: int
    location: str
    body: bytes


class Address(NamedTuple):
    """Where to send. `name`: in words; `headers`: of every request."""

    parts: SplitResult
    headers: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"{self.parts.scheme}://{self.parts.netloc}{self.parts.path}"

    def path(self, below: str = "") -> str:
        """What is asked for at the host, with the address's own query."""
        path = f"{self.parts.path.rstrip('/')}/{below}" if below else self.parts.path or "/"
        return f"{path}?{self.parts.query}" if self.parts.query else path


def address_of(to: str, environ: Mapping[str, str]) -> Address:
    """The address of a `--to`. UsageError for one with a password in it, or without a host."""
    parts = urlsplit(to)
    if not parts.hostname or "@" in parts.netloc:
        raise UsageError(
            "--to",
            expected="http://HOST[:PORT]/PATH or https://…, without user and password",
            found=f"{parts.scheme}://…",
            remedy=f"Give user and password as {USER_VARIABLE} and {PASSWORD_VARIABLE}, a token as {HEADER_VARIABLE}.",
        )
    headers = {"User-Agent": "cdc-tail"}
    user, password = environ.get(USER_VARIABLE), environ.get(PASSWORD_VARIABLE)
    if header := environ.get(HEADER_VARIABLE):
        headers["Authorization"] = header
    elif user is not None and password is not None:
        headers["Authorization"] = f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"
    return Address(parts, headers)


class _Plain(HTTPConnection):
    response_class = PacedResponse


class _Secure(HTTPSConnection):
    response_class = PacedResponse


class Connection:
    """To one host; to be opened with `with`, for a few requests that follow each other."""

    def __init__(self, address: Address) -> None:
        parts = address.parts
        self._address = address
        self._http: HTTPConnection = (
            _Secure(parts.netloc, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context())
            if parts.scheme == "https"
            else _Plain(parts.netloc, timeout=TIMEOUT_SECONDS)
        )

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def post(self, path: str, body: Iterable[bytes], length: int, headers: Mapping[str, str]) -> Answer:
        """The answer, whatever it says. TargetAwayError where none comes, UsageError for a certificate."""
        wanted = {**self._address.headers, **headers, "Content-Length": str(length)}
        try:
            if self._http.sock is not None:
                # What read the last answer left it at what was left of its time.
                self._http.sock.settimeout(TIMEOUT_SECONDS)
            self._http.request("POST", path, body, wanted)
            answer = self._http.getresponse()
            return Answer(answer.status, answer.getheader("Location", ""), answer.read(ANSWER_BYTES_MAX))
        except ssl.SSLCertVerificationError as error:
            raise UsageError(
                f"{self._address.name}: its certificate is not trusted",
                found=error.verify_message,
                remedy="Name the certificates it may be signed by in SSL_CERT_FILE.",
            ) from error
        except (OSError, HTTPException) as error:
            self._http.close()
            raise TargetAwayError(
                f"{self._address.name}: no answer", found=str(error) or type(error).__name__
            ) from error


def check(answer: Answer, name: str, what: str) -> None:
    """Returns for a success. `what`: what was sent. TargetAwayError, SinkError, UsageError for anything else."""
    status = answer.status
    if 200 <= status < 300:
        return
    said = f"{status} {answer.body[:_SHOWN].decode('utf-8', 'replace').strip()}".strip()
    if status in _LOGIN:
        raise UsageError(
            f"{name}: not allowed to send {what}",
            found=said,
            remedy=f"Correct {USER_VARIABLE} and {PASSWORD_VARIABLE}, or {HEADER_VARIABLE}.",
        )
    if 300 <= status < 400:
        found = f"{status} {answer.location}".strip()
        raise UsageError(f"{name} sends elsewhere", found=found, remedy="Name that address in --to.")
    if status in _LATER or status >= 500:
        raise TargetAwayError(f"{name} did not take {what}", found=said)
    raise SinkError(f"{name} refused {what}", found=said, remedy="Nothing behind it is sent until it is taken.")
