"""The order of values, as bytes: `order_bytes` of two values compare as the server compares the values.

Equal bytes mean one and the same value as a clustering column, set element or map key: the decimals `0` and `0.00` are
one, so are all not-a-numbers. The bytes of a value end by themselves: none is the beginning of another's, so that
they can stand one behind the other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final

from tailer.types.cql import CqlType, Nested, Order
from tailer.types.integers import digits
from tailer.types.parts import collection_parts, dense_vector_parts, parts_of, vector_parts

Component = Callable[[bytes | None], bytes]

_NULL: Final = b"\x10"
_EMPTY: Final = b"\x20"
_VALUE: Final = b"\x30"
_END: Final = b"\x08"
AFTER: Final = b"\xff"
"""Behind the bytes of some leading components, this stands behind all values that begin with them."""

_FLIP: Final = bytes(0xFF ^ byte for byte in range(256))
_SIGNED: Final = bytes(0x80 ^ byte for byte in range(256))
_DOUBLE_NAN: Final = b"\x7f\xf8" + bytes(6)
_FLOAT_NAN: Final = b"\x7f\xc0" + bytes(2)


def component(type_: CqlType, *, desc: bool = False) -> Component:
    """The order of a value that may be null (below all) or of no bytes (below all but null); `desc` turns it round."""
    traits = type_.traits
    order = traits.order(type_) if isinstance(traits, Nested) else traits.order

    def order_component(value: bytes | None) -> bytes:
        made = _NULL if value is None else _VALUE + order(value) if value else _EMPTY
        return made.translate(_FLIP) if desc else made

    return order_component


def order_bytes(type_: CqlType) -> Order:
    """The order of values of the type."""
    return component(type_)


def unsigned_order(value: bytes) -> bytes:
    """Byte by byte."""
    return value.replace(b"\0", b"\0\xff") + b"\0\0"


def signed_order(value: bytes) -> bytes:
    """Two's complement of one size."""
    return value[:1].translate(_SIGNED) + value[1:]


def double_order(value: bytes) -> bytes:
    """By the number; all not-a-numbers are one, behind all others."""
    (number,) = struct.unpack(">d", value)
    return _real(value if number == number else _DOUBLE_NAN)


def float_order(value: bytes) -> bytes:
    """The same of four bytes."""
    (number,) = struct.unpack(">f", value)
    return _real(value if number == number else _FLOAT_NAN)


def _real(value: bytes) -> bytes:
    return value.translate(_FLIP) if value[0] & 0x80 else signed_order(value)


def varint_order(value: bytes) -> bytes:
    """By the number."""
    return _whole(int.from_bytes(value, "big", signed=True))


def _whole(number: int) -> bytes:
    """Sign, then length and bytes of the absolute value."""
    size = (abs(number).bit_length() + 7) >> 3
    text = struct.pack(">I", size) + abs(number).to_bytes(size, "big")
    return b"\x40" + text.translate(_FLIP) if number < 0 else b"\x80" + text


def decimal_order(value: bytes) -> bytes:
    """Sign, then the power of ten of the first digit, then the digits without zeros at the end."""
    scale = int.from_bytes(value[:4], "big", signed=True)
    unscaled = int.from_bytes(value[4:], "big", signed=True)
    if not unscaled:
        return b"\x80"
    figures = digits(abs(unscaled))
    exponent = len(figures) - scale
    text = struct.pack(">Q", exponent + 2**63) + figures.rstrip("0").encode() + b"\0"
    return b"\x40" + text.translate(_FLIP) if unscaled < 0 else b"\xc0" + text


def uuid_order(value: bytes) -> bytes:
    """By version; those of version 1 then by time."""
    version = value[6] >> 4
    return bytes((version,)) + (_by_time(value) if version == 1 else value[:8]) + value[8:]


def timeuuid_order(value: bytes) -> bytes:
    """By time, then by the other bytes as signed ones."""
    return _by_time(value) + value[8:].translate(_SIGNED)


def _by_time(value: bytes) -> bytes:
    return value[6:8] + value[4:6] + value[:4]


def elements_order(type_: CqlType) -> Order:
    """Of a list or set."""
    return _parts([component(type_.element)], lambda value: collection_parts(value, 1))


def map_order(type_: CqlType) -> Order:
    """Of a map."""
    return _parts([component(type_.key), component(type_.value)], lambda value: collection_parts(value, 2))


def vector_order(type_: CqlType) -> Order:
    """Of a vector."""
    size, count = type_.element.fixed, type_.dimension
    if size is None:
        return _parts([component(type_.element)], lambda value: vector_parts(value, count))
    return _parts([component(type_.element)], lambda value: dense_vector_parts(value, size, count))


def fields_order(type_: CqlType) -> Order:
    """Of a tuple or user-defined type. Fields missing at the end are null."""
    count = len(type_.arguments)

    def split(value: bytes) -> Sequence[bytes | None]:
        parts = parts_of(value, 0, count)
        while parts and parts[-1] is None:
            parts.pop()
        return parts

    return _parts(list(map(component, type_.arguments)), split)


def _parts(components: Sequence[Component], split: Callable[[bytes], Sequence[bytes | None]]) -> Order:
    count = len(components)

    def order_parts(value: bytes) -> bytes:
        return b"".join([components[at % count](part) for at, part in enumerate(split(value))]) + _END

    return order_parts
