"""TRUNCATE: the log's only trace is a cell of `system.local.truncated_at` (format page 10; architecture section 4)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from tailer.position import Position
from tailer.rows.batch import Row
from tailer.rows.generic.times import Cell, split_cells
from tailer.rows.prepared import PreparedTable
from tailer.scan.index import CELL_DELETED, COMPLEX_DELETION

_RECORD: Final = struct.Struct(">qiq")
"""Segment, offset, milliseconds: everything logged before that position is void."""

_GONE: Final = CELL_DELETED | COMPLEX_DELETION


def live_truncations(cells: list[int], column: int) -> list[Cell]:
    """The cells of `truncated_at` that tell of a truncation; each takes a row number, whatever its table."""
    return [cell for cell in split_cells(cells) if cell[0] == column and not cell[1] & _GONE]


def truncate_rows(
    truncations: list[Cell], data: bytes, first: int, delivered: Mapping[str, PreparedTable], node: str, at: Position
) -> list[Row]:
    """`truncate` rows of the delivered tables among `truncations`, numbered from `first`.

    ValueError for a cell that is no truncation record.
    """
    rows: list[Row] = []
    for number, (_, _, timestamp, _, _, path_off, path_len, value_off, value_len) in enumerate(truncations, first):
        if path_len != 16 or value_len != _RECORD.size:
            raise ValueError(f"a truncation record of {path_len} and {value_len} bytes, which has 16 and 20")
        table = delivered.get(data[path_off : path_off + path_len].hex())
        if table is None:
            continue
        segment, offset, _ = _RECORD.unpack_from(data, value_off)
        before = f'{{"before":{{"segment":{segment},"offset":{offset}}}}}'
        definition = table.definition
        rows.append((
            node, definition.keyspace, definition.table, table.table_id, "truncate",
            None, None, False, None, before, timestamp, None, None, None, None,
            at.segment, at.offset, number, f"{node}:{at.segment}:{at.offset}:{number}", None, None,
        ))  # fmt: skip
    return rows
