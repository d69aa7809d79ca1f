"""Counter contexts, compiled: the twin of `tailer.types.counter`, and of the sum that the typed form has."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import compiled
from tailer.jit.memory import load, store
from tailer.types.compiled.digits import LEFT, literal, put, put_number, put_uuid, read_signed

NO_COUNTER: Final = -1
"""In place of a number of shards: the bytes are no counter, or one that is left to the plain functions."""

_SHARD_BYTES: Final = 32
_ELEMENTS_MAX: Final = 32
"""Each element is looked at for each shard; a cluster has few shards of its own."""

_SHARD: Final = literal(b'{"shard":"')
_GLOBAL: Final = literal(b'","kind":"global","clock":')
_LOCAL: Final = literal(b'","kind":"local","clock":')
_REMOTE: Final = literal(b'","kind":"remote","clock":')
_TOTAL: Final = literal(b',"total":')

_HALF: Final = 0xFFFF_FFFF
_HIGH_MAX: Final = 2**31


@compiled
def read_shards(at: int, length: int) -> Any:
    """How many shards there are, or NO_COUNTER; how many header elements, and where the shards begin."""
    if length < 2:
        return NO_COUNTER, 0, at
    elements = abs(read_signed(at, 2))
    rest = length - 2 - 2 * elements
    count = rest // _SHARD_BYTES
    if rest < 0 or rest % _SHARD_BYTES or elements > min(count, _ELEMENTS_MAX):
        return NO_COUNTER, 0, at
    for element in range(elements):
        if _index(at, element) >= count:
            return NO_COUNTER, 0, at
    return count, elements, at + 2 + 2 * elements


@compiled
def _index(at: int, element: int) -> int:
    """The shard that a header element is of."""
    return (load(at + 2 + 2 * element) << 8 | load(at + 3 + 2 * element)) & 0x7FFF


@compiled
def _put_kind(pos: int, at: int, elements: int, shard: int) -> int:
    """The kind that the last header element of the shard gives it."""
    for back in range(elements):
        element = elements - 1 - back
        if _index(at, element) == shard:
            return put(pos, _GLOBAL) if load(at + 2 + 2 * element) & 0x80 else put(pos, _LOCAL)
    return put(pos, _REMOTE)


@compiled
def put_counter(pos: int, at: int, length: int) -> int:
    """The JSON array of a counter's shards, or LEFT."""
    count, elements, shard = read_shards(at, length)
    if count == NO_COUNTER:
        return LEFT
    store(pos, 0x5B)
    pos += 1
    for number in range(count):
        if number:
            store(pos, 0x2C)
            pos += 1
        pos = _put_kind(put_uuid(put(pos, _SHARD), shard), at, elements, number)
        pos = put_number(pos, read_signed(shard + 16, 8))
        pos = put_number(put(pos, _TOTAL), read_signed(shard + 24, 8))
        store(pos, 0x7D)
        pos += 1
        shard += _SHARD_BYTES
    store(pos, 0x5D)
    return pos + 1


@compiled
def sum_shards(at: int, length: int) -> Any:
    """The sum of a counter's shards, and whether there is one that 64 bits hold."""
    count, _, shard = read_shards(at, length)
    # In halves: parts of a sum may be beyond 64 bits where all of it is not.
    high, low = np.int64(0), np.int64(0)
    for _ in range(count):
        total = read_signed(shard + 24, 8)
        high += total >> 32
        low += total & _HALF
        shard += _SHARD_BYTES
    high += low >> 32
    return high << 32 | low & _HALF, count != NO_COUNTER and -_HIGH_MAX <= high < _HIGH_MAX
