"""The texts of date, time, timestamp and duration back to bytes, over all values that they can hold."""

from __future__ import annotations

import re
import struct
from typing import Final

from tailer.types.vint import write_signed

_DATE: Final = r"([+-]?\d{4,10})-(\d\d)-(\d\d)"
_DAY: Final = re.compile(_DATE, re.ASCII)
_INSTANT: Final = re.compile(_DATE + r" (\d\d):(\d\d):(\d\d)\.(\d{3})Z", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)\.(\d{9})", re.ASCII)
_DURATION: Final = re.compile(
    r"(-?)(?:(\d+)y)?(?:(\d+)mo)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?(?:(\d+)us)?(?:(\d+)ns)?",
    re.ASCII,
)
_NANOS: Final = (3_600_000_000_000, 60_000_000_000, 1_000_000_000, 1_000_000, 1000, 1)


def date_bytes(text: str) -> bytes:
    """The bytes of a date."""
    found = _DAY.fullmatch(text)
    if found is None:
        raise _bad(text, "date")
    return _packed(">I", _days(found[1], found[2], found[3]) + 0x8000_0000, text)


def timestamp_bytes(text: str) -> bytes:
    """The bytes of a timestamp."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise _bad(text, "timestamp")
    seconds = (int(found[4]) * 60 + int(found[5])) * 60 + int(found[6])
    return _packed(">q", (_days(found[1], found[2], found[3]) * 86_400 + seconds) * 1000 + int(found[7]), text)


def time_bytes(text: str) -> bytes:
    """The bytes of a time."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise _bad(text, "time")
    seconds = (int(found[1]) * 60 + int(found[2])) * 60 + int(found[3])
    return _packed(">q", seconds * 1_000_000_000 + int(found[4]), text)


def duration_bytes(text: str) -> bytes:
    """The bytes of a duration."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise _bad(text, "duration")
    sign = -1 if found[1] else 1
    years, months, days, *rest = (int(part or 0) for part in found.groups()[1:])
    nanos = sum(amount * unit for amount, unit in zip(rest, _NANOS, strict=True))
    return write_signed(sign * (years * 12 + months)) + write_signed(sign * days) + write_signed(sign * nanos)


def _days(year_text: str, month_text: str, day_text: str) -> int:
    """Days since 1970-01-01 of a day of the proleptic Gregorian calendar, any year."""
    year, month, day = int(year_text), int(month_text), int(day_text)
    # Years from March on, so that the leap day ends one; 400 years have 146 097 days.
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _packed(layout: str, number: int, text: str) -> bytes:
    try:
        return struct.pack(layout, number)
    except struct.error:
        raise ValueError(f"{text!r:.80} is out of range") from None


def _bad(text: str, name: str) -> ValueError:
    return ValueError(f"{text!r:.80} is no {name}")
