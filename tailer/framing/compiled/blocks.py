"""Blocks of sixteen bytes in one register, for compiled code, and their carry-less products.

Only where the processor that the code is for multiplies that way: CAN_MULTIPLY. Code of different processors is kept
apart.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from tailer.jit.decorators import features, intrinsic, models, register_model, types

_WANTED: Final = frozenset({"+pclmul", "+ssse3"})


CAN_MULTIPLY: Final = features() >= _WANTED

BLOCK_BYTES: Final = 16

_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_BYTES = ir.VectorType(_I8, 16)
QUARTERS = ir.VectorType(_I32, 4)
HALVES = ir.VectorType(_I64, 2)

LOW, HIGH = 0x00, 0x11
"""Which halves of two blocks are multiplied: the ones with the first bytes, or the others."""

_NOTHING: Final = 0x80
"""As the number of a byte to be moved: a zero."""


class _Block(types.Type):
    """Two 64-bit halves, the first one with the first bytes, little-endian."""

    def __init__(self) -> None:
        super().__init__(name="Block")


BLOCK: Final = _Block()


@register_model(_Block)
class _BlockModel(models.PrimitiveModel):
    def __init__(self, manager: Any, type_: Any) -> None:
        super().__init__(manager, type_, HALVES)


def constant(low: int, high: int = 0) -> Any:
    """A constant block, while code is made."""
    return ir.Constant(HALVES, [ir.Constant(_I64, low), ir.Constant(_I64, high)])


def product(builder: Any, one: Any, other: Any, halves: int) -> Any:
    """The carry-less product of a half each, while code is made."""
    type_ = ir.FunctionType(HALVES, [HALVES, HALVES, _I8])
    function = builder.module.declare_intrinsic("llvm.x86.pclmulqdq", fnty=type_)
    return builder.call(function, [one, other, ir.Constant(_I8, halves)])


@intrinsic
def block(typing_context: Any, base: Any, at: Any) -> Any:
    """The block at `base + at`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(builder.add(*arguments), HALVES.as_pointer()), align=1)

    return BLOCK(types.int64, types.int64), generate


@intrinsic
def xor(typing_context: Any, one: Any, other: Any) -> Any:
    """The sum of two blocks."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.xor(*arguments)

    return BLOCK(BLOCK, BLOCK), generate


@intrinsic
def begun(typing_context: Any, bits: Any) -> Any:
    """A block of a word and zeros."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.insert_element(constant(0), arguments[0], ir.Constant(_I32, 0))

    return BLOCK(types.uint64), generate


@intrinsic
def moved_up(typing_context: Any, one: Any, count: Any) -> Any:
    """The block's first `count` bytes, 1 to 16, as the last ones of a block that begins with zeros."""
    numbers = [_NOTHING] * BLOCK_BYTES + list(range(BLOCK_BYTES))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table = ir.Constant(ir.ArrayType(_I8, len(numbers)), [ir.Constant(_I8, number) for number in numbers])
        held = context.insert_unique_const(builder.module, "tailer.moved_up", table)
        at = builder.gep(held, [ir.Constant(_I64, 0), arguments[1]])
        order = builder.load(builder.bitcast(at, _BYTES.as_pointer()), align=1)
        type_ = ir.FunctionType(_BYTES, [_BYTES, _BYTES])
        function = builder.module.declare_intrinsic("llvm.x86.ssse3.pshuf.b.128", fnty=type_)
        return builder.bitcast(builder.call(function, [builder.bitcast(arguments[0], _BYTES), order]), HALVES)

    return BLOCK(BLOCK, types.int64), generate


@intrinsic
def folded(typing_context: Any, one: Any, low: Any, high: Any, other: Any) -> Any:
    """The products of the block's halves with one factor each, and another block, all added up."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, low, high, other = arguments
        factors = builder.insert_element(constant(0), low, ir.Constant(_I32, 0))
        factors = builder.insert_element(factors, high, ir.Constant(_I32, 1))
        products = [product(builder, one, factors, halves) for halves in (LOW, HIGH)]
        return builder.xor(builder.xor(*products), other)

    return BLOCK(BLOCK, types.uint64, types.uint64, BLOCK), generate
