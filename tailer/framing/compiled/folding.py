"""CRC32 by carry-less multiplication, compiled: sixteen bytes in two products. See `crc` for what `state` is.

Bits are polynomials over two elements, the first bit of the data the highest power. Within a word that is the lowest
bit, so words are mirrored, and a product of two words stands one power too low: the factors make up for it. A block is
worth its value times x^128 when another one follows; its two halves are multiplied by what such powers leave when they
are divided by CRC32's polynomial. So all blocks become one with the same remainder.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir

from tailer.framing.compiled.blocks import (
    BLOCK,
    BLOCK_BYTES,
    HALVES,
    LOW,
    QUARTERS,
    begun,
    block,
    constant,
    folded,
    moved_up,
    product,
    xor,
)
from tailer.jit.decorators import compiled, inlined, intrinsic, types
from tailer.jit.words import little_half

LANES: Final = 4
LANES_BYTES: Final = LANES * BLOCK_BYTES
MANY: Final = 4 * LANES_BYTES
"""From so many bytes on, LANES blocks are folded side by side."""

_POLYNOMIAL: Final = 0x1_04C1_1DB7
_WIDTH: Final = 32
_QUARTER_MASK: Final = 0xFFFF_FFFF
_ZERO: Final = np.uint64(0)


def _mirrored(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


def _divided(power: int) -> tuple[int, int]:
    """x^power divided by the polynomial: quotient and remainder."""
    quotient, rest = 0, 1 << power
    for bit in range(power, _WIDTH - 1, -1):
        if rest >> bit & 1:
            rest ^= _POLYNOMIAL << bit - _WIDTH
            quotient |= 1 << bit - _WIDTH
    return quotient, rest


def _factor(power: int) -> int:
    """What a word is multiplied by to be worth x^power times as much, up to multiples of the polynomial."""
    return _mirrored(_divided(power - 1)[1], _WIDTH) << _WIDTH


_NEXT: Final = np.uint64(_factor(128 + 64)), np.uint64(_factor(128))
_NEXT_LANES: Final = np.uint64(_factor(LANES * 128 + 64)), np.uint64(_factor(LANES * 128))
_LOW_NEXT, _HIGH_NEXT = _NEXT
_LOW_LANES, _HIGH_LANES = _NEXT_LANES

_FOR_LOW_HALF: Final = _factor(64 + 32)
_FOR_QUARTER: Final = _factor(64)
_QUOTIENT: Final = _mirrored(_divided(64)[0], _WIDTH + 1)
_MIRRORED: Final = _mirrored(_POLYNOMIAL, _WIDTH + 1)


def _remainder(builder: Any, one: Any) -> Any:
    """In its second quarter, what division of the low half by the polynomial leaves (Barrett)."""
    mask = constant(_QUARTER_MASK)
    quotient = product(builder, builder.and_(one, mask), constant(_QUOTIENT), LOW)
    return builder.xor(one, product(builder, builder.and_(quotient, mask), constant(_MIRRORED), LOW))


def _quarter(builder: Any, one: Any, number: int) -> Any:
    quarter = builder.extract_element(builder.bitcast(one, QUARTERS), ir.Constant(ir.IntType(32), number))
    return builder.zext(quarter, ir.IntType(64))


@intrinsic
def _register_of(typing_context: Any, one: Any) -> Any:
    """The register after a block, from zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Times x^32, so that the high half begins a quarter further on: 96 bits are left, then 64.
        order = ir.Constant(QUARTERS, [ir.Constant(ir.IntType(32), number) for number in (0, 6, 7, 0)])
        quarters = builder.bitcast(arguments[0], QUARTERS)
        high = builder.shuffle_vector(builder.bitcast(constant(0), QUARTERS), quarters, order)
        low = product(builder, arguments[0], constant(_FOR_LOW_HALF), LOW)
        rest = builder.xor(low, builder.bitcast(high, HALVES))
        rest = builder.xor(rest, product(builder, rest, constant(_FOR_QUARTER), LOW))
        last = ir.Constant(ir.IntType(32), 1)
        moved = builder.insert_element(constant(0), builder.extract_element(rest, last), ir.Constant(ir.IntType(32), 0))
        return _quarter(builder, _remainder(builder, moved), 1)

    return types.uint64(BLOCK), generate


@intrinsic
def _register_of_four(typing_context: Any, bits: Any) -> Any:
    """The register after four bytes, from zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = builder.insert_element(constant(0), arguments[0], ir.Constant(ir.IntType(32), 0))
        return _quarter(builder, _remainder(builder, one), 1)

    return types.uint64(types.uint64), generate


@inlined
def folded_four(state: int, base: int, at: int) -> int:
    """The register after four bytes."""
    return _register_of_four(little_half(base, at) ^ state)


@compiled
def _fold_many(one: Any, base: int, at: int, end: int) -> Any:
    """A block that the bytes from `at` on are folded into, as many LANES_BYTES as there are."""
    one = folded(one, _LOW_NEXT, _HIGH_NEXT, block(base, at))
    two, three, four = block(base, at + 16), block(base, at + 32), block(base, at + 48)
    at += LANES_BYTES
    while at + LANES_BYTES <= end:
        one = folded(one, _LOW_LANES, _HIGH_LANES, block(base, at))
        two = folded(two, _LOW_LANES, _HIGH_LANES, block(base, at + 16))
        three = folded(three, _LOW_LANES, _HIGH_LANES, block(base, at + 32))
        four = folded(four, _LOW_LANES, _HIGH_LANES, block(base, at + 48))
        at += LANES_BYTES
    one = folded(one, _LOW_NEXT, _HIGH_NEXT, two)
    one = folded(one, _LOW_NEXT, _HIGH_NEXT, three)
    return folded(one, _LOW_NEXT, _HIGH_NEXT, four)


@inlined
def folded_crc(state: int, base: int, at: int, end: int) -> int:
    """The register after the bytes from `at` to `end`, BLOCK_BYTES of them at least."""
    # Zeros before the first byte change nothing: what does not fill a block is the end of the first one.
    first = (end - at - 1 & BLOCK_BYTES - 1) + 1
    one = moved_up(xor(block(base, at), begun(state)), first)
    # What of the register lies behind so few bytes.
    beyond = state >> np.uint64(8 * min(first, 4))
    at += first
    if at < end:
        one = folded(one, _LOW_NEXT, _HIGH_NEXT, xor(block(base, at), begun(beyond)))
        at += BLOCK_BYTES
    if end - at >= MANY:
        one = _fold_many(one, base, at, end)
        at = end - (end - at & LANES_BYTES - 1)
    while at < end:
        one = folded(one, _LOW_NEXT, _HIGH_NEXT, block(base, at))
        at += BLOCK_BYTES
    return _register_of(one)
