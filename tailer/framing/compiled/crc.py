"""CRC32 as zlib's, compiled: by carry-less multiplication where the processor can, else by tables.

`state` is the running register, not inverted: ALL_ONES to begin with, and the CRC is `state ^ ALL_ONES`.
"""

from __future__ import annotations

import zlib
from typing import Final

import numpy as np
import numpy.typing as npt

from tailer.framing.compiled.blocks import BLOCK_BYTES, CAN_MULTIPLY
from tailer.framing.compiled.folding import folded_crc, folded_four
from tailer.jit.decorators import compiled, inlined
from tailer.jit.words import byte, half_at, little_half, little_word

ALL_ONES: Final = np.uint64(0xFFFFFFFF)
STEP: Final = 16

_BYTE: Final = np.uint64(0xFF)
_HALF: Final = np.uint64(32)


def crc_tables() -> npt.NDArray[np.uint32]:
    """Line n: what each byte value does to the register when n zero bytes follow it."""
    tables = np.empty((STEP, 256), np.uint32)
    # zlib inverts the register before and after: undone here, as zero bytes must not move a zero register.
    tables[0] = [zlib.crc32(bytes([value]), 0xFFFFFFFF) ^ 0xFFFFFFFF for value in range(256)]
    for line in range(1, STEP):
        before = tables[line - 1]
        tables[line] = (before >> 8) ^ tables[0][before & 0xFF]
    return tables


@inlined
def _crc_of_half(tables: int, line: int, bits: int) -> int:
    """The register after four bytes, the first one lowest in `bits`, and `line` zero bytes behind them, from zero."""
    return (
        half_at(tables, 256 * (line + 3), bits & _BYTE)
        ^ half_at(tables, 256 * (line + 2), bits >> np.uint64(8) & _BYTE)
        ^ half_at(tables, 256 * (line + 1), bits >> np.uint64(16) & _BYTE)
        ^ half_at(tables, 256 * line, bits >> np.uint64(24) & _BYTE)
    )


@inlined
def _crc_of_word(tables: int, line: int, bits: int) -> int:
    """The same for eight bytes."""
    return _crc_of_half(tables, line + 4, bits) ^ _crc_of_half(tables, line, bits >> _HALF)


@inlined
def four_by_tables(tables: int, state: int, base: int, at: int) -> int:
    """See `crc_of_four`."""
    return _crc_of_half(tables, 0, little_half(base, at) ^ state)


@inlined
def crc_of_number(tables: int, state: int, number: int) -> int:
    """The register after a number's four bytes, the highest first."""
    bits = np.uint64(number)
    turned = bits >> np.uint64(24) & _BYTE | (bits >> np.uint64(16) & _BYTE) << np.uint64(8)
    turned |= (bits >> np.uint64(8) & _BYTE) << np.uint64(16) | (bits & _BYTE) << np.uint64(24)
    return _crc_of_half(tables, 0, turned ^ state)


@compiled
def crc_by_tables(tables: int, state: int, base: int, at: int, end: int) -> int:
    """See `crc32`."""
    while at + STEP <= end:
        first, second = little_word(base, at) ^ state, little_word(base, at + 8)
        state = _crc_of_word(tables, 8, first) ^ _crc_of_word(tables, 0, second)
        at += STEP
    if at + 8 <= end:
        state = _crc_of_word(tables, 0, little_word(base, at) ^ state)
        at += 8
    if at + 4 <= end:
        state = four_by_tables(tables, state, base, at)
        at += 4
    while at < end:
        value = np.uint64(byte(base, at))
        state = half_at(tables, 0, (state ^ value) & _BYTE) ^ state >> np.uint64(8)
        at += 1
    return state


@inlined
def four_by_folding(tables: int, state: int, base: int, at: int) -> int:
    """See `crc_of_four`."""
    return folded_four(state, base, at)


@inlined
def crc_by_folding(tables: int, state: int, base: int, at: int, end: int) -> int:
    """See `crc32`."""
    if end - at < BLOCK_BYTES:
        return crc_by_tables(tables, state, base, at, end)
    return folded_crc(state, base, at, end)


crc_of_four = four_by_folding if CAN_MULTIPLY else four_by_tables
"""The register after four bytes. `tables`: the address of `crc_tables`."""

crc32 = crc_by_folding if CAN_MULTIPLY else crc_by_tables
"""The register after the bytes from `at` to `end`."""
