"""Times and sizes as users write them: `30s`, `5min`, `7d`; `64m`, `10g`. `m` is MiB and `min` minutes, everywhere."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tailer.errors import UsageError
from tailer.limits import KIB, MIB

_AMOUNT: Final = re.compile(r"(\d{1,15})\s*([a-z]*)", re.ASCII | re.IGNORECASE)
_SECONDS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_BYTES: Final = {"": 1, "k": KIB, "m": MIB, "g": KIB * MIB, "t": MIB * MIB}


class Lag(NamedTuple):
    """A limit: of seconds, or else of bytes."""

    seconds: int | None
    bytes: int | None


def parse_seconds(option: str, text: str) -> int:
    """`30s`, `5min`, `12h`, `7d`; UsageError for anything else."""
    found = _seconds(text)
    if found is None:
        raise UsageError(option, expected="a time, such as 30s, 5min, 12h or 7d", found=repr(text))
    return found


def parse_bytes(option: str, text: str) -> int:
    """`1048576`, `64m`, `10g`; UsageError for anything else."""
    found = size_of(text)
    if found is None:
        raise UsageError(option, expected="a size, such as 1048576, 64m or 10g", found=repr(text))
    return found


def parse_lag(option: str, text: str) -> Lag:
    """A time or a size; a number alone is neither."""
    seconds = _seconds(text)
    size = None if seconds is not None or text.strip().isdigit() else size_of(text)
    if seconds is None and size is None:
        raise UsageError(option, expected="a time (30s, 5min, 2h) or a size (64m, 1g; m is MiB)", found=repr(text))
    return Lag(seconds, size)


def _seconds(text: str) -> int | None:
    found = _AMOUNT.fullmatch(text.strip())
    unit = None if found is None else _SECONDS.get(found[2].lower())
    return None if found is None or unit is None else int(found[1]) * unit


def size_of(text: str) -> int | None:
    """The bytes that a size says; None for what is none."""
    found = _AMOUNT.fullmatch(text.strip())
    unit = None if found is None else _BYTES.get(found[2].lower().removesuffix("b").removesuffix("i"))
    return None if found is None or unit is None else int(found[1]) * unit
