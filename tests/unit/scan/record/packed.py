"""msgpack written by hand, in any width that it allows: what a scan must read alike. Shares no code with the reader."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

NIL = b"\xc0"


class Ext(NamedTuple):
    """An extension: its type, its bytes."""

    code: int
    data: bytes


def integer(value: int, wide: int = 0) -> bytes:
    """An integer in the shortest form, or in one that is `wide` forms longer where there is one."""
    forms = [(0, 0x7F, b"", ">B"), (0, 0xFF, b"\xcc", ">B"), (0, 0xFFFF, b"\xcd", ">H"), (0, 2**32 - 1, b"\xce", ">I")]
    forms += [(0, 2**64 - 1, b"\xcf", ">Q"), (-32, -1, b"", ">b"), (-128, 127, b"\xd0", ">b")]
    forms += [(-(2**15), 2**15 - 1, b"\xd1", ">h"), (-(2**31), 2**31 - 1, b"\xd2", ">i")]
    forms += [(-(2**63), 2**63 - 1, b"\xd3", ">q")]
    fitting = [head + struct.pack(form, value) for low, high, head, form in forms if low <= value <= high]
    return fitting[min(wide, len(fitting) - 1)]


def binary(value: bytes, wide: int = 0) -> bytes:
    """Bytes with a length of 8, 16 or 32 bits."""
    form = max(wide % 3, 0 if len(value) < 256 else 1 if len(value) < 65536 else 2)
    return bytes([0xC4 + form]) + struct.pack((">B", ">H", ">I")[form], len(value)) + value


def array(items: Sequence[bytes], wide: int = 0) -> bytes:
    """An array of what is packed already."""
    count, form = len(items), wide % 3 or (1 if len(items) > 15 else 0)
    head = bytes([0x90 | count]) if not form else struct.pack((">BH", ">BI")[form - 1], 0xDB + form, count)
    return head + b"".join(items)


def mapping(pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A map of what is packed already."""
    head = bytes([0x80 | len(pairs)]) if len(pairs) < 16 else struct.pack(">BH", 0xDE, len(pairs))
    return head + b"".join(key + value for key, value in pairs)


def text(value: str) -> bytes:
    data = value.encode()
    return bytes([0xA0 | len(data)]) + data if len(data) < 32 else struct.pack(">BH", 0xDA, len(data)) + data


def pack(value: Any, wide: int = 0) -> bytes:
    """Any value; `wide` as above, for all in it."""
    match value:
        case None:
            return NIL
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return integer(value, wide)
        case float():
            return struct.pack(">Bd", 0xCB, value)
        case bytes():
            return binary(value, wide)
        case str():
            return text(value)
        case Ext(code, data):
            return struct.pack(">BBb", 0xC7, len(data), code) + data
        case dict():
            return mapping([(pack(key, wide), pack(held, wide)) for key, held in value.items()])
        case _:
            return array([pack(each, wide) for each in value], wide)


def entry(value: Sequence[Any], wide: int = 0) -> bytes:
    """A record: the head of its array and its kind are one byte each, whatever is wide."""
    return bytes([0x90 | len(value)]) + b"".join(
        bytes([each]) if number == 0 else pack(each, wide) for number, each in enumerate(value)
    )
