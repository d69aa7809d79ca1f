"""Whether a run lives, and whether it does its work: sentences of what is wrong. Values only."""

from __future__ import annotations

from collections.abc import Sequence
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
