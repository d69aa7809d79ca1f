"""What compiled code has of rows that a server sent: what stands where. Knows no rule."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled
from tailer.jit.words import get

# What is served: where values are, of how many rows and columns, and which columns tell of what. `D_MARK`: the value
# of a guessed marker. `D_MARKS`: who vouches for all of it, as the marks of a fact.
(
    D_DATA, D_VALUES, D_ROWS, D_COLUMNS, D_KEYS, D_CLUSTERING, D_REGULAR, D_REGULAR_COUNT, D_STATIC, D_STATIC_COUNT,
    D_UNTIL, D_ANSWERED, D_COMPLETE, D_MARK, D_MARKS, D_PARTITIONS, D_PARTITION_COUNT, D_LINES, D_LINE_COUNT,
    D_KEY_TEXT, D_KEY_TEXT_LENGTH, D_TEXT, D_SEQ, D_NUMBER, D_NEXT,
    D_SIZE,
) = range(26)  # fmt: skip

# Of a wanted column the numbers of its value, its time and its TTL, below 0 for none, and its own among the regular.
R_VALUE, R_WRITTEN, R_TTL, R_COLUMN = range(4)
WANTED_BYTES: Final = 4 * 8

# A partition: its first row and the one behind its last; where its keys begin stands in KEYS.
G_BEGIN, G_END, G_LEFT, G_KEY, G_KEY_END = range(5)
PARTITION_WIDTH: Final = 5
PARTITION_BYTES: Final = PARTITION_WIDTH * 8

# What is to be kept under a key: of the row, or of the header.
L_KEY, L_KEY_END, L_AT, L_END, L_HAS_DUE, L_DUE, L_BASE = range(7)
LINE_WIDTH: Final = 7
LINE_BYTES: Final = LINE_WIDTH * 8

_VALUE: Final = 16


@compiled
def value_of(served: int, row: int, column: int) -> int:
    """Where it stands which value and how long it is."""
    return get(served, D_VALUES) + _VALUE * (row * get(served, D_COLUMNS) + column)


@compiled
def length_of(served: int, row: int, column: int) -> int:
    return get(value_of(served, row, column), 1)


@compiled
def place_of(served: int, row: int, column: int) -> int:
    return get(served, D_DATA) + get(value_of(served, row, column), 0)
