"""An update's bases and what is counted from them, compiled: times and TTLs, the twin of `scan.mutation.walk`."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_vint
from tailer.jit.words import get, put
from tailer.scan.compiled import block as b

TIMESTAMP_EPOCH: Final = 1442880000000000
_LOCAL_EPOCH: Final = 1442880000
_U32: Final = 2**32 - 1
_OVERFLOW: Final = 2**31
_INVALID_TIME: Final = _U32 - 1


@inlined
def read_bases(walk: int, base: int, at: int) -> int:
    """The update's smallest timestamp, local time and TTL."""
    value, at = read_vint(base, at)
    put(walk, b.TS_BASE, value + TIMESTAMP_EPOCH)
    value, at = read_vint(base, at)
    put(walk, b.TIME_BASE, value + _LOCAL_EPOCH)
    value, at = read_vint(base, at)
    put(walk, b.TTL_BASE, value)
    return at


@inlined
def read_timestamp(walk: int, base: int, at: int) -> tuple[int, int]:
    """Microseconds, modulo 2^64."""
    delta, at = read_vint(base, at)
    return get(walk, b.TS_BASE) + delta, at


@compiled
def read_local_time(walk: int, base: int, at: int) -> tuple[int, int]:
    """Seconds since 1970, modulo 2^32; signed before descriptor 8."""
    delta, at = read_vint(base, at)
    seconds = get(walk, b.TIME_BASE) + delta & _U32
    if seconds >= _OVERFLOW and get(walk, b.UNSIGNED_TIMES) == 0:
        seconds = _INVALID_TIME
    return seconds, at


@compiled
def read_ttl(walk: int, base: int, at: int) -> tuple[int, int]:
    """Seconds; negative where the bytes are no TTL."""
    delta, at = read_vint(base, at)
    ttl = get(walk, b.TTL_BASE) + delta & _U32
    return ttl - (ttl >= _OVERFLOW) * (_U32 + 1), at


@compiled
def read_deletion(walk: int, base: int, at: int) -> tuple[int, int]:
    """A deletion's timestamp."""
    timestamp, at = read_timestamp(walk, base, at)
    return timestamp, read_vint(base, at)[1]
