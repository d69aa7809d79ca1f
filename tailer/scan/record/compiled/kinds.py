"""What the records of a service's log are, compiled: the twin of `scan.record.kinds.kinds_of`."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tailer.jit.addresses import address_of
from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.memory import store
from tailer.jit.words import byte, get, word
from tailer.scan.mutation.scan import Offsets
from tailer.scan.record.head import (
    CHANGE_PREFIX,
    FINGERPRINT_AT,
    FINGERPRINT_PREFIX,
    IN_TRANSACTION,
    NIL,
    NO_RECORD,
    TABLE_AT,
    TXN_AT,
    UNUSUAL,
)
from tailer.scan.record.record import CHANGE

_HEAD: Final = np.uint64(int.from_bytes(CHANGE_PREFIX, "big"))
_PRINT: Final = np.uint64(int.from_bytes(FINGERPRINT_PREFIX, "big"))
_HALF: Final = np.uint64(32)
_THREE_QUARTERS: Final = np.uint64(48)
_BIN_8: Final = 0xC4
_ID_BYTES: Final = 16
_PRINT_BYTES: Final = 8


def kinds_of(data: bytes, starts: Offsets, sizes: Offsets) -> npt.NDArray[np.uint8]:
    """See there."""
    begins, lengths = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(sizes, np.int64)
    kinds = np.empty(len(begins), np.uint8)
    held = np.frombuffer(data, np.uint8)
    put_kinds(address_of(held), address_of(begins), address_of(lengths), len(begins), address_of(kinds))
    return kinds


@compiled
def _kind_of_change(at: int, size: int) -> int:
    if size <= TXN_AT:
        return UNUSUAL
    if byte(at, TABLE_AT - 2) != _BIN_8 or byte(at, TABLE_AT - 1) != _ID_BYTES:
        return UNUSUAL
    if byte(at, FINGERPRINT_AT - 2) != _BIN_8 or byte(at, FINGERPRINT_AT - 1) != _PRINT_BYTES:
        return UNUSUAL
    return CHANGE if byte(at, TXN_AT) == NIL else IN_TRANSACTION


@inlined
def _is_usual(at: int, size: int) -> bool:
    """Whether it is what most records are, a change that counts at once."""
    if size <= TXN_AT or word(at, 0) >> _HALF != _HEAD:
        return False
    return word(at, FINGERPRINT_AT - 2) >> _THREE_QUARTERS == _PRINT and byte(at, TXN_AT) == NIL


@entry_point
def put_kinds(data: int, starts: int, sizes: int, count: int, out: int) -> int:
    """The kinds of so many records; how many."""
    for number in range(count):
        at = data + get(starts, number)
        if _is_usual(at, get(sizes, number)):
            store(out + number, CHANGE)
            continue
        kind = byte(at, 1)
        if byte(at, 0) & 0xF0 != 0x90 or kind > 0x7F:
            kind = NO_RECORD
        elif kind == CHANGE:
            kind = _kind_of_change(at, get(sizes, number))
        store(out + number, kind)
    return count
