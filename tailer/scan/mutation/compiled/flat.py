"""ScanTables laid out as arrays for the compiled scan: made once for each set of definitions. Knows no bytes of a log.

ids      table ids, found by hash: two words, the table's number, whether it is kept
tables   one line per table: T_* say where the rest lies
lengths  one per clustering column
names    names of columns, found by hash, one run of slots per table: where the text lies, which column
columns  one line per column: number, length, multi
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tailer.jit.addresses import Numbers
from tailer.scan.tables import ScanColumn, ScanTable, ScanTables

UNREAD: Final = -1
UNKNOWN: Final = -2
UNUSABLE: Final = -3
"""In place of a table's number: its id is among `unread`; it is no id that is known; it is among `unusable`."""

FREE: Final = -1
"""A slot of a hash table with nothing in it."""

I_HIGH: Final = 0
I_LOW: Final = 1
I_NUMBER: Final = 2
I_KEPT: Final = 3
I_WIDTH: Final = 4

T_KEPT: Final = 0
T_TRUNCATIONS: Final = 1
T_LENGTHS_AT: Final = 2
T_LENGTHS_N: Final = 3
T_NAMES_AT: Final = 4
T_NAMES_MASK: Final = 5
T_COLUMNS_AT: Final = 6
T_COLUMNS_N: Final = 7
T_WIDTH: Final = 8

N_OFF: Final = 0
N_LEN: Final = 1
N_COLUMN: Final = 2
N_WIDTH: Final = 3

C_NUMBER: Final = 0
C_LENGTH: Final = 1
C_MULTI: Final = 2
C_WIDTH: Final = 3

HASH_FACTOR: Final = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: multiplying by it spreads what differs in a few bits over the high ones."""

_U64: Final = 2**64 - 1
_WORDS: Final = struct.Struct(">qq")


@dataclass(frozen=True, slots=True)
class Flat:
    """See the module. `texts`: all names, one behind the other. `columns_max`: of the table with the most."""

    ids: Numbers
    tables: Numbers
    lengths: Numbers
    names: Numbers
    columns: Numbers
    texts: npt.NDArray[np.uint8]
    columns_max: int


def flat_tables(tables: ScanTables) -> Flat:
    """The arrays of `tables`."""
    lines: list[list[int]] = []
    lengths: list[int] = []
    names: list[list[int]] = []
    columns: list[list[int]] = []
    texts = bytearray()
    for table in tables.tables:
        numbers = {column: at for at, column in enumerate(dict.fromkeys(table.columns.values()), len(columns))}
        slots = _name_slots(table.columns, numbers, texts)
        lines.append(_table_line(table, len(lengths), len(names), len(slots), len(columns), len(numbers)))
        lengths += table.clustering
        names += slots
        columns += [[column.number, column.length, column.multi] for column in numbers]
    return Flat(
        _ids(tables),
        _array(lines, T_WIDTH),
        np.array(lengths, np.int64),
        _array(names, N_WIDTH),
        _array(columns, C_WIDTH),
        np.frombuffer(bytes(texts) + bytes(8), np.uint8),
        max((line[T_COLUMNS_N] for line in lines), default=0),
    )


def _table_line(
    table: ScanTable, lengths_at: int, names_at: int, slots: int, columns_at: int, columns: int
) -> list[int]:
    lengths = len(table.clustering)
    return [table.kept, table.truncations, lengths_at, lengths, names_at, slots - 1, columns_at, columns]


def _array(lines: Sequence[Sequence[int]], width: int) -> Numbers:
    return np.array(lines, np.int64).reshape(-1, width)


def _slots(count: int) -> int:
    """A power of two with at least half of it free, so that a search always ends at a free slot."""
    return 1 << (2 * count + 1).bit_length()


def _ids(tables: ScanTables) -> Numbers:
    known: dict[bytes, int] = dict.fromkeys(tables.unusable, UNUSABLE) | dict.fromkeys(tables.unread, UNREAD)
    known |= tables.numbers
    kept = set(tables.kept_ids)
    size = _slots(len(known))
    slots = [[0, 0, UNKNOWN, False] for _ in range(size)]
    for table_id, number in known.items():
        high, low = _WORDS.unpack(table_id)
        slot = hash_id(high, low) & size - 1
        while slots[slot][I_NUMBER] != UNKNOWN:
            slot = slot + 1 & size - 1
        slots[slot] = [high, low, number, table_id in kept]
    return _array(slots, I_WIDTH)


def _name_slots(
    columns: Mapping[bytes, ScanColumn], numbers: Mapping[ScanColumn, int], texts: bytearray
) -> list[list[int]]:
    size = _slots(len(columns))
    slots = [[0, FREE, 0] for _ in range(size)]
    for name, column in columns.items():
        slot = hash_name(name) & size - 1
        while slots[slot][N_LEN] != FREE:
            slot = slot + 1 & size - 1
        slots[slot] = [len(texts), len(name), numbers[column]]
        texts += name
    return slots


def hash_id(high: int, low: int) -> int:
    """Of a table id's two words, signed or not. What the compiled scan computes too."""
    return ((high ^ low) * HASH_FACTOR & _U64) >> 32


def hash_name(name: bytes) -> int:
    """Of a column's name (FNV-1a, 64 bits, folded). What the compiled scan computes too."""
    value = 0xCBF29CE484222325
    for byte in name:
        value = (value ^ byte) * 0x100000001B3 & _U64
    return value >> 32 ^ value & 0xFFFFFFFF
