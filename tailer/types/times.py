"""JSON of date, time, timestamp and duration, over all values their bytes can hold. Knows no other type.

`datetime` ends at the year 9999; years beyond are written `+10000`, years before 0 `-0001` (proleptic Gregorian).
"""

from __future__ import annotations

import struct
from datetime import date
from functools import lru_cache
from typing import Final

from tailer.types.jsontext import EMPTY, wrong_length
from tailer.types.vint import read_signed

_UNSIGNED: Final = struct.Struct(">I").unpack
_LONG: Final = struct.Struct(">q").unpack

_DAY_MILLIS: Final = 86_400_000
_TWO: Final = tuple(f"{number:02d}" for number in range(60))
"""Two digits each; a format specification takes three times as long."""

_EPOCH_ORDINAL: Final = 719_163
"""`date(1970, 1, 1).toordinal()`"""


@lru_cache(maxsize=4096)
def day_text(days: int) -> str:
    """The ISO date of `days` since 1970-01-01."""
    ordinal = days + _EPOCH_ORDINAL
    if 1 <= ordinal <= 3_652_059:
        return date.fromordinal(ordinal).isoformat()
    # Civil calendar from days, counted from 0000-03-01 so that the leap day ends a year; 146 097 days are 400 years.
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = era * 400 + year_of_era + (1 if month <= 2 else 0)
    return f"{_year_text(year)}-{month:02d}-{day:02d}"


def _year_text(year: int) -> str:
    if year < 0:
        return f"-{-year:04d}"
    return f"+{year}" if year > 9999 else f"{year:04d}"


def date_json(value: bytes) -> str:
    """JSON of a date: unsigned days, 2^31 is 1970-01-01."""
    try:
        (shifted,) = _UNSIGNED(value)
    except struct.error:
        if not value:
            return EMPTY
        raise wrong_length(value, "date", "4") from None
    return f'"{day_text(shifted - 0x8000_0000)}"'


def timestamp_json(value: bytes) -> str:
    """JSON of a timestamp: milliseconds since 1970-01-01 UTC."""
    try:
        (millis,) = _LONG(value)
    except struct.error:
        if not value:
            return EMPTY
        raise wrong_length(value, "timestamp", "8") from None
    days, rest = divmod(millis, _DAY_MILLIS)
    minutes, rest = divmod(rest, 60_000)
    seconds, millis = divmod(rest, 1000)
    return f'"{day_text(days)} {_TWO[minutes // 60]}:{_TWO[minutes % 60]}:{_TWO[seconds]}.{millis:03d}Z"'


def time_json(value: bytes) -> str:
    """JSON of a time: nanoseconds since midnight.

    The server checks nothing but the length; what lies outside a day prints as the server prints it.
    """
    try:
        (nanos,) = _LONG(value)
    except struct.error:
        if not value:
            return EMPTY
        raise wrong_length(value, "time", "8") from None
    if nanos < 0:
        return _negative_time(nanos)
    seconds, nanos = divmod(nanos, 1_000_000_000)
    minutes, seconds = divmod(seconds, 60)
    return f'"{_TWO[minutes // 60 % 24]}:{_TWO[minutes % 60]}:{_TWO[seconds]}.{nanos:09d}"'


def _negative_time(nanos: int) -> str:
    """Each part keeps its own sign behind its zeros, as in the server."""
    rest = -nanos
    parts: list[str] = []
    for size, width in ((1000, 3), (1000, 3), (1000, 3), (60, 2), (60, 2), (24, 2)):
        rest, part = divmod(rest, size)
        parts.append(f"{'0' * (width - 1)}-{part}" if part else "0" * width)
    nano, micro, milli, second, minute, hour = parts
    return f'"{hour}:{minute}:{second}.{milli}{micro}{nano}"'


_MONTH_UNITS: Final = ((12, "y"), (1, "mo"))
_NANO_UNITS: Final = (
    (3_600_000_000_000, "h"),
    (60_000_000_000, "m"),
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1000, "us"),
    (1, "ns"),
)


def duration_parts(value: bytes) -> tuple[int, int, int]:
    """Months, days and nanoseconds; all of one sign. ValueError for bytes that the server refuses too."""
    months, at = read_signed(value, 0)
    days, at = read_signed(value, at)
    nanos, _ = read_signed(value, at)
    if not (-(2**31) <= months < 2**31 and -(2**31) <= days < 2**31):
        raise ValueError("months or days of a duration beyond 32 bits")
    if min(months, days, nanos) < 0 < max(months, days, nanos):
        raise ValueError("months, days and nanoseconds of a duration of different signs")
    return months, days, nanos


def duration_json(value: bytes) -> str:
    """JSON of a duration: `1y2mo3d4h5m6s7ms8us9ns`, one `-` in front if negative, `0s` for none at all."""
    if not value:
        return EMPTY
    months, days, nanos = duration_parts(value)
    text = _in_units(abs(months), _MONTH_UNITS) + (f"{abs(days)}d" if days else "") + _in_units(abs(nanos), _NANO_UNITS)
    sign = "-" if min(months, days, nanos) < 0 else ""
    return f'"{sign}{text or "0s"}"'


def _in_units(amount: int, units: tuple[tuple[int, str], ...]) -> str:
    text = ""
    for size, name in units:
        count, amount = divmod(amount, size)
        if count:
            text += f"{count}{name}"
    return text
