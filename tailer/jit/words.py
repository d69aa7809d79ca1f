"""Bytes at an address, for compiled code: single bytes and words of eight, without a check of any bound.

Whoever calls has checked that the bytes are there: behind the end of an entry lies slack. Compiled only: these
functions do not run in plain Python.
"""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir

from tailer.jit.decorators import inlined, intrinsic, types

_LITTLE = sys.byteorder == "little"
_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def _load(builder: Any, width: Any, base: Any, at: Any) -> Any:
    pointer = builder.inttoptr(builder.add(base, at), width.as_pointer())
    return builder.load(pointer, align=1)


@intrinsic
def byte(typing_context: Any, base: Any, at: Any) -> Any:
    """The byte at `base + at` as a signed 64-bit integer, 0 to 255."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(_load(builder, _I8, *arguments), _I64)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def word(typing_context: Any, base: Any, at: Any) -> Any:
    """Eight bytes from `base + at` on, big-endian, unsigned."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load(builder, _I64, *arguments)
        return builder.bswap(loaded) if _LITTLE else loaded

    return types.uint64(types.int64, types.int64), generate


@intrinsic
def little_word(typing_context: Any, base: Any, at: Any) -> Any:
    """Eight bytes from `base + at` on, little-endian, unsigned."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load(builder, _I64, *arguments)
        return loaded if _LITTLE else builder.bswap(loaded)

    return types.uint64(types.int64, types.int64), generate


@intrinsic
def half_word(typing_context: Any, base: Any, at: Any) -> Any:
    """Four bytes from `base + at` on, big-endian, unsigned in 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load(builder, _I32, *arguments)
        return builder.zext(builder.bswap(loaded) if _LITTLE else loaded, _I64)

    return types.uint64(types.int64, types.int64), generate


@intrinsic
def leading_ones(typing_context: Any, value: Any) -> Any:
    """How many one bits stand before the first zero bit of a word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(builder.not_(arguments[0]), ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def little_half(typing_context: Any, base: Any, at: Any) -> Any:
    """Four bytes from `base + at` on, little-endian, unsigned in 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load(builder, _I32, *arguments)
        return builder.zext(loaded if _LITTLE else builder.bswap(loaded), _I64)

    return types.uint64(types.int64, types.int64), generate


@intrinsic
def get(typing_context: Any, line: Any, number: Any) -> Any:
    """The signed 64-bit integer of that number in the array at the address `line`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_number_at(builder, *arguments[:2]), align=8)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def put(typing_context: Any, line: Any, number: Any, value: Any) -> Any:
    """Sets it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _number_at(builder, *arguments[:2]), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _number_at(builder: Any, line: Any, number: Any) -> Any:
    return builder.gep(builder.inttoptr(line, _I64.as_pointer()), [number])


@intrinsic
def half_at(typing_context: Any, line: Any, first: Any, number: Any) -> Any:
    """Number `first + number` of the array of unsigned 32-bit integers at the address `line`, in 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        line, first, number = arguments
        pointer = builder.inttoptr(line, _I32.as_pointer())
        return builder.zext(builder.load(builder.gep(pointer, [builder.add(first, number)]), align=4), _I64)

    return types.uint64(types.int64, types.int64, types.uint64), generate


@intrinsic
def put_half(typing_context: Any, line: Any, number: Any, value: Any) -> Any:
    """Sets the 32-bit integer of that number in the array at the address `line` to the low half of `value`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        line, number, value = arguments
        place = builder.gep(builder.inttoptr(line, _I32.as_pointer()), [number])
        builder.store(builder.trunc(value, _I32), place, align=4)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@inlined
def is_same(base: int, at: int, other: int, there: int, length: int) -> bool:
    """Whether two runs of bytes are equal. Reads nothing beyond them."""
    done = 0
    while done + 8 <= length:
        if word(base, at + done) != word(other, there + done):
            return False
        done += 8
    while done < length:
        if byte(base, at + done) != byte(other, there + done):
            return False
        done += 1
    return True
