"""What a reader who waits for a list wishes with it: bytes of the segments that it follows, from a place on.

They come where there are new ones that a sidecar vouches for, and they are few: a row that was just written needs no
second request. Whoever gets none asks for the range. As text: `NAME@AT,NAME@AT`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from tailer.framing.name import SegmentName, parse_log_name
from tailer.limits import KIB

PARAMETER: Final = "ahead"
WISHES_MAX: Final = 8
"""Of one reader: it follows one segment, and for a moment the next one too."""

BEHIND_BYTES: Final = 4 * KIB
"""Asked for beyond what is durable: a reader that has come to its end looks there for the head of what may follow."""

_PLACE: Final = re.compile(r"\d{1,18}", re.ASCII)


class Wish(NamedTuple):
    """The bytes of a segment's file from `at` on."""

    name: SegmentName
    at: int


def write_wishes(wishes: Iterable[Wish]) -> str:
    """The parameter's value."""
    return ",".join(f"{wish.name.log}@{wish.at}" for wish in wishes)


def parse_wishes(text: str) -> tuple[Wish, ...] | None:
    """What a parameter says; None for what is none."""
    parts = text.split(",") if text else []
    found = tuple(wish for part in parts if (wish := _wish(part)) is not None)
    return found if len(found) == len(parts) <= WISHES_MAX else None


def _wish(text: str) -> Wish | None:
    log, _, at = text.partition("@")
    name = parse_log_name(log)
    return None if name is None or name.log != log or _PLACE.fullmatch(at) is None else Wish(name, int(at))
