"""Targets that keep the number of the last one they have: whether that fits who gives, and that nothing follows what
failed. Knows no target, and nothing of what is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeVar

from tailer.errors import LossError, RefusedError
from tailer.planning.two_positions import no_position
from tailer.sinks.outlet import Place
from tailer.typed_decode import decode_json
from tailer.versions import UNDECODABLE, Versioned, check_version

T = TypeVar("T")

VERSION: Final = 1
"""Of what such a target keeps of them."""


class Numbers(NamedTuple):
    """What there is to give: numbers behind `given` up to `last`. `upto`: what one is called before its number.

    `giver`: who gives, `file`: where that is, in words. `behind`, `ahead`: what to do about a target that is so.
    """

    giver: str
    file: str
    upto: str
    given: int
    last: int
    behind: str
    ahead: str

    def check(self, number: int, target: str) -> int:
        """The number that a target has. LossError, RefusedError where it cannot be the one that has what was given."""
        if number < self.given:
            raise LossError(
                f"{target} is behind what {self.giver} has given",
                file=self.file,
                expected=f"{self.upto} {self.given}",
                found=number,
                remedy=self.behind,
            )
        if number > self.last:
            raise RefusedError(
                f"{target} is ahead of {self.giver}: was that restored from a backup?",
                file=self.file,
                expected=f"{self.upto} {self.last} at most",
                found=number,
                remedy=self.ahead,
            )
        return number


def place_in(place: Place, form: type[T], target: str, what: str) -> T:
    """A place of this form. RefusedError for `what` it is none of, and for one of a later version.

    Earlier programs left the version out.
    """
    try:
        check_version(decode_json(place.offset, Versioned).v, VERSION, "the position", file=target)
        return decode_json(place.offset, form)
    except UNDECODABLE as error:
        raise no_position(target, f"none of {what}", place.offset, error) from None


class Failures:
    """Whether something has failed, behind which nothing is given any more."""

    def __init__(self) -> None:
        self.any = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """What fails inside is noted."""
        try:
            yield
        except BaseException:
            self.any = True
            raise
