"""What a request that is not done is answered: a status, and a word with sentences (`wire/words.py`). Sends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tailer.errors import CdcError, QuarantineFullError, SystemFailedError
from tailer.wire import words
from tailer.wire.state import Problem

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class ProblemError(Exception):
    """A request ends with this answer."""

    def __init__(self, status: int, problem: Problem, headers: Mapping[str, str] = NO_HEADERS) -> None:
        self.status = status
        self.problem = problem
        self.headers = headers
        super().__init__(problem.what)


class BusyError(Exception):
    """Somebody has what is needed for a moment: the same is tried again."""


def refused(what: str, *, status: int = 400, expected: str | None = None, found: str | None = None) -> ProblemError:
    """The request is not one of this interface."""
    return ProblemError(status, Problem(words.REFUSED, what, expected=expected, found=found))


def not_allowed(what: str, remedy: str) -> ProblemError:
    """Who asks may not do this."""
    return ProblemError(403, Problem(words.NOT_ALLOWED, what, remedy=remedy))


def conflict(word: str, what: str, *, after: float | None = None, remedy: str = "") -> ProblemError:
    """What was asked for does not fit what stands. `after`: seconds after which it may."""
    return ProblemError(409, Problem(word, what, remedy=remedy, after=after))


def failed(error: CdcError) -> ProblemError:
    """The node could not do it. A disk that is full may have room again: that is worth another try (503)."""
    if isinstance(error, QuarantineFullError):
        return of_error(error, words.QUARANTINE_FULL, 507)
    return of_error(error, words.FAILED, 503 if isinstance(error, SystemFailedError) else 500)


def of_error(error: CdcError, word: str, status: int) -> ProblemError:
    """An error as an answer. Paths of the node are not told: `what` and the rest say enough."""
    at = error.at
    return ProblemError(
        status,
        Problem(
            word,
            error.what,
            code=error.code,
            expected=None if error.expected is None else str(error.expected),
            found=None if error.found is None else str(error.found),
            remedy=error.remedy,
            segment=None if at is None else at.segment,
            offset=None if at is None else at.offset,
        ),
    )


def again(what: str, after: float) -> ProblemError:
    """Not now; the same may be asked again after so many seconds."""
    headers = {"Retry-After": str(max(1, round(after)))}
    return ProblemError(503, Problem(words.FAILED, what, after=after), headers)
