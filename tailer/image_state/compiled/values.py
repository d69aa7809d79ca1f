"""Values of columns: whether their JSON gives the same bytes again, and their bytes in clustering order. Compiled.

See `types.encode` and `types.order`, which do it for every type and value.
"""

from __future__ import annotations

from typing import Final

from tailer.image_state.compiled.work import BY_TIMEUUID, BY_UUID, REAL, SIGNED, UNSIGNED
from tailer.jit.decorators import compiled
from tailer.jit.memory import load, store
from tailer.types import printed as k
from tailer.types.compiled.digits import put_copy, read_signed

_NULL: Final = 0x10
_EMPTY: Final = 0x20
_VALUE: Final = 0x30
_DAY: Final = 86_400_000_000_000


@compiled
def is_usual(kind: int, at: int, length: int) -> bool:
    """Whether the bytes are those that are made of the value's JSON. False also where that takes long to tell."""
    if kind >= k.NOTHING or kind == k.DURATION or kind == k.COUNTER:
        return False
    if length == 0 or kind == k.INTEGER or kind == k.TEXT or kind == k.KEY_TEXT or kind == k.ASCII or kind == k.BLOB:
        return True
    if kind == k.UUID or kind == k.TIMESTAMP or kind == k.DATE:
        return True
    if kind == k.BOOLEAN:
        return bool(load(at) <= 1)
    if kind == k.DOUBLE:
        return _is_number(load(at) << 8 | load(at + 1), 0x7FF0, at + 2, 6)
    if kind == k.FLOAT:
        return _is_number(load(at) << 8 | load(at + 1), 0x7F80, at + 2, 2)
    if kind == k.TIME or kind == k.KEY_TIME:
        return bool(0 <= read_signed(at, 8) < _DAY)
    if kind == k.INET or kind == k.KEY_INET:
        return length == 4
    if kind == k.VARINT:
        return _is_short(at, length)
    if kind == k.DECIMAL:
        return length > 4 and _is_short(at + 4, length - 4)
    return False


@compiled
def _is_number(high: int, exponent: int, rest: int, length: int) -> bool:
    """Whether a float is a number or infinite. `high`: its first two bytes, with the bits of its exponent."""
    if high & exponent != exponent:
        return True
    odd = high & (0x7FFF ^ exponent)
    for at in range(length):
        odd |= load(rest + at)
    return odd == 0


@compiled
def _is_short(at: int, length: int) -> bool:
    """Whether a whole number has no more bytes than it needs."""
    if length == 1:
        return True
    first, second = load(at), load(at + 1)
    return not ((first == 0 and second < 0x80) or (first == 0xFF and second >= 0x80))


@compiled
def put_unsigned_order(pos: int, at: int, length: int) -> int:
    """Bytes that end by themselves: `order.unsigned_order`."""
    for byte_at in range(at, at + length):
        byte = load(byte_at)
        store(pos, byte)
        pos += 1
        if byte == 0:
            store(pos, 0xFF)
            pos += 1
    store(pos, 0)
    store(pos + 1, 0)
    return pos + 2


@compiled
def put_component(pos: int, order: int, desc: int, at: int, length: int) -> int:
    """A clustering value in order; a length below zero is null. Takes up to twice its bytes, and three more."""
    begun = pos
    store(pos, _NULL if length < 0 else (_EMPTY if length == 0 else _VALUE))
    pos += 1
    if length > 0:
        pos = _put_order(pos, order, at, length)
    if desc:
        for done in range(begun, pos):
            store(done, 0xFF ^ load(done))
    return pos


@compiled
def _put_order(pos: int, order: int, at: int, length: int) -> int:
    if order == UNSIGNED:
        return put_unsigned_order(pos, at, length)
    if order == BY_UUID or order == BY_TIMEUUID:
        return _put_uuid_order(pos, order, at)
    end = put_copy(pos, at, length)
    if order == REAL and load(at) & 0x80:
        for done in range(pos, end):
            store(done, 0xFF ^ load(done))
    elif order == SIGNED or order == REAL:
        store(pos, 0x80 ^ load(at))
    return end


@compiled
def _put_uuid_order(pos: int, order: int, at: int) -> int:
    version = load(at + 6) >> 4
    if order == BY_UUID:
        store(pos, version)
        pos += 1
    if order == BY_UUID and version != 1:
        return put_copy(pos, at, 16)
    pos = put_copy(pos, at + 6, 2)
    pos = put_copy(pos, at + 4, 2)
    pos = put_copy(pos, at, 4)
    end = put_copy(pos, at + 8, 8)
    if order == BY_TIMEUUID:
        for done in range(pos, end):
            store(done, 0x80 ^ load(done))
    return end
