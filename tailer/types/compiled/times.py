"""JSON of date, time, timestamp and duration, compiled: see `tailer.types.times`."""

from __future__ import annotations

from typing import Any, Final

from tailer.jit.decorators import compiled
from tailer.jit.memory import load, store
from tailer.types.compiled.digits import (
    LEFT,
    digit_count,
    literal,
    magnitude,
    put,
    put_number,
    put_padded,
    put_unsigned,
    read_signed,
)

_QUOTE: Final = 0x22
_DAY_MILLIS: Final = 86_400_000
_NANOS: Final = 1_000_000_000
_DAY_NANOS: Final = 86_400_000_000_000
_ZERO_SECONDS: Final = literal(b"0s")
_YEARS: Final = literal(b"y")
_MONTHS: Final = literal(b"mo")
_DAYS: Final = literal(b"d")
_HOURS: Final = literal(b"h")
_MINUTES: Final = literal(b"m")
_SECONDS: Final = literal(b"s")
_MILLIS: Final = literal(b"ms")
_MICROS: Final = literal(b"us")
_NANO: Final = literal(b"ns")


@compiled
def _put_day(pos: int, days: int) -> int:
    """The ISO date of days since 1970-01-01: the civil calendar counted from 0000-03-01; 146 097 days are 400 years."""
    shifted_days = days + 719_468
    era = shifted_days // 146_097
    day_of_era = shifted_days - era * 146_097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    pos = _put_year(pos, era * 400 + year_of_era + (1 if month <= 2 else 0))
    store(pos, 0x2D)
    pos = put_padded(pos + 1, month, 2)
    store(pos, 0x2D)
    return put_padded(pos + 1, day, 2)


@compiled
def _put_year(pos: int, year: int) -> int:
    if year < 0 or year > 9999:
        store(pos, 0x2D if year < 0 else 0x2B)
        pos += 1
    size = magnitude(year)
    return put_unsigned(pos, size, max(4, digit_count(size)))


@compiled
def put_date(pos: int, off: int) -> int:
    """Four bytes: unsigned days, 2^31 is 1970-01-01."""
    # Flipping the first bit is what taking 2^31 away does, in two's complement.
    days = read_signed(off, 4)
    store(pos, _QUOTE)
    pos = _put_day(pos + 1, days - 0x8000_0000 if days >= 0 else days + 0x8000_0000)
    store(pos, _QUOTE)
    return pos + 1


@compiled
def put_timestamp(pos: int, off: int) -> int:
    """Eight bytes: milliseconds since 1970-01-01 UTC."""
    millis = read_signed(off, 8)
    days = millis // _DAY_MILLIS
    rest = millis - days * _DAY_MILLIS
    store(pos, _QUOTE)
    pos = _put_day(pos + 1, days)
    store(pos, 0x20)
    pos = _put_clock(pos + 1, rest // 1000)
    store(pos, 0x2E)
    pos = put_padded(pos + 1, rest % 1000, 3)
    store(pos, 0x5A)
    store(pos + 1, _QUOTE)
    return pos + 2


@compiled
def put_time(pos: int, off: int) -> int:
    """Eight bytes: nanoseconds since midnight. What lies before it is LEFT."""
    nanos = read_signed(off, 8)
    if nanos < 0:
        return LEFT
    seconds = nanos // _NANOS
    store(pos, _QUOTE)
    pos = _put_clock(pos + 1, seconds % 86_400)
    store(pos, 0x2E)
    pos = put_padded(pos + 1, nanos - seconds * _NANOS, 9)
    store(pos, _QUOTE)
    return pos + 1


@compiled
def put_key_time(pos: int, off: int) -> int:
    """The same of a key: what lies outside a day is LEFT, for it prints as another key."""
    nanos = read_signed(off, 8)
    if nanos < 0 or nanos >= _DAY_NANOS:
        return LEFT
    return put_time(pos, off)


@compiled
def _put_clock(pos: int, seconds: int) -> int:
    minutes = seconds // 60
    pos = put_padded(pos, minutes // 60, 2)
    store(pos, 0x3A)
    pos = put_padded(pos + 1, minutes % 60, 2)
    store(pos, 0x3A)
    return put_padded(pos + 1, seconds % 60, 2)


@compiled
def vint_size(at: int, end: int) -> int:
    """The bytes of the variable-length number at `at`; 0 if it does not end before `end`."""
    if at >= end:
        return 0
    first = load(at)
    size = 1
    while first & 0x80:
        size += 1
        first = (first << 1) & 0xFF
    return size if at + size <= end else 0


@compiled
def read_vint(at: int, size: int) -> int:
    """The number of so many bytes, its 64 bits taken as signed."""
    number = load(at) & (0xFF >> size if size < 8 else 0)
    for more in range(1, size):
        number = (number << 8) | load(at + more)
    return number


@compiled
def put_duration(pos: int, off: int, length: int) -> int:
    """Months, days and nanoseconds as zigzag numbers; what the plain function refuses, or the 64th bit, is LEFT."""
    at, end = off, off + length
    months = days = nanos = 0
    for part in range(3):
        size = vint_size(at, end)
        if size == 0 or size == 9:
            return LEFT
        raw = read_vint(at, size)
        number = (raw >> 1) ^ -(raw & 1)
        at += size
        if part == 0:
            months = number
        elif part == 1:
            days = number
        else:
            nanos = number
    low, high = min(months, days, nanos), max(months, days, nanos)
    if low < 0 < high or abs(months) >= 2**31 or abs(days) >= 2**31:
        return LEFT
    store(pos, _QUOTE)
    pos += 1
    if low < 0:
        store(pos, 0x2D)
        pos += 1
    begun = pos
    pos = _put_unit(pos, abs(months) // 12, _YEARS)
    pos = _put_unit(pos, abs(months) % 12, _MONTHS)
    pos = _put_unit(pos, abs(days), _DAYS)
    pos = _put_nanos(pos, abs(nanos))
    if pos == begun:
        pos = put(pos, _ZERO_SECONDS)
    store(pos, _QUOTE)
    return pos + 1


@compiled
def _put_nanos(pos: int, nanos: int) -> int:
    seconds = nanos // _NANOS
    rest = nanos - seconds * _NANOS
    pos = _put_unit(pos, seconds // 3600, _HOURS)
    pos = _put_unit(pos, seconds // 60 % 60, _MINUTES)
    pos = _put_unit(pos, seconds % 60, _SECONDS)
    pos = _put_unit(pos, rest // 1_000_000, _MILLIS)
    pos = _put_unit(pos, rest // 1000 % 1000, _MICROS)
    return _put_unit(pos, rest % 1000, _NANO)


@compiled
def _put_unit(pos: int, count: int, name: Any) -> int:
    return pos if count == 0 else put(put_number(pos, count), name)
