"""Two arrays of items as one: runs of the one between runs of the other. Compiled; works on addresses.

`before`: how many of the first stand before each of the `count` of the second, rising.
"""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.memory import copy, get_offset, give_offset
from tailer.jit.words import get, put
from tailer.types.compiled.runs import copy_run

LINE: Final = 4
"""Numbers of a line of `weave`."""

LONG: Final = 256
"""Bytes from which on the system's copy is faster."""


@entry_point
def put_before(first: int, rows: int, second: int, count: int, before: int) -> int:
    """Puts down `before`, where both are numbers in order and none is in both."""
    done = 0
    for number in range(count):
        single = get(second, number)
        while done < rows and get(first, done) < single:
            done += 1
        put(before, number, done)
    return 0


@inlined
def _copy(to: int, at: int, size: int) -> None:
    """Runs are short mostly."""
    if size < LONG:
        copy_run(to, at, size)
    else:
        copy(to, at, size)


@compiled
def _weave(first: int, rows: int, second: int, count: int, before: int, width: int, to: int) -> None:
    done = number = 0
    while number < count:
        begin, end = number, get(before, number)
        _copy(to, first + width * done, width * (end - done))
        to += width * (end - done)
        done = end
        while number < count and get(before, number) == end:
            number += 1
        _copy(to, second + width * begin, width * (number - begin))
        to += width * (number - begin)
    _copy(to, first + width * done, width * (rows - done))


@entry_point
def weave(lines: int, number: int, rows: int, count: int, before: int) -> int:
    """So many pairs of arrays. Numbers of `lines` for each: both addresses, bytes of an item, where to write to."""
    for at in range(number):
        line = lines + 8 * LINE * at
        _weave(get(line, 0), rows, get(line, 1), count, before, get(line, 2), get(line, 3))
    return 0


@entry_point
def weave_sets(
    alike: int, width: int, rows: int, sets: int, ends: int, count: int, before: int, to_sets: int, to_ends: int
) -> int:
    """Lists of 32-bit numbers: each of the first is the `width` numbers of `alike`, those of the second have `ends`.

    Gives how many numbers there are.
    """
    row = place = 0
    give_offset(to_ends, 0, 0)
    for number in range(count + 1):
        end = get(before, number) + number if number < count else rows + count
        while row < end:
            copy_run(to_sets + 4 * place, alike, 4 * width)
            place += width
            row += 1
            give_offset(to_ends, row, place)
        if number < count:
            begin = get_offset(ends, number)
            size = get_offset(ends, number + 1) - begin
            copy_run(to_sets + 4 * place, sets + 4 * begin, 4 * size)
            place += size
            row += 1
            give_offset(to_ends, row, place)
    return place
