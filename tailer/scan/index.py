"""The index: what a scan found, as flat arrays of 64-bit integers, and where it stopped. Knows no type and no output.

Four kinds of line; each level names a run of lines of the next one by its first number and count:

    updates   one per partition update of a kept table
    rows      one per partition deletion, static row, row, range tombstone bound; in log order, `update` names theirs
    values    one per clustering value: offset, length (NULL_LENGTH for null, 0 for empty)
    cells     one per cell, and one per complex deletion (flag COMPLEX_DELETION), before the cells of its column

All offsets count in the bytes that were scanned. Times are absolute: microseconds for `ts` and `deletion`, seconds for
`ttl` and `expires`.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

Lines = npt.NDArray[Any]
"""Lines of one kind: a one-dimensional structured array."""

NO_DELETION: Final = -(2**63)
"""The timestamp that says "not deleted" (format page 5.3); also of a row without liveness."""

NULL_LENGTH: Final = -1

NO_TTL: Final = -1
"""In place of a TTL, where one may be none: a scan refuses bytes that say one below zero."""

UPDATE_FIELDS: Final = ("entry", "table", "key_off", "key_len")

ROW_FIELDS: Final = (
    "update",
    "number",  # of the line's first change row within its mutation
    "kind",
    "flags",  # of a row: HAS_*; of a bound: OPEN_INCLUSIVE, CLOSE_INCLUSIVE
    "ts",  # of a row's liveness; of a bound: the deletion of the range that opens here
    "ttl",
    "expires",
    "deletion",  # of the partition, the row, or the range that closes here
    "clustering_at",
    "clustering_n",
    "cells_at",
    "cells_n",
)

VALUE_FIELDS: Final = ("off", "len")

CELL_FIELDS: Final = (
    "column",
    "flags",
    "ts",
    "ttl",
    "expires",  # of a tombstone: its local deletion time
    "path_off",
    "path_len",
    "value_off",
    "value_len",
)


def _line(fields: tuple[str, ...]) -> np.dtype[Any]:
    return np.dtype([(field, np.int64) for field in fields])


UPDATE: Final = _line(UPDATE_FIELDS)
ROW: Final = _line(ROW_FIELDS)
VALUE: Final = _line(VALUE_FIELDS)
CELL: Final = _line(CELL_FIELDS)


# What a line of `rows` is (`kind`). A boundary ends one range and starts the next.
PARTITION_DELETION: Final = 0
STATIC_ROW: Final = 1
ROW_LINE: Final = 2
RANGE_START: Final = 3
RANGE_END: Final = 4
RANGE_BOUNDARY: Final = 5

HAS_TIMESTAMP: Final = 0x04
HAS_TTL: Final = 0x08
HAS_DELETION: Final = 0x10

OPEN_INCLUSIVE: Final = 0x01
CLOSE_INCLUSIVE: Final = 0x02

CELL_DELETED: Final = 0x01
CELL_EXPIRING: Final = 0x02
CELL_EMPTY: Final = 0x04
COMPLEX_DELETION: Final = 0x20


class Status(enum.IntEnum):
    """Why a scan stopped. All but OK are about one entry; the entries before it are whole."""

    OK = 0
    UNKNOWN_TABLE = 1
    UNKNOWN_COLUMN = 2
    TRUNCATED = 3
    WRONG_SIZE = 4
    BAD_FLAGS = 5
    BAD_VALUE = 6
    UNPAIRED_BOUND = 7
    WRONG_TYPE = 8
    TOO_DEEP = 9
    UNKNOWN_KIND = 10


class Stopped(NamedTuple):
    """Where a scan ended. With OK `entry` is the number of entries, else the one that does not decode.

    `start` and `size`: its payload; `at`: the offset where it was noticed; `found`: what stood there: a flags byte, a
    count, a length, the head of a msgpack value, the number of a record's column; with WRONG_SIZE how many bytes are
    left over.
    `name_off`, `name_len`: the table id or column name that is not known. `table`: number of the table, -1 if unknown.
    `kept_inside`: the entry's bytes hold the id of a kept table, so passing it over may lose rows.
    """

    status: Status
    entry: int
    start: int = 0
    size: int = 0
    at: int = 0
    found: int = 0
    table: int = -1
    name_off: int = 0
    name_len: int = 0
    kept_inside: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """One scan's lines and its end. `skipped`: how many entries were passed over, by the id of their first table."""

    updates: Lines
    rows: Lines
    values: Lines
    cells: Lines
    stopped: Stopped
    skipped: Mapping[bytes, int]


def as_lines(flat: list[int], line: np.dtype[Any]) -> Lines:
    """Numbers of consecutive lines as a structured array."""
    # Packing first takes half the time of handing numpy the list.
    return np.frombuffer(struct.pack(f"{len(flat)}q", *flat), dtype=np.int64).view(line)


def as_numbers(lines: Lines) -> list[int]:
    """All numbers of the lines in one list, a line's fields after another's: no object per line."""
    numbers: list[int] = lines.view(np.int64).tolist()
    return numbers
