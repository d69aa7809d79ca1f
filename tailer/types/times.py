"""Date, time, timestamp and duration: numbers to JSON and its text back, all that bytes can hold. No other type.

`datetime` ends at the year 9999; years beyond are written `+10000`, years before 0 `-0001` (proleptic Gregorian).

    date         u32 days, 2^31 is 1970-01-01
    time         i64 nanoseconds since midnight
    timestamp    i64 milliseconds since 1970-01-01 UTC
    duration     months | days | nanoseconds, each a signed variable-length integer; all of one sign
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from struct import Struct
from typing import Final

from tailer.types.jsontext import EMPTY
from tailer.types.texts import MARKER, escaped, unescaped
from tailer.types.vint import read_signed, write_signed

_DAY_MILLIS: Final = 86_400_000
_DAY_NANOS: Final = 86_400_000_000_000
_NANOS: Final = Struct(">q")
_DATE_NUMBER: Final = Struct(">I")
_DAY_ZERO: Final = 0x8000_0000
_TWO: Final = tuple(f"{number:02d}" for number in range(60))
"""Two digits each; a format specification takes three times as long."""

_EPOCH_ORDINAL: Final = 719_163
"""`date(1970, 1, 1).toordinal()`"""

_MONTH_UNITS: Final = ((12, "y"), (1, "mo"))
_NANO_UNITS: Final = (
    (3_600_000_000_000, "h"),
    (60_000_000_000, "m"),
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1000, "us"),
    (1, "ns"),
)

_DATE: Final = r"([+-]?\d{4,10})-(\d\d)-(\d\d)"
_DAY: Final = re.compile(_DATE, re.ASCII)
_INSTANT: Final = re.compile(_DATE + r" (\d\d):(\d\d):(\d\d)\.(\d{3})Z", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)\.(\d{9})", re.ASCII)
_DURATION: Final = re.compile(
    r"(-?)(?:(\d+)y)?(?:(\d+)mo)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?(?:(\d+)us)?(?:(\d+)ns)?",
    re.ASCII,
)


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


def days_of(number: int) -> int:
    """Days since 1970-01-01 of a date's number."""
    return number - _DAY_ZERO


def date_bytes(days: int) -> bytes:
    """The bytes of a date, by days since 1970-01-01."""
    return _DATE_NUMBER.pack(days + _DAY_ZERO)


def date_text(number: int) -> str:
    """JSON of a date, by its number."""
    return f'"{day_text(number - _DAY_ZERO)}"'


def timestamp_text(millis: int) -> str:
    """JSON of a timestamp."""
    days, rest = divmod(millis, _DAY_MILLIS)
    minutes, rest = divmod(rest, 60_000)
    seconds, millis = divmod(rest, 1000)
    return f'"{day_text(days)} {_TWO[minutes // 60]}:{_TWO[minutes % 60]}:{_TWO[seconds]}.{millis:03d}Z"'


def time_text(nanos: int) -> str:
    """JSON of a time.

    The server checks nothing but the length; what lies outside a day prints as the server prints it.
    """
    if nanos < 0:
        return _negative_time(nanos)
    seconds, nanos = divmod(nanos, 1_000_000_000)
    minutes, seconds = divmod(seconds, 60)
    return f'"{_TWO[minutes // 60 % 24]}:{_TWO[minutes % 60]}:{_TWO[seconds]}.{nanos:09d}"'


def key_time_text(nanos: int) -> str:
    """The same of a key: what lies outside a day is escaped, for it prints as another time (see `texts`)."""
    if 0 <= nanos < _DAY_NANOS:
        return time_text(nanos)
    return f'"{escaped(_NANOS.pack(nanos))}"'


def parse_key_time(text: str) -> int:
    """The nanoseconds of a key's text."""
    if not text.startswith(MARKER):
        return parse_time(text)
    value = unescaped(text)
    nanos = int.from_bytes(value, "big", signed=True)
    if len(value) != _NANOS.size or 0 <= nanos < _DAY_NANOS:
        raise ValueError(f"{text!r:.80} is the text of no key")
    return nanos


def _negative_time(nanos: int) -> str:
    """Each part keeps its own sign behind its zeros, as in the server."""
    rest = -nanos
    parts: list[str] = []
    for size, width in ((1000, 3), (1000, 3), (1000, 3), (60, 2), (60, 2), (24, 2)):
        rest, part = divmod(rest, size)
        parts.append(f"{'0' * (width - 1)}-{part}" if part else "0" * width)
    nano, micro, milli, second, minute, hour = parts
    return f'"{hour}:{minute}:{second}.{milli}{micro}{nano}"'


def duration_parts(value: bytes) -> tuple[int, int, int]:
    """Months, days and nanoseconds; all of one sign. ValueError for bytes that the server refuses too."""
    months, at = read_signed(value, 0)
    days, at = read_signed(value, at)
    nanos, _ = read_signed(value, at)
    _check_duration(months, days, nanos)
    return months, days, nanos


def duration_bytes(parts: tuple[int, int, int]) -> bytes:
    """The inverse of `duration_parts`, which refuses the same."""
    _check_duration(*parts)
    return b"".join(map(write_signed, parts))


def _check_duration(months: int, days: int, nanos: int) -> None:
    if not (-(2**31) <= months < 2**31 and -(2**31) <= days < 2**31):
        raise ValueError("months or days of a duration beyond 32 bits")
    if min(months, days, nanos) < 0 < max(months, days, nanos):
        raise ValueError("months, days and nanoseconds of a duration of different signs")


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


def parse_date(text: str) -> int:
    """Days since 1970-01-01 of a date's text."""
    found = _DAY.fullmatch(text)
    if found is None:
        raise _bad(text, "date")
    return _days(found[1], found[2], found[3])


def parse_timestamp(text: str) -> int:
    """Milliseconds since 1970-01-01 UTC of a timestamp's text."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise _bad(text, "timestamp")
    seconds = (int(found[4]) * 60 + int(found[5])) * 60 + int(found[6])
    return (_days(found[1], found[2], found[3]) * 86_400 + seconds) * 1000 + int(found[7])


def parse_time(text: str) -> int:
    """Nanoseconds since midnight of a time's text."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise _bad(text, "time")
    seconds = (int(found[1]) * 60 + int(found[2])) * 60 + int(found[3])
    return seconds * 1_000_000_000 + int(found[4])


def parse_duration(text: str) -> tuple[int, int, int]:
    """Months, days and nanoseconds of a duration's text."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise _bad(text, "duration")
    sign = -1 if found[1] else 1
    years, months, days, *rest = (int(part or 0) for part in found.groups()[1:])
    nanos = sum(amount * unit for amount, (unit, _) in zip(rest, _NANO_UNITS, strict=True))
    return sign * (years * 12 + months), sign * days, sign * nanos


def _days(year_text: str, month_text: str, day_text: str) -> int:
    """Days since 1970-01-01 of a day of the proleptic Gregorian calendar, any year."""
    year, month, day = int(year_text), int(month_text), int(day_text)
    # Years from March on, so that the leap day ends one; 400 years have 146 097 days.
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _bad(text: str, name: str) -> ValueError:
    return ValueError(f"{text!r:.80} is no {name}")
