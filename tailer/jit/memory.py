"""Memory at an address, for compiled code: bytes, 32-bit offsets, runs of bytes. Nothing is checked.

More of what `tailer.jit.words` has, for those who write. Whoever calls keeps the arrays alive and has seen to it
that the bytes are there. Compiled only: these functions do not run in plain Python.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from tailer.jit.decorators import intrinsic, types

_I8: Final = ir.IntType(8)
_I32: Final = ir.IntType(32)
_I64: Final = ir.IntType(64)


def _pointer(builder: Any, address: Any, width: Any) -> Any:
    return builder.inttoptr(address, width.as_pointer())


@intrinsic
def load(typing_context: Any, at: Any) -> Any:
    """The byte at an address, 0 to 255, as a signed 64-bit integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.load(_pointer(builder, arguments[0], _I8), align=1), _I64)

    return types.int64(types.int64), generate


@intrinsic
def store(typing_context: Any, at: Any, value: Any) -> Any:
    """Sets the byte at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(builder.trunc(arguments[1], _I8), _pointer(builder, arguments[0], _I8), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def get_offset(typing_context: Any, line: Any, number: Any) -> Any:
    """The signed 32-bit integer of that number in the array at the address `line`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.gep(_pointer(builder, arguments[0], _I32), [arguments[1]])
        return builder.sext(builder.load(place, align=4), _I64)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def give_offset(typing_context: Any, line: Any, number: Any, value: Any) -> Any:
    """Sets it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.gep(_pointer(builder, arguments[0], _I32), [arguments[1]])
        builder.store(builder.trunc(arguments[2], _I32), place, align=4)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def copy(typing_context: Any, to: Any, source: Any, length: Any) -> Any:
    """Copies that many bytes; the two do not overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from numba.core import cgutils

        to, source, length = arguments
        cgutils.raw_memcpy(builder, _pointer(builder, to, _I8), _pointer(builder, source, _I8), length, 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def call(typing_context: Any, function: Any, one: Any, two: Any, three: Any, four: Any, five: Any) -> Any:
    """Calls the function at an address (`callback`) with five 64-bit integers; it gives one back.

    What is called this way is compiled once and not a part of what calls it: numba would compile it again with each of
    the functions between them.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from numba.core import cgutils

        type_ = ir.FunctionType(_I32, [_I64.as_pointer(), _I64.as_pointer(), *[_I64] * 5])
        result, error = cgutils.alloca_once(builder, _I64), cgutils.alloca_once(builder, _I64)
        builder.call(builder.inttoptr(arguments[0], type_.as_pointer()), [result, error, *arguments[1:]])
        return builder.load(result)

    return types.int64(*[types.int64] * 6), generate
