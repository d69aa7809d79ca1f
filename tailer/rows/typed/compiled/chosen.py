"""Texts of which there are few, each row with one of them. Compiled; works on addresses.

`numbers`: 32-bit, which of the texts each is; `ends`: of the texts, one more than there are, as Arrow has them.
"""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import entry_point
from tailer.jit.memory import get_offset, give_offset
from tailer.jit.words import little_word
from tailer.limits import OFFSET_MAX
from tailer.rows.typed.compiled.decode import TOO_LONG
from tailer.types.compiled.runs import store_word

SLACK: Final = 8
"""Bytes that must follow the texts, and what they are written to."""


@entry_point
def put_chosen(texts: int, ends: int, numbers: int, count: int, to_ends: int, out: int) -> int:
    """The chosen texts end to end, and their 32-bit offsets, one more than there are. How many bytes, or TOO_LONG.

    A word at a time: the next text is written over what was too much of the one before.
    """
    total = 0
    for number in range(count):
        give_offset(to_ends, number, total)
        chosen = get_offset(numbers, number)
        begin = get_offset(ends, chosen)
        size = get_offset(ends, chosen + 1) - begin
        if size > OFFSET_MAX - total:
            return TOO_LONG
        for done in range(0, size, SLACK):
            store_word(out + total + done, little_word(texts + begin, done))
        total += size
    give_offset(to_ends, count, total)
    return total
