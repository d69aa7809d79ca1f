"""JSON of float and double, compiled: see `tailer.types.floats`. The shortest digits by the Schubfach method.

(R. Giulietti, "The Schubfach way to render doubles".) With v = c·2^q the decimals that read back as v are those between
the middles to its neighbours. For the k with 10^k ≤ width of that space < 10^(k+1) one or two multiples of 10^(k+1) or
10^k lie in it; the one with fewer digits, then the nearer, then the even one is it. The middles are compared at four
times their size, as integers rounded to odd, which one multiplication by a 128-bit 10^-k each gives exactly.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tailer.jit.decorators import compiled, inlined
from tailer.jit.memory import load, store
from tailer.types.compiled.digits import digit_count, literal, put, put_number, put_unsigned, read_unsigned

_POWER_MIN: Final = -292
_POWER_MAX: Final = 324


def _power_bits(power: int) -> int:
    """floor(log2(10^power))"""
    return (10**power).bit_length() - 1 if power >= 0 else -(10**-power).bit_length()


def _powers() -> npt.NDArray[np.uint64]:
    """10^power, rounded up to 128 bits of which the first is set, as high and low halves; by power - _POWER_MIN."""
    table = np.empty((_POWER_MAX - _POWER_MIN + 1, 2), np.uint64)
    for power in range(_POWER_MIN, _POWER_MAX + 1):
        shift = 127 - _power_bits(power)
        if power >= 0:
            bits = 10**power << shift if shift >= 0 else 10**power >> -shift
            exact = shift >= 0
        else:
            bits, exact = (1 << shift) // 10**-power, False
        bits += 0 if exact else 1
        table[power - _POWER_MIN] = bits >> 64, bits & (2**64 - 1)
    return table


_POWERS: Final = _powers()

_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64(0xFFFF_FFFF)
_U0: Final = np.uint64(0)
_U1: Final = np.uint64(1)
_U2: Final = np.uint64(2)
_U10: Final = np.uint64(10)
_U10_2: Final = np.uint64(10**2)
_U10_4: Final = np.uint64(10**4)
_U10_8: Final = np.uint64(10**8)

_NAN: Final = literal(b'"NaN"')
_INFINITY: Final = literal(b'"Infinity"')
_MINUS_INFINITY: Final = literal(b'"-Infinity"')
_ZERO_POINT: Final = literal(b"0.0")


@compiled
def _multiplied(a: Any, b: Any) -> Any:
    """The high and low half of the 128-bit product."""
    a_high, a_low = a >> _HALF, a & _LOW
    b_high, b_low = b >> _HALF, b & _LOW
    low = a_low * b_low
    middle = a_high * b_low + (low >> _HALF)
    other = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF), a * b


@compiled
def _scaled(power_high: Any, power_low: Any, number: Any) -> Any:
    """number·power / 2^128, its last bit set if anything was cut off."""
    carry, _ = _multiplied(power_low, number)
    high, low = _multiplied(power_high, number)
    total = low + carry
    if total < low:
        high += _U1
    return high | _U1 if total > _U1 else high


@compiled
def shortest(fraction: Any, exponent: int, precision: int, bias: int) -> Any:
    """Digits and power of ten of a finite number above zero, from its two bit fields. `precision`: its bits in full."""
    hidden = _U1 << np.uint64(precision - 1)
    if exponent:
        c, q = fraction | hidden, exponent - bias
    else:
        c, q = fraction, 1 - bias
    odd = c & _U1
    narrow = fraction == _U0 and exponent > 1
    # floor(log10(2^q)), or of 3/4 of it: below a power of two the numbers lie twice as dense.
    k = (q * 1_262_611 - (524_031 if narrow else 0)) >> 22
    h = np.uint64(q + ((-k * 1_741_647) >> 19) + 1)
    high, low = _POWERS[-k - _POWER_MIN, 0], _POWERS[-k - _POWER_MIN, 1]
    middle = c << _U2
    below = _scaled(high, low, (middle - (_U1 if narrow else _U2)) << h) + odd
    value = _scaled(high, low, middle << h)
    above = _scaled(high, low, (middle + _U2) << h)
    s = value >> _U2
    if s >= _U10:
        tens = s // _U10 * _U10
        down = below <= tens << _U2
        up = ((tens + _U10) << _U2) + odd <= above
        if down != up:
            return (tens if down else tens + _U10), k
    down = below <= s << _U2
    up = ((s + _U1) << _U2) + odd <= above
    if down != up:
        return (s if down else s + _U1), k
    half = (s << _U2) + _U2
    return (s if value < half or (value == half and s & _U1 == _U0) else s + _U1), k


@compiled
def put_double(pos: int, off: int) -> int:
    """The eight bytes of a double."""
    return _put_binary(pos, read_unsigned(off, 8), 52, 0x7FF)


@compiled
def put_float(pos: int, off: int) -> int:
    """The four bytes of a float."""
    return _put_binary(pos, read_unsigned(off, 4), 23, 0xFF)


@inlined
def _put_binary(pos: int, bits: Any, stored: int, most: int) -> int:
    """A number of `stored` bits of fraction, behind an exponent up to `most`, behind a sign (IEEE 754)."""
    exponent = np.int64(bits >> np.uint64(stored)) & most
    fraction = bits & ((_U1 << np.uint64(stored)) - _U1)
    negative = np.int64(bits >> np.uint64(stored)) > most
    if exponent == most or (exponent == 0 and fraction == _U0):
        return _put_special(pos, fraction, exponent != 0, negative)
    number, power = shortest(fraction, exponent, stored + 1, (most >> 1) + stored)
    return _put_layout(pos, number, power, negative)


@compiled
def _put_special(pos: int, fraction: Any, infinite: bool, negative: bool) -> int:
    if infinite:
        if fraction != _U0:
            return put(pos, _NAN)
        return put(pos, _MINUS_INFINITY if negative else _INFINITY)
    if negative:
        store(pos, 0x2D)
        pos += 1
    return put(pos, _ZERO_POINT)


@compiled
def _without_zeros(number: Any, power: int) -> Any:
    """The same number with its last zeros taken off, in few divisions."""
    while number % _U10_8 == _U0:
        number, power = number // _U10_8, power + 8
    if number % _U10_4 == _U0:
        number, power = number // _U10_4, power + 4
    if number % _U10_2 == _U0:
        number, power = number // _U10_2, power + 2
    return (number // _U10, power + 1) if number % _U10 == _U0 else (number, power)


@compiled
def _put_layout(pos: int, number: Any, power: int, negative: bool) -> int:
    """number·10^power as Java lays it out: plain from 1e-3 to below 1e7, else `d.dddE±x`."""
    number, power = _without_zeros(number, power)
    if negative:
        store(pos, 0x2D)
        pos += 1
    count = digit_count(number)
    exponent = count - 1 + power
    if -3 <= exponent < 7:
        return _put_plain(pos, number, count, exponent)
    # The first figure goes where the point will be, and is then moved in front of it.
    end = put_unsigned(pos + 1, number, count)
    store(pos, load(pos + 1))
    store(pos + 1, 0x2E)
    if count == 1:
        store(end, 0x30)
        end += 1
    store(end, 0x45)
    return put_number(end + 1, exponent)


@compiled
def _put_plain(pos: int, number: Any, count: int, exponent: int) -> int:
    if exponent < 0:
        pos = put(pos, _ZERO_POINT[:2])
        for _ in range(-exponent - 1):
            store(pos, 0x30)
            pos += 1
        return put_unsigned(pos, number, count)
    whole = exponent + 1
    if count > whole:
        end = put_unsigned(pos + 1, number, count)
        for at in range(pos, pos + whole):
            store(at, load(at + 1))
        store(pos + whole, 0x2E)
        return end
    end = put_unsigned(pos, number, count)
    for _ in range(whole - count):
        store(end, 0x30)
        end += 1
    store(end, 0x2E)
    store(end + 1, 0x30)
    return end + 2
