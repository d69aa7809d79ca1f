"""The JSON of what a change row sets: `columns`, and `cells` for what differs from the row (architecture section 4)."""

from __future__ import annotations

from tailer.rows.generic.collections import multi_texts
from tailer.rows.generic.times import CELL_WIDTH, RowTimes, difference, split_cells
from tailer.rows.prepared import PreparedColumn
from tailer.scan.index import CELL_DELETED


def column_texts(
    columns: tuple[PreparedColumn, ...], cells: list[int], data: bytes, row: RowTimes
) -> tuple[str, str | None]:
    """`columns` and `cells` of one row, in the order of its cells (their lines, flat).

    ValueError for a value that is none of its type.
    """
    write_ts, row_ttl, _ = row
    texts: list[str] = []
    differing: list[str] = []
    at, end = 0, len(cells)
    while at < end:
        cell = cells[at : at + CELL_WIDTH]
        number, flags, timestamp, _, _, _, _, value_off, value_len = cell
        column = columns[number]
        at += CELL_WIDTH
        if column.multi:
            first = at - CELL_WIDTH
            while at < end and cells[at] == number:
                at += CELL_WIDTH
            text, more = multi_texts(column.type, split_cells(cells[first:at]), data, row)
            texts.append(column.label + text)
        elif flags & CELL_DELETED:
            texts.append(column.label + "null")
            more = difference(cell, row)
        else:
            texts.append(column.label + column.json(data[value_off : value_off + value_len]))
            plain = timestamp == write_ts and row_ttl is None and not flags
            more = "" if plain else difference(cell, row)
        if more:
            differing.append(column.label + more)
    return "{" + ",".join(texts) + "}", "{" + ",".join(differing) + "}" if differing else None
