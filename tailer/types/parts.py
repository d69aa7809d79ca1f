"""The parts of a value that holds others: cut out of its bytes, and put together to bytes again. Knows no type.

    list, set, map     count | part | part | ...        a count of entries; of a map key and value are a part each
    tuple, UDT         part | part | ...                fields missing at the end are null
    vector             element | element | ...          each behind its length as a variable-length integer,
                                                        or of one size and without

    part               length i32 | bytes               a length below zero: null

Every length and count is checked against the bytes that are there before it is used (format page, section 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

from tailer.types.jsontext import wrong_length
from tailer.types.vint import read_unsigned, write_unsigned

_INT: Final = Struct(">i").unpack_from
_LENGTH: Final = Struct(">i").pack
_NULL: Final = _LENGTH(-1)


def vector_parts(value: bytes, dimension: int) -> list[bytes]:
    """The elements of a vector, each behind its length."""
    if dimension > len(value):
        raise ValueError(f"{len(value)} bytes for a vector of {dimension} elements")
    parts: list[bytes] = []
    at = 0
    for _ in range(dimension):
        size, start = read_unsigned(value, at)
        at = start + size
        if at > len(value):
            raise ValueError(f"an element of {size} bytes at byte {start} of a vector of {len(value)}")
        parts.append(value[start:at])
    if at != len(value):
        raise ValueError(f"{len(value)} bytes for a vector whose elements end at {at}")
    return parts


def dense_vector_parts(value: bytes, size: int, dimension: int) -> list[bytes]:
    """The elements of a vector whose elements have `size` bytes each."""
    if len(value) != size * dimension:
        raise wrong_length(value, "vector", str(size * dimension))
    return [value[at : at + size] for at in range(0, len(value), size)]


def vector_bytes(parts: Sequence[bytes], size: int | None) -> bytes:
    """The elements of a vector, of `size` bytes each, or each behind its length."""
    return b"".join(parts if size is not None else [write_unsigned(len(part)) + part for part in parts])


def collection_parts(value: bytes, each: int) -> list[bytes | None]:
    """The parts of a list, set (`each` 1) or map (`each` 2: key, value, key, …). Zero-length is empty."""
    if not value:
        return []
    if len(value) < 4:
        raise wrong_length(value, "a collection", "at least 4")
    count = max(_INT(value)[0], 0) * each
    if count * 4 > len(value) - 4:
        raise ValueError(f"a collection of {count} parts in {len(value)} bytes")
    parts = parts_of(value, 4, count)
    if len(parts) != count:
        raise ValueError(f"a collection of {count} parts that has {len(parts)}")
    return parts


def collection_bytes(parts: Sequence[bytes | None], each: int) -> bytes:
    """A list or set of the parts (`each` 1), or a map of keys and values in turn (`each` 2)."""
    return _LENGTH(len(parts) // each) + framed(parts)


def parts_of(value: bytes, at: int, most: int) -> list[bytes | None]:
    """The parts from `at` to the value's end, `most` at most; None where a part is null."""
    parts: list[bytes | None] = []
    end = len(value)
    while at < end:
        if len(parts) == most:
            raise ValueError(f"{end - at} bytes behind the last of {most} parts")
        start = at + 4
        if start > end:
            raise ValueError(f"the value ends at byte {end}, inside a length")
        size = _INT(value, at)[0]
        at = start + max(size, 0)
        if at > end:
            raise ValueError(f"a part of {size} bytes at byte {start} of {end}")
        parts.append(value[start:at] if size >= 0 else None)
    return parts


def framed(parts: Sequence[bytes | None]) -> bytes:
    """Each part behind its length."""
    return b"".join([_NULL if part is None else _LENGTH(len(part)) + part for part in parts])
