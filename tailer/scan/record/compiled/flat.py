"""Tables of a service's log as arrays for the compiled scan, as `mutation.compiled.flat` does. Knows no bytes of a log.

ids      table ids with fingerprints, found by hash: three words, the table's number, whether it is kept
heads    the table ids of kept tables, two words each
tables   one line per table: R_* say what it has and where its columns lie
columns  one line per static or regular column, by number: as in `scan.mutation.compiled.flat`
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

import numpy as np

from tailer.jit.addresses import Numbers
from tailer.scan.mutation.compiled.flat import C_WIDTH, UNKNOWN, hash_id
from tailer.scan.tables import ScanTables

P_HIGH: Final = 0
P_LOW: Final = 1
P_PRINT: Final = 2
P_NUMBER: Final = 3
P_KEPT: Final = 4
P_WIDTH: Final = 5

R_KEY: Final = 0
R_CLUSTERING: Final = 1
R_STATICS: Final = 2
R_COLUMNS_AT: Final = 3
R_COLUMNS_N: Final = 4
R_WIDTH: Final = 5

_WORDS: Final = struct.Struct(">qqq")
_LEAST: Final = 8


class FlatRecords(NamedTuple):
    """See the module. `columns_max`: of the table with the most."""

    ids: Numbers
    heads: Numbers
    tables: Numbers
    columns: Numbers
    columns_max: int


def flat_records(tables: ScanTables) -> FlatRecords:
    """The arrays of `tables`."""
    lines: list[list[int]] = []
    columns: list[list[int]] = []
    for table in tables.tables:
        lines.append([table.key, len(table.clustering), table.statics, len(columns), len(table.by_number)])
        columns += [[column.number, column.length, column.multi] for column in table.by_number]
    heads = [struct.unpack(">qq", head) for head in sorted(tables.kept_heads)]
    return FlatRecords(
        _ids(tables),
        np.array(heads, np.int64).reshape(-1, 2),
        np.array(lines, np.int64).reshape(-1, R_WIDTH),
        np.array(columns, np.int64).reshape(-1, C_WIDTH),
        max((line[R_COLUMNS_N] for line in lines), default=0),
    )


def _ids(tables: ScanTables) -> Numbers:
    size = _LEAST
    while size < 2 * len(tables.numbers) + 1:
        size *= 2
    slots = [[0, 0, 0, UNKNOWN, False] for _ in range(size)]
    for table_id, number in tables.numbers.items():
        high, low, mark = _WORDS.unpack(table_id)
        slot = hash_id(high ^ mark, low) & size - 1
        while slots[slot][P_NUMBER] != UNKNOWN:
            slot = slot + 1 & size - 1
        slots[slot] = [high, low, mark, number, tables.tables[number].kept]
    return np.array(slots, np.int64).reshape(-1, P_WIDTH)
