"""Partition key bytes (format page, section 8): the values of several key columns in one. Knows no type.

+--------+-------+----+--------+-------+----+----
| u16 n  | n     | 00 | u16 n  | n     | 00 | …      two or more columns; a single one stands bare
+--------+-------+----+--------+-------+----+----
"""

from __future__ import annotations

from collections.abc import Sequence


def split_partition_key(key: bytes, count: int) -> list[bytes]:
    """The values of `count` key columns. ValueError for bytes that are not exactly so many."""
    if count == 1:
        return [key]
    values: list[bytes] = []
    at, end = 0, len(key)
    for number in range(count):
        start = at + 2
        at = start + int.from_bytes(key[start - 2 : start], "big")
        if at >= end:
            raise ValueError(f"the partition key ends at byte {end}, inside value {number + 1} of {count}")
        if key[at]:
            raise ValueError(f"byte {at} of the partition key, behind value {number + 1} of {count}, is not 00")
        values.append(key[start:at])
        at += 1
    if at != end:
        raise ValueError(f"the partition key has {end} bytes, its {count} values end at {at}")
    return values


def join_partition_key(values: Sequence[bytes]) -> bytes:
    """The partition key of these values. ValueError if one of several is longer than 65535 bytes."""
    if len(values) == 1:
        return values[0]
    if any(len(value) > 0xFFFF for value in values):
        raise ValueError("a value of a partition key of several columns is longer than 65535 bytes")
    return b"".join(len(value).to_bytes(2, "big") + value + b"\0" for value in values)
