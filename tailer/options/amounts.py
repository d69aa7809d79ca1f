"""Times and sizes as users write them: `30s`, `5min`, `7d`; `64m`, `10g`. `m` is MiB and `min` minutes, everywhere."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, NamedTuple

from tailer.limits import KIB, MIB

_AMOUNT: Final = re.compile(r"(\d{1,15})\s*([a-z]*)", re.ASCII | re.IGNORECASE)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_SECONDS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_BYTES: Final = {"": 1, "k": KIB, "m": MIB, "g": KIB * MIB, "t": MIB * MIB}


class Lag(NamedTuple):
    """A limit: of seconds, or else of bytes."""

    seconds: int | None
    bytes: int | None

    def __str__(self) -> str:
        return f"{self.bytes} bytes" if self.seconds is None else f"{self.seconds} s"


def seconds_of(text: str) -> int | None:
    """The seconds that a time says; None for what is none."""
    found = _AMOUNT.fullmatch(text.strip())
    unit = None if found is None else _SECONDS.get(found[2].lower())
    return None if found is None or unit is None else int(found[1]) * unit


def moment_of(text: str) -> float | None:
    """The seconds since the epoch of a moment (`2026-11-20T10:00Z`, or another offset than Z); None for what is none.

    Without an offset it is none: which clock it means cannot be told.
    """
    if not _DATE.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.timestamp()


def lacks_zone(text: str) -> bool:
    """Whether it is a moment but for its zone."""
    return moment_of(text) is None and moment_of(f"{text}Z") is not None


def size_of(text: str) -> int | None:
    """The bytes that a size says; None for what is none."""
    found = _AMOUNT.fullmatch(text.strip())
    unit = None if found is None else _BYTES.get(found[2].lower().removesuffix("b").removesuffix("i"))
    return None if found is None or unit is None else int(found[1]) * unit


def lag_of(text: str) -> Lag | None:
    """A time or a size; a number alone is neither."""
    seconds = seconds_of(text)
    size = None if seconds is not None or text.strip().isdigit() else size_of(text)
    return None if seconds is None and size is None else Lag(seconds, size)
