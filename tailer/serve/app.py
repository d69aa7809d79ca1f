"""The requests of `wire/paths.py`, each with what it does; and what is alike in all answers.

Every answer of 400 and more is a `Problem`, whatever went wrong.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from tailer.errors import CdcError
from tailer.serve.access import CLIENT
from tailer.serve.asked import body_of, claim_of, hold_of, name_of, number_of
from tailer.serve.connections import begun
from tailer.serve.parts import Parts
from tailer.serve.problems import ProblemError, failed, refused
from tailer.serve.rare_lines import RareLines, Say
from tailer.system_errors import lack_of_memory, system_error
from tailer.wire import words
from tailer.wire.paths import BODY_BYTES_MAX, CONSUMERS, FOLDER_HEADER, HOLDS, QUARANTINE, RECORDS, SEGMENTS, STATUS
from tailer.wire.state import PostKept, PostRecords, Problem, PutConsumer, PutHold, encode

_DONE: Final = b"{}"
_SAFE: Final = {"Server": "cdc-tail", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Interface:
    """Of one node. `say`: takes a line for who looks after it."""

    def __init__(self, parts: Parts, say: Say, clock: Callable[[], float] = time.monotonic) -> None:
        self._parts = parts
        self._lines = RareLines(say, clock)

    def application(self) -> web.Application:
        """With all routes."""
        app = web.Application(middlewares=[begun, self._answer], client_max_size=BODY_BYTES_MAX)
        one = "/{name}"
        app.add_routes(
            [
                web.get(SEGMENTS, self._parts.listing.get, allow_head=False),
                web.get(SEGMENTS + one, self._parts.files.get, allow_head=False),
                web.get(CONSUMERS, self._consumers, allow_head=False),
                web.get(CONSUMERS + one, self._consumer, allow_head=False),
                web.put(CONSUMERS + one, self._put_consumer),
                web.delete(CONSUMERS + one, self._drop_consumer),
                web.post(f"{CONSUMERS}{one}/{QUARANTINE}", self._keep_aside),
                web.get(RECORDS, self._get_records, allow_head=False),
                web.post(RECORDS, self._post_records),
                web.put(HOLDS + one, self._put_hold),
                web.delete(HOLDS + one, self._drop_hold),
                web.get(STATUS, self._status, allow_head=False),
            ]
        )
        app.on_response_prepare.append(self._prepare)
        return app

    def stamp(self, response: web.StreamResponse) -> None:
        """What is in every answer."""
        response.headers.update(_SAFE)
        response.headers[FOLDER_HEADER] = self._parts.journal.id

    async def _prepare(self, request: web.Request, response: web.StreamResponse) -> None:
        self.stamp(response)

    @web.middleware
    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            request[CLIENT] = self._parts.access.client_of(request)
            if (claim := claim_of(request)) is not None:
                self._parts.leases.heard(claim)
            response = await handler(request)
        except ConnectionError:
            self._parts.counts.went_wrong("cut")
            raise
        except Exception as error:
            response = self._problem(request, _problem_of(error))
        self._parts.counts.answered(response.status)
        return response

    def _problem(self, request: web.Request, error: ProblemError) -> web.Response:
        word = error.problem.error
        if error.status >= 400:
            self._parts.counts.went_wrong(word)
        if error.status in (401, 403, 421) or error.status >= 500:
            self._lines.warn(f"{error.status} to {request.remote}: {error.problem.what}", "answers like it")
        response = web.Response(status=error.status, body=encode(error.problem), content_type="application/json")
        response.headers.update(error.headers)
        return response

    async def _consumers(self, request: web.Request) -> web.Response:
        return _json(await self._parts.disk.run(self._parts.consumers.all, request[CLIENT]))

    async def _consumer(self, request: web.Request) -> web.Response:
        return _json(await self._parts.disk.run(self._parts.consumers.one, request[CLIENT], name_of(request)))

    async def _put_consumer(self, request: web.Request) -> web.Response:
        name, asked = name_of(request), await body_of(request, PutConsumer)
        async with self._parts.names.one(name):
            return _json(await self._parts.disk.patiently(self._parts.consumers.put, request[CLIENT], name, asked))

    async def _drop_consumer(self, request: web.Request) -> web.Response:
        name = name_of(request)
        async with self._parts.names.one(name):
            await self._parts.disk.patiently(self._parts.consumers.drop, request[CLIENT], name, claim_of(request))
        return _done()

    async def _keep_aside(self, request: web.Request) -> web.Response:
        name, asked, names = name_of(request), await body_of(request, PostKept), self._parts.names
        # One of a client at a time, or two would be kept where there is room for one.
        async with names.one(f"quarantine of {request[CLIENT].name}"), names.one(name):
            keep = self._parts.consumers.keep_aside
            await self._parts.disk.run(keep, request[CLIENT], name, claim_of(request), asked.entries)
        return _done()

    async def _get_records(self, request: web.Request) -> web.Response:
        after, base = number_of(request, "from", 0), number_of(request, "base")
        return _raw(await self._parts.disk.run(self._parts.records.get, request[CLIENT], after or 0, base))

    async def _post_records(self, request: web.Request) -> web.Response:
        asked = await body_of(request, PostRecords)
        numbers = await self._parts.records.post(request[CLIENT], asked, claim_of(request))
        self._parts.listing.hint()
        return _json(numbers)

    async def _put_hold(self, request: web.Request) -> web.Response:
        name, asked = hold_of(request), await body_of(request, PutHold)
        # One of a client at a time, as in quarantine.
        async with self._parts.names.one(f"holds of {request[CLIENT].name}"):
            await self._parts.disk.patiently(self._parts.holds.put, request[CLIENT], name, asked)
        return _done()

    async def _drop_hold(self, request: web.Request) -> web.Response:
        name = hold_of(request)
        async with self._parts.names.one(f"holds of {request[CLIENT].name}"):
            await self._parts.disk.run(self._parts.holds.drop, request[CLIENT], name)
        return _done()

    async def _status(self, request: web.Request) -> web.Response:
        cap, stopped = number_of(request, "cap"), bool(number_of(request, "stopped"))
        return _raw(await self._parts.status.get(request[CLIENT], cap, stopped=stopped))


def _problem_of(error: Exception) -> ProblemError:
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, CdcError):
        return failed(error)
    if isinstance(error, OSError):
        return failed(system_error("", error, "the state or the log" if error.filename is None else None))
    if isinstance(error, web.HTTPException):
        allowed = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
        what = "there is nothing of that name" if error.status == 404 else error.reason
        return ProblemError(error.status, refused(what).problem, allowed)
    if (lack := lack_of_memory(error)) is not None:
        return failed(lack)
    bug = f"this is a bug in cdc-tail: {type(error).__name__}: {error}"
    return ProblemError(500, Problem(words.FAILED, bug[:500], code=1))


def _json(value: Any) -> web.Response:
    return _raw(encode(value))


def _raw(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


def _done() -> web.Response:
    return _raw(_DONE)
