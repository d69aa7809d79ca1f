"""The block of numbers that the compiled build works on: where its arrays lie, and how far it is.

`data` and the index are read, the arrays of `arrays` written. All places are addresses, the lines
of the index too; the offsets in those are of the data.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.addresses import address_of
from tailer.jit.decorators import compiled
from tailer.jit.memory import copy, get_offset, give_offset, store
from tailer.jit.words import get
from tailer.jit.words import put as give
from tailer.rows.generic.compiled.arrays import Rows
from tailer.rows.generic.compiled.tables import TABLE_BYTES, BuildTables
from tailer.scan.compiled import lines as ln
from tailer.scan.index import Index
from tailer.types.compiled.digits import NO_ROOM
from tailer.types.compiled.plan import Bytes, Numbers
from tailer.types.compiled.values import write_value

# What is read: the data, the index, the tables; and the address of `write_value`.
DATA: Final = 0
WRITER: Final = 1
LOGICAL: Final = 2
TABLES: Final = 3
UPDATES: Final = 4
LINES_END: Final = 5
VALUES: Final = 6
CELL_LINES: Final = 7
# What is written: `fixed` and its length of line, the numbers of entries that are left.
FIXED: Final = 8
FIXED_ROOM: Final = 9
ODD: Final = 10
# How far it is: the line to go on with, the rows and odd entries there are, the text that is full.
NEXT_LINE: Final = 11
NEXT_ROW: Final = 12
ODD_COUNT: Final = 13
FULL: Final = 14
# Each text column, from its number on: addresses of its offsets, its marks, its bytes, and the end of those.
KEY: Final = 15
CLUSTERING: Final = 19
COLUMNS: Final = 23
CELLS: Final = 27
RANGE: Final = 31
# The first line.
LINES: Final = 35
SIZE: Final = 36

TEXTS: Final = {KEY: "key", CLUSTERING: "clustering", COLUMNS: "columns", CELLS: "cells", RANGE: "range"}
_OFFSETS: Final = 0
_VALID: Final = 1
_BYTES: Final = 2
_LIMIT: Final = 3


def source_block(index: Index, data: Bytes, logical: Numbers, tables: BuildTables) -> Numbers:
    """A block with what is read; all of it must live as long as the block is used."""
    block = np.zeros(SIZE, np.int64)
    block[WRITER] = write_value
    block[DATA] = address_of(data)
    block[LOGICAL] = address_of(logical)
    block[TABLES] = address_of(tables.tables)
    block[UPDATES] = address_of(index.updates)
    block[NEXT_LINE] = block[LINES] = address_of(index.rows)
    block[LINES_END] = address_of(index.rows) + index.rows.nbytes
    block[VALUES] = address_of(index.values)
    block[CELL_LINES] = address_of(index.cells)
    return block


def give_arrays(block: Numbers, rows: Rows, odd: Numbers) -> None:
    """Puts down where to write: at first, and whenever one of the arrays is another."""
    block[FIXED], block[FIXED_ROOM] = address_of(rows.fixed), rows.fixed.shape[1]
    block[ODD] = address_of(odd)
    for number, name in TEXTS.items():
        texts = getattr(rows, name)
        begin = address_of(texts.data)
        block[number : number + 4] = address_of(texts.offsets), address_of(texts.valid), begin, begin + len(texts.data)


@compiled
def update_of(work: int, line: int) -> int:
    """The update of a line."""
    return get(work, UPDATES) + ln.UPDATE_BYTES * get(line, ln.R_UPDATE)


@compiled
def table_of(work: int, update: int) -> int:
    """The table of an update."""
    return get(work, TABLES) + TABLE_BYTES * get(update, ln.U_TABLE)


@compiled
def first_cell(work: int, line: int) -> int:
    """The first cell of a line."""
    return get(work, CELL_LINES) + ln.CELL_BYTES * get(line, ln.R_CELLS)


@compiled
def last_cell(work: int, line: int) -> int:
    """Where the cells of a line end."""
    return first_cell(work, line) + ln.CELL_BYTES * get(line, ln.R_CELLS_N)


@compiled
def get_fixed(work: int, field: int, row: int) -> int:
    """A number of `fixed`."""
    return get(get(work, FIXED), field * get(work, FIXED_ROOM) + row)


@compiled
def give_fixed(work: int, field: int, row: int, value: int) -> None:
    """Sets it."""
    give(get(work, FIXED), field * get(work, FIXED_ROOM) + row, value)


@compiled
def text_end(work: int, text: int, row: int) -> int:
    """Where the text of that row begins: behind the one before."""
    return get(work, text + _BYTES) + get_offset(get(work, text + _OFFSETS), row)


@compiled
def full(work: int, text: int) -> int:
    """The end of what there is for that column's texts, put down as the one that is full should it be too little."""
    give(work, FULL, text)
    return get(work, text + _LIMIT)


@compiled
def add_text(work: int, text: int, row: int, end: int) -> None:
    """The row's text is what was written up to `end`."""
    give_offset(get(work, text + _OFFSETS), row + 1, end - get(work, text + _BYTES))
    store(get(work, text + _VALID) + row, 1)


@compiled
def add_no_text(work: int, text: int, row: int) -> None:
    """The row has no text there."""
    offsets = get(work, text + _OFFSETS)
    give_offset(offsets, row + 1, get_offset(offsets, row))
    store(get(work, text + _VALID) + row, 0)


@compiled
def copy_text(work: int, text: int, source: int, row: int) -> int:
    """The row's text is that of row `source`, its validity too; NO_ROOM."""
    pos, begin = text_end(work, text, row), text_end(work, text, source)
    length = text_end(work, text, source + 1) - begin
    if length == 0:
        add_no_text(work, text, row)
        return 0
    if pos + length > full(work, text):
        return NO_ROOM
    copy(pos, begin, length)
    add_text(work, text, row, pos + length)
    return 0
