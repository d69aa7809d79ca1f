"""JSON of the whole-number types and decimal. Knows no other type."""

from __future__ import annotations

import struct
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from functools import lru_cache
from typing import Final

from tailer.types.jsontext import EMPTY, ToJson, wrong_length

_SMALL_BITS: Final = 2000
"""Python may refuse `str` of a number of more than 640 digits (it takes quadratic time); 2000 bits stay below."""

_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def fixed_integer(name: str, layout: str) -> ToJson:
    """JSON of a signed integer of constant size; `layout` is its `struct` letter."""
    codec = struct.Struct(">" + layout)
    unpack = codec.unpack

    def integer_json(value: bytes) -> str:
        try:
            return str(unpack(value)[0])
        except struct.error:
            if not value:
                return EMPTY
            raise wrong_length(value, name, str(codec.size)) from None

    return integer_json


def varint_json(value: bytes) -> str:
    """JSON of a varint: two's complement of any length."""
    if not value:
        return EMPTY
    return digits(int.from_bytes(value, "big", signed=True))


def decimal_json(value: bytes) -> str:
    """JSON of a decimal: 32-bit scale, then the unscaled number as a varint."""
    if not value:
        return EMPTY
    if len(value) < 5:
        raise wrong_length(value, "decimal", "at least 5")
    scale = int.from_bytes(value[:4], "big", signed=True)
    return decimal_text(int.from_bytes(value[4:], "big", signed=True), scale)


def decimal_text(unscaled: int, scale: int) -> str:
    """`unscaled` × 10^−`scale` as Java's `BigDecimal.toString` spells it, for every 32-bit scale."""
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
