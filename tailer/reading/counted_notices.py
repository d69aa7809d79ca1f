"""Notices of what a run leaves out, again and again: the first of a kind at once, then its number at most once a
minute, and what was not told yet when the run ends. Reads nothing and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

REPEAT_SECONDS: Final = 60.0
"""How often the number of one kind is told while it grows."""

Sentence = Callable[[int], str]
"""A notice with so many of a kind in it."""


@dataclass(slots=True)
class _Kind:
    """`number` of which `told` are in a notice, the last one at `at`."""

    first: Sentence
    more: Sentence
    number: int = 0
    told: int = 0
    at: float = 0.0


class CountedNotices:
    """Of one run. `clock` in seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: dict[Hashable, _Kind] = {}

    def count(self, kind: Hashable, first: Sentence, more: Sentence, number: int = 1) -> None:
        """So many more of a kind. `first`: the notice that tells of it first; `more`: each later one."""
        self._kinds.setdefault(kind, _Kind(first, more)).number += number

    def take(self, *, last: bool = False) -> list[str]:
        """What is to be told now. `last`: the run ends."""
        return [sentence for kind in self._kinds.values() if (sentence := self._due(kind, last)) is not None]

    def _due(self, kind: _Kind, last: bool) -> str | None:
        due = last or not kind.told or self._clock() - kind.at >= REPEAT_SECONDS
        if kind.number == kind.told or not due:
            return None
        made = kind.more if kind.told else kind.first
        kind.told, kind.at = kind.number, self._clock()
        return made(kind.number)
