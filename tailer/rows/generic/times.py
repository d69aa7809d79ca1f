"""A change row's own timestamp and expiry, and how a cell's differ from them (architecture section 4)."""

from __future__ import annotations

from typing import Final

from tailer.scan.index import CELL_DELETED, CELL_EXPIRING, CELL_FIELDS, COMPLEX_DELETION

Cell = list[int]
"""A line of the index's cells, in the order of CELL_FIELDS."""

CELL_WIDTH: Final = len(CELL_FIELDS)

_NO_VALUE: Final = CELL_DELETED | COMPLEX_DELETION


def split_cells(cells: list[int]) -> list[Cell]:
    """The lines of a flat run of them."""
    return [cells[at : at + CELL_WIDTH] for at in range(0, len(cells), CELL_WIDTH)]


RowTimes = tuple[int, int | None, int | None]
"""`write_ts` (µs), `ttl` and `expires_at` (s; None without TTL) of a whole change row."""


def times_of_cells(flat: list[int]) -> RowTimes:
    """Of a row without liveness: those of its newest value, the first on a tie; else of its newest deletion.

    ValueError for a row without cells, which no scan gives.
    """
    cells = split_cells(flat)
    if not cells:
        raise ValueError("a row with neither a time nor a cell")
    values = [cell for cell in cells if not cell[1] & _NO_VALUE]
    if not values:
        return max(cell[2] for cell in cells), None, None
    _, flags, timestamp, ttl, expires, *_ = max(values, key=lambda cell: cell[2])
    return (timestamp, ttl, expires) if flags & CELL_EXPIRING else (timestamp, None, None)


def difference(cell: Cell, row: RowTimes) -> str:
    """JSON of what a cell has other than its row; empty if nothing. Of a tombstone only the timestamp counts."""
    _, flags, timestamp, ttl, expires, *_ = cell
    write_ts, row_ttl, row_expires_at = row
    parts = [] if timestamp == write_ts else [f'"write_ts":{timestamp}']
    if not flags & CELL_DELETED:
        expiring = flags & CELL_EXPIRING
        if (ttl if expiring else None) != row_ttl:
            parts.append(f'"ttl":{ttl if expiring else "null"}')
        if (expires if expiring else None) != row_expires_at:
            parts.append(f'"expires_at":{expires if expiring else "null"}')
    return "{" + ",".join(parts) + "}" if parts else ""
