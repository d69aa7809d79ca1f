"""Names of any length as keys of LMDB, which has room for 511 bytes: in order, and apart.

A key is table, partition and row, one behind the other. A name that is too long for its part keeps its beginning and
has a hash behind it; all of it stands in front of the value then. Opens nothing.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final, NamedTuple

from tailer.versions import undecodable

KEY_MAX: Final = 511

_TABLE: Final = 16
_TIME: Final = 8
_HASH: Final = 16
_PARTITION_MAX: Final = 240
_PARTITION_CUT: Final = 110
ROW_CUT: Final = KEY_MAX - _TABLE - _TIME - _PARTITION_MAX - 2 - _HASH
"""Of a row's key so many bytes stand in the key at most: those of longer ones are in order up to there."""

_WHOLE: Final = b"\0\0"
_CUT: Final = b"\0\1"
_END: Final = re.compile(b"\0([\0\1])")
_SIZE: Final = 4


class Base(NamedTuple):
    """What the keys of a partition's rows begin with. `name`: the partition, where that does not tell."""

    key: bytes
    name: bytes | None


def table_key(table_id: str) -> bytes:
    """What all keys of a table begin with."""
    return bytes.fromhex(table_id)


def base_of(table_id: str, partition: bytes) -> Base:
    """What the keys of a partition begin with: a zero in its name is two bytes, so that its end is plain."""
    escaped = partition.replace(b"\0", b"\0\xff")
    if len(escaped) <= _PARTITION_MAX:
        return Base(table_key(table_id) + escaped + _WHOLE, None)
    cut = partition[:_PARTITION_CUT].replace(b"\0", b"\0\xff")
    return Base(table_key(table_id) + cut + _CUT + _hash(partition), partition)


def row_part(row: bytes) -> bytes:
    """How a row is called behind its partition."""
    return row if len(row) <= ROW_CUT else row[:ROW_CUT] + _hash(row)


def time_part(second: int) -> bytes:
    """A second, in order."""
    return (second + 2**63).to_bytes(_TIME, "big")


def second_of(key: bytes, at: int = 0) -> int:
    """The second that `time_part` put there."""
    return int.from_bytes(key[at : at + _TIME], "big") - 2**63


def framed(base: Base, row: bytes, value: bytes) -> bytes:
    """A value with the names in front that its key has not whole."""
    if len(row) > ROW_CUT:
        value = len(row).to_bytes(_SIZE, "big") + row + value
    return value if base.name is None else len(base.name).to_bytes(_SIZE, "big") + base.name + value


class Named(NamedTuple):
    """What a key and its value say. `end`: where in the key the row begins."""

    partition: bytes
    row: bytes
    value: bytes


def partition_end(key: bytes, at: int = _TABLE) -> tuple[int, bool]:
    """Where a partition's part of a key that begins at `at` ends, and whether it is all of its name."""
    found = _END.search(key, at)
    if found is None:
        raise undecodable("a key of the state of images", "no end of a partition's name")
    whole = found[1] == b"\0"
    return found.end() + (0 if whole else _HASH), whole


def named(key: bytes, value: bytes, *, between: int = 0, at: int = _TABLE) -> Named:
    """The names that were put into a key and its value. `between`: bytes between partition and row; `at`: where the
    partition begins."""
    end, whole = partition_end(key, at)
    if whole:
        partition = key[at : end - len(_WHOLE)].replace(b"\0\xff", b"\0")
    else:
        partition, value = _taken(value)
    row = key[end + between :]
    if len(row) > ROW_CUT:
        row, value = _taken(value)
    return Named(partition, row, value)


def behind(prefix: bytes) -> bytes:
    """The first key that is greater than all that begin with `prefix`, which has not the greatest byte alone."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1])


def _hash(name: bytes) -> bytes:
    return blake2b(name, digest_size=_HASH).digest()


def _taken(value: bytes) -> tuple[bytes, bytes]:
    end = _SIZE + int.from_bytes(value[:_SIZE], "big")
    if end > len(value):
        raise undecodable("a name in the state of images", f"{len(value)} of {end} bytes")
    return value[_SIZE:end], value[end:]
