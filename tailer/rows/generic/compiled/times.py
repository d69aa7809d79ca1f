"""Times of a row's cells, compiled: the twin of `tailer.rows.generic.times`. Knows no text."""

from __future__ import annotations

from typing import Any, Final

from tailer.jit.decorators import compiled
from tailer.jit.words import get
from tailer.scan.compiled import lines as ln
from tailer.scan.index import CELL_DELETED, CELL_EXPIRING, COMPLEX_DELETION

_NO_VALUE: Final = CELL_DELETED | COMPLEX_DELETION


@compiled
def times_of_cells(cell: int, end: int) -> Any:
    """write_ts, whether there is a TTL, ttl and expires_at of a row without liveness; `end` is behind its last cell."""
    best = newest = cell
    found = False
    while cell < end:
        if not get(cell, ln.C_FLAGS) & _NO_VALUE and (not found or get(cell, ln.C_TS) > get(best, ln.C_TS)):
            best = cell
            found = True
        if get(cell, ln.C_TS) > get(newest, ln.C_TS):
            newest = cell
        cell += ln.CELL_BYTES
    if not found:
        return get(newest, ln.C_TS), 0, 0, 0
    if get(best, ln.C_FLAGS) & CELL_EXPIRING:
        return get(best, ln.C_TS), 1, get(best, ln.C_TTL), get(best, ln.C_EXPIRES)
    return get(best, ln.C_TS), 0, 0, 0


@compiled
def differs(cell: int, times: Any) -> bool:
    """Whether a cell's times are not those of its row."""
    write_ts, has_ttl, ttl, expires = times
    if get(cell, ln.C_TS) != write_ts:
        return True
    flags = get(cell, ln.C_FLAGS)
    if flags & CELL_DELETED:
        return False
    if not flags & CELL_EXPIRING:
        return has_ttl != 0
    return has_ttl == 0 or get(cell, ln.C_TTL) != ttl or get(cell, ln.C_EXPIRES) != expires


@compiled
def walk_multi(first: int, end: int, times: Any) -> Any:
    """Behind which line the cells of the non-frozen column end that begin at `first`, `end` at most; whether `cells`
    has anything of them."""
    column, is_whole = get(first, ln.C_COLUMN), get(first, ln.C_FLAGS) & COMPLEX_DELETION != 0
    cell = begin = first + ln.CELL_BYTES if is_whole else first
    found = False
    while cell < end and get(cell, ln.C_COLUMN) == column:
        found |= differs(cell, times)
        cell += ln.CELL_BYTES
    if is_whole and get(first, ln.C_TS) != whole_deletion(cell == begin, times):
        found = True
    return cell, found


@compiled
def whole_deletion(is_empty: bool, times: Any) -> int:
    """When a column is deleted that is assigned with its row: a microsecond before the elements that there are."""
    write_ts: int = times[0]
    return write_ts if is_empty else write_ts - 1
