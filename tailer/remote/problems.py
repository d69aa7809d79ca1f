"""What a node's answers say is wrong, as the documented errors. Sends nothing."""

from __future__ import annotations

from typing import Final

import msgspec

from tailer.errors import (
    CdcError,
    CorruptError,
    DefinitionError,
    LossError,
    NodeAwayError,
    QuarantineFullError,
    RefusedError,
    SinkError,
    SystemFailedError,
    UsageError,
)
from tailer.position import Position
from tailer.wire import words
from tailer.wire.state import Problem, decode

_BY_CODE: Final = {
    each.code: each for each in (UsageError, DefinitionError, CorruptError, LossError, RefusedError, SinkError)
}
_ACCESS: Final = (words.NO_TOKEN, words.WRONG_TOKEN, words.NOT_ALLOWED)
_SHOWN: Final = 300


class AnsweredError(Exception):
    """An answer of 400 or more, for who knows what to do about its word. Others get `error`."""

    def __init__(self, status: int, problem: Problem, where: str) -> None:
        self.status = status
        self.problem = problem
        self.where = where
        super().__init__(problem.what)

    @property
    def word(self) -> str:
        return self.problem.error

    def error(self) -> CdcError:
        """The documented error that it comes to."""
        problem = self.problem
        at = None if problem.segment is None else Position(problem.segment, problem.offset or 0)
        if problem.error in _ACCESS:
            kind: type[CdcError] = UsageError
        elif problem.error in (words.LEASED, words.SUPERSEDED, words.NO_LEASE):
            kind = RefusedError
        elif problem.error == words.QUARANTINE_FULL:
            kind = QuarantineFullError
        else:
            kind = _BY_CODE.get(problem.code, NodeAwayError if self.status == 503 else SystemFailedError)
        return kind(
            problem.what, at=at, file=self.where, expected=problem.expected, found=problem.found, remedy=problem.remedy
        )


def problem_of(status: int, body: bytes) -> Problem:
    """What an answer says; of one that is not this interface's its status."""
    try:
        found: Problem = decode(body, Problem)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = body[:_SHOWN].decode("utf-8", "replace").strip()
        return Problem(
            words.REFUSED,
            "the address does not answer as `cdc-tail serve`",
            expected="its answers",
            found=f"HTTP status {status}: {text!r}" if text else f"HTTP status {status}",
            remedy="Give the address that `serve --listen` has, and no proxy that changes answers.",
        )
    return found
