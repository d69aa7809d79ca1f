"""Whether a run lives, and whether it does its work: sentences of what is wrong. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

STUCK_SECONDS: Final = 120.0
"""A loop that has not turned for so long is stuck: it looks each second, and is told to be moving by each batch."""


class Healthy(Protocol):
    """Something that runs. Asked by any thread."""

    def stuck(self) -> Sequence[str]:
        """Why it does not live any more: a restart may help."""
        ...

    def unready(self) -> Sequence[str]:
        """Why it does not do its work now, though it may live."""
        ...


def not_turned(what: str, seconds: float) -> list[str]:
    """What is wrong with a loop that turned last so long ago."""
    return [f"{what} has not moved for {seconds:.0f} s"] if seconds > STUCK_SECONDS else []


def all_stuck(parts: Iterable[Healthy]) -> list[str]:
    """Why a run does not live any more. One loop may serve several nodes: while one of them moves it lives."""
    told = [each.stuck() for each in parts]
    return [sentence for sentences in told for sentence in sentences] if all(told) else []


def any_unready(parts: Iterable[Healthy]) -> list[str]:
    """Why a run does not do all of its work now."""
    return [sentence for each in parts for sentence in each.unready()]
