"""Pieces of the change that most are, compiled: read by the word where the log has what most writers write.

Whoever calls has seen to it that STRAIGHT_SLACK bytes follow the entry. Nothing fails here with a status.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.decorators import inlined
from tailer.jit.words import byte, half_word, word
from tailer.scan.compiled import block as b
from tailer.scan.record.heads import NIL
from tailer.scan.record.record import CHANGE, DEFINITION, STATE

NULL: Final = -1
"""In place of a length: nil."""

NO_TIMES: Final = np.uint64(0xC0C0C0C0)


@inlined
def straight_bytes(base: int, at: int, end: int) -> tuple[int, int]:
    """Where bytes lie and how many; FAILED for what is no bytes of 8 or 16 bits of length within the entry."""
    head = byte(base, at)
    off, length = at + 2, byte(base, at + 1)
    if head != 0xC4:
        if head != 0xC5:
            return b.FAILED, 0
        off, length = at + 3, length << 8 | byte(base, at + 2)
    if length > end - off:
        return b.FAILED, 0
    return off, length


@inlined
def is_known(base: int, start: int, high: int, low: int, mark: int) -> bool:
    """Whether a change is of that table id and fingerprint, three words."""
    return word(base, start + 4) == high and word(base, start + 12) == low and word(base, start + 22) == mark


@inlined
def scan_count(base: int, at: int) -> tuple[int, int]:
    """How many cells, and the offset of the first or FAILED."""
    head = byte(base, at)
    if head & 0xF0 == 0x90:
        return head & 0x0F, at + 1
    if head == 0xDC:
        return byte(base, at + 1) << 8 | byte(base, at + 2), at + 3
    return 0, b.FAILED


@inlined
def scan_column(base: int, at: int) -> tuple[int, int]:
    """The column that a cell of six names, and the offset behind or FAILED."""
    number = byte(base, at + 1)
    if byte(base, at) != 0x96:
        return 0, b.FAILED
    if number < 0x80:
        return number, at + 2
    return byte(base, at + 2), at + 3 if number == 0xCC else b.FAILED


@inlined
def scan_value(base: int, at: int, end: int) -> tuple[int, int, int]:
    """Where a value lies and its length, NULL for nil; the offset behind it and four nils, or FAILED."""
    off, length = at + 1, NULL
    behind = off
    if byte(base, at) != NIL:
        off, length = straight_bytes(base, at, end)
        if off == b.FAILED:
            return 0, 0, b.FAILED
        behind = off + length
    return off, length, behind + 4 if half_word(base, behind) == NO_TIMES else b.FAILED


@inlined
def is_other(base: int, start: int, size: int) -> bool:
    """Whether it is a known record that is no change: it has no lines on the long way either."""
    kind = byte(base, start + 1)
    return size > 1 and byte(base, start) & 0xF0 == 0x90 and kind != CHANGE and DEFINITION <= kind <= STATE
