"""Texts of float and double: the shortest digits that read back the same, in Java's layout. Knows no other type.

Java's layout: at least one digit after the point; `d.dddE±x` below 1e-3 and from 1e7 on. Not-a-number and the
infinities are strings, for the server's `null` would read as "deleted".
"""

from __future__ import annotations

import struct
from decimal import Context, Decimal
from math import frexp, isinf, ldexp
from typing import Final

_FLOAT: Final = struct.Struct(">f")

_NORMAL: Final = 1.1754943508222875e-38
"""The smallest float with all its 24 bits; any number of up to six digits from here on has a float of its own."""


def double_text(number: float) -> str:
    """The shortest digits that round-trip as a double, in Java's layout; a JSON string if it is no number."""
    if 1e-3 <= abs(number) < 1e7 or number == 0:
        return repr(number)
    if number != number:
        return '"NaN"'
    if isinf(number):
        return '"Infinity"' if number > 0 else '"-Infinity"'
    mantissa, _, power = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    figures = (whole + fraction).lstrip("0")
    # Zeros in front of the first figure are counted off the exponent, those behind the last one are no figures.
    exponent = int(power or 0) + len(whole) - 1 - (len(whole) + len(fraction) - len(figures))
    figures = figures.rstrip("0")
    sign = "-" if number < 0 else ""
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{exponent}"


def float_text(number: float) -> str:
    """The same for a number that is a float."""
    if number != number or isinf(number) or number == 0:
        return double_text(number)
    shortest = _shortest_float(abs(number))
    return double_text(-shortest if number < 0 else shortest)


def parse_float(text: str) -> float:
    """The float that a text means."""
    number = float(text)
    try:
        near = _near_float(number)
        # A double half way between two floats may be the rounding of a text that is not: the text itself decides.
        if near != number and _is_float(2 * number - near):
            exact, rounded = Decimal(text), Decimal(number)
            if exact != rounded:
                low, high = sorted((near, 2 * number - near))
                return high if exact > rounded else low
    except OverflowError:
        raise ValueError(f"{text!r:.80} is beyond a float") from None
    return near


def _near_float(number: float) -> float:
    near: float = _FLOAT.unpack(_FLOAT.pack(number))[0]
    return near


def _is_float(number: float) -> bool:
    try:
        return _near_float(number) == number
    except OverflowError:
        return False


def _shortest_float(number: float) -> float:
    """The double that prints the fewest digits that still read back as the float `number` (finite, above zero)."""
    mantissa, exponent = frexp(number)
    half = ldexp(1.0, max(exponent - 25, -150))
    if mantissa == 0.5 or number < _NORMAL:
        return _shortest_of_few(number, half, mantissa == 0.5)
    # The bounds of what reads back as this float are exact as doubles; only on a bound is the evenness asked for.
    below, above = number - half, number + half
    for layout in (".5e", ".6e", ".7e"):
        text = format(number, layout)
        near = float(text)
        if below < near < above or (near in (below, above) and _reads_back(text, number, half, below, above)):
            return near
    return float(format(number, ".8e"))


def _shortest_of_few(number: float, half: float, power_of_two: bool) -> float:
    """The same for powers of two and for numbers with less than 24 bits, where fewer than six digits can do."""
    # Below a power of two the floats lie twice as dense.
    below = number - (half / 2 if power_of_two and number > _NORMAL else half)
    above = number + half
    for figures in range(9):
        near = f"{number:.{figures}e}"
        if _reads_back(near, number, half, below, above):
            return float(near)
        # The space above a power of two is wider: the next number up can be inside where the nearest, below, is not.
        up = str(Context(prec=figures + 1).next_plus(Decimal(number)))
        if power_of_two and _reads_back(up, number, half, below, above):
            return float(up)
    return number


def _reads_back(text: str, number: float, half: float, below: float, above: float) -> bool:
    """Whether `text` lies between the bounds; on a bound the float with the even mantissa gets it."""
    near = float(text)
    if below < near < above:
        return True
    if near not in (below, above):
        return False
    exact, low, high = Decimal(text), Decimal(below), Decimal(above)
    even = (number / (2 * half)) % 2 == 0
    return low < exact < high or (even and exact in (low, high))
