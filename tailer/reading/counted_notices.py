"""Notices of what a run leaves out: the first of a kind is reported at once, then the number of that kind at most once
a minute, and the rest when the run ends. Reads nothing and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

REPEAT_SECONDS: Final = 60.0
"""How often the number of one kind is reported while it grows."""

Sentence = Callable[[int], str]
"""Makes a notice of a number."""


@dataclass(slots=True)
class _Kind:
    """`number`: how many there were; `reported`: how many of them by notices, the last of which was at `at`."""

    first: Sentence
    more: Sentence
    number: int = 0
    reported: int = 0
    at: float = 0.0


class CountedNotices:
    """Of one run. `clock` in seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: dict[Hashable, _Kind] = {}

    def count(self, kind: Hashable, first: Sentence, more: Sentence, number: int = 1) -> None:
        """Add a number to a kind. `first` makes its first notice, `more` each later one."""
        self._kinds.setdefault(kind, _Kind(first, more)).number += number

    def take(self, *, last: bool = False) -> list[str]:
        """The notices that are due. `last`: the run ends."""
        return [sentence for kind in self._kinds.values() if (sentence := self._due(kind, last)) is not None]

    def rest(self) -> float | None:
        """In how many seconds a notice is due; None where everything is reported."""
        left = [kind for kind in self._kinds.values() if kind.number != kind.reported]
        if not left:
            return None
        return max(0.0, min(kind.at for kind in left) + REPEAT_SECONDS - self._clock())

    def _due(self, kind: _Kind, last: bool) -> str | None:
        due = last or not kind.reported or self._clock() - kind.at >= REPEAT_SECONDS
        if kind.number == kind.reported or not due:
            return None
        made = kind.more if kind.reported else kind.first
        kind.reported, kind.at = kind.number, self._clock()
        return made(kind.number)
