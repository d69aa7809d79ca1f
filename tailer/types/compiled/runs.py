"""Short runs of bytes, copied by the word: what `copy` of `memory` does for long ones. Nothing is checked.

Compiled only.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir

from tailer.jit.decorators import inlined, intrinsic, types
from tailer.jit.memory import load, store
from tailer.jit.words import little_half, little_word

_I32: Final = ir.IntType(32)
_I64: Final = ir.IntType(64)
_HIGHEST: Final = np.uint64(0x8080_8080_8080_8080)


@intrinsic
def store_half(typing_context: Any, at: Any, value: Any) -> Any:
    """Sets four bytes at an address: the lowest ones of a word, the lowest of them first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _I32.as_pointer())
        builder.store(builder.trunc(arguments[1], _I32), pointer, align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64), generate


@intrinsic
def store_word(typing_context: Any, at: Any, value: Any) -> Any:
    """Sets eight bytes at an address, the lowest first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], _I64.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64), generate


@inlined
def copy_run(to: int, at: int, size: int) -> Any:
    """Copies that many bytes; the two do not overlap. Their highest bits: zero if all are ASCII."""
    seen = np.uint64(0)
    if size >= 8:
        done = 0
        while done + 8 <= size:
            bits = little_word(at, done)
            store_word(to + done, bits)
            seen |= bits
            done += 8
        # The last bytes together with some that were copied before.
        bits = little_word(at, size - 8)
        store_word(to + size - 8, bits)
        seen |= bits
    elif size >= 4:
        bits = np.uint64(little_half(at, 0))
        store_half(to, bits)
        seen |= bits
        bits = np.uint64(little_half(at, size - 4))
        store_half(to + size - 4, bits)
        seen |= bits
    else:
        for step in range(size):
            letter = load(at + step)
            store(to + step, letter)
            seen |= np.uint64(letter)
    return seen & _HIGHEST
