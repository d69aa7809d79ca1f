"""Numbers of any length, varint and decimal: bytes to text and back. Knows no other type.

varint     two's complement, as few bytes as hold it (more are read too)
decimal    scale i32 | unscaled varint; of none of its bytes, which the server accepts (`DecimalSerializer`), it is zero
"""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from functools import lru_cache
from struct import Struct
from typing import Final

from tailer.types.jsontext import EMPTY, wrong_length

_SCALE: Final = Struct(">i")
_DIGITS_MAX: Final = 4000
"""Python refuses `int` of longer texts by itself; a Decimal of them is exact, and fast."""

_SMALL_BITS: Final = 2000
"""Python may refuse `str` of a number of more than 640 digits (it takes quadratic time); 2000 bits stay below."""

_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def varint_json(value: bytes) -> str:
    """JSON of a varint."""
    if not value:
        return EMPTY
    return varint_text(value)


def varint_text(value: bytes) -> str:
    """The digits of a varint of at least one byte."""
    return digits(int.from_bytes(value, "big", signed=True))


def varint_bytes(number: int) -> bytes:
    """The bytes of a varint."""
    return number.to_bytes(((number if number >= 0 else ~number).bit_length() >> 3) + 1, "big", signed=True)


def parse_whole(text: str) -> int:
    """The number that the digits say, of any length."""
    return int(text) if len(text) < _DIGITS_MAX else int(Decimal(text))


def key_decimal_json(value: bytes) -> str:
    """JSON of a decimal that is a key."""
    return decimal_json(checked_key_decimal(value))


def checked_key_decimal(value: bytes) -> bytes:
    """The value; ValueError where it has no unscaled number: another key would have the same text."""
    if len(value) == _SCALE.size:
        raise wrong_length(value, "decimal in a key", "at least 5")
    return value


def decimal_json(value: bytes) -> str:
    """JSON of a decimal."""
    return decimal_text(value) if value else EMPTY


def decimal_parts(value: bytes) -> tuple[int, int]:
    """The unscaled number and the scale of a decimal of at least one byte."""
    if len(value) < _SCALE.size:
        raise wrong_length(value, "decimal", "at least 4")
    return int.from_bytes(value[4:], "big", signed=True), _SCALE.unpack_from(value)[0]


def decimal_bytes(number: Decimal) -> bytes:
    """The bytes of a decimal."""
    sign, figures, exponent = number.as_tuple()
    if not isinstance(exponent, int) or not -(2**31) <= -exponent < 2**31:
        raise ValueError(f"{number!s:.80} is no decimal")
    unscaled = parse_whole("".join(map(str, figures)))
    return _SCALE.pack(-exponent) + varint_bytes(-unscaled if sign else unscaled)


def decimal_text(value: bytes) -> str:
    """Unscaled × 10^−scale as Java's `BigDecimal.toString` spells it, for every 32-bit scale."""
    unscaled, scale = decimal_parts(value)
    sign = "-" if unscaled < 0 else ""
    figures = digits(abs(unscaled))
    if scale == 0:
        return sign + figures
    exponent = len(figures) - 1 - scale
    if scale > 0 and exponent >= -6:
        point = len(figures) - scale
        if point > 0:
            return f"{sign}{figures[:point]}.{figures[point:]}"
        return f"{sign}0.{'0' * -point}{figures}"
    fraction = "." + figures[1:] if len(figures) > 1 else ""
    return f"{sign}{figures[0]}{fraction}E{exponent:+d}"


def digits(number: int) -> str:
    """The decimal digits of `number`, in near linear time for numbers of any size."""
    bits = number.bit_length()
    if bits <= _SMALL_BITS:
        return str(number)
    sign = "-" if number < 0 else ""
    return sign + format(_exact_decimal(abs(number), bits), "f")


def _exact_decimal(number: int, bits: int) -> Decimal:
    """`number` of at most `bits` bits, by halves: the decimal module multiplies long numbers fast, `str` does not."""
    if bits <= _SMALL_BITS:
        return Decimal(number)
    low = bits >> 1
    high = number >> low
    rest = number - (high << low)
    shifted = _EXACT.multiply(_exact_decimal(high, bits - low), _power_of_two(low))
    return _EXACT.add(shifted, _exact_decimal(rest, low))


@lru_cache(maxsize=64)
def _power_of_two(exponent: int) -> Decimal:
    if exponent <= _SMALL_BITS:
        return Decimal(1 << exponent)
    half = _power_of_two(exponent >> 1)
    square = _EXACT.multiply(half, half)
    return _EXACT.multiply(square, Decimal(2)) if exponent & 1 else square
