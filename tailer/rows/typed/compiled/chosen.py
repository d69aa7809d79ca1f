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
def put_chosen_ends(ends: int, numbers: int, count: int, to_ends: int) -> int:
    """The 32-bit offsets of the chosen texts, one more than there are. How many bytes they have, or TOO_LONG."""
    total = 0
    give_offset(to_ends, 0, 0)
    for number in range(count):
        chosen = get_offset(numbers, number)
        total += get_offset(ends, chosen + 1) - get_offset(ends, chosen)
        if total > OFFSET_MAX:
            return TOO_LONG
        give_offset(to_ends, number + 1, total)
    return total


@entry_point
def put_chosen_texts(texts: int, ends: int, numbers: int, count: int, to_ends: int, out: int) -> int:
    """Copies the texts to where their offsets say, a word at a time: the next one is written over what is too much."""
    for number in range(count):
        at, to = texts + get_offset(ends, get_offset(numbers, number)), out + get_offset(to_ends, number)
        end = out + get_offset(to_ends, number + 1)
        while to < end:
            store_word(to, little_word(at, 0))
            at += SLACK
            to += SLACK
    return 0
