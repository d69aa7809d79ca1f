"""Clustering values of a straight row, compiled: one header describes them all, and none is null or empty."""

from __future__ import annotations

from tailer.jit.decorators import inlined
from tailer.jit.vints import read_length, read_vint
from tailer.jit.words import get
from tailer.scan.compiled import block as b
from tailer.scan.compiled import lines as ln
from tailer.scan.compiled import one_row as o
from tailer.scan.compiled.block import is_beyond
from tailer.scan.compiled.lines import put_value


@inlined
def scan_values(
    base: int, at: int, end: int, lengths: int, count: int, by_column: bool, to: tuple[int, int, int, int]
) -> int:
    """The offset behind `count` of them, or FAILED; they are noted `by_column`, or their lines put at `to[0]`."""
    if count == 0:
        return at
    header, at = read_vint(base, at)
    if header != 0:
        return b.FAILED
    for number in range(count):
        length, at = read_length(base, at, get(lengths, number))
        if is_beyond(length, end - at):
            return b.FAILED
        if by_column:
            o.put_place(to, number, at, length)
        else:
            put_value(to[0] + ln.VALUE_BYTES * number, at, length)
        at += length
    return at
