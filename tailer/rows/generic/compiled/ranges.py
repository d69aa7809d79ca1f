"""`range` of a change row, compiled: see `tailer.rows.generic.ranges`."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled
from tailer.jit.memory import store
from tailer.jit.words import get
from tailer.rows.generic.compiled.columns import put_values
from tailer.scan.compiled import lines as ln
from tailer.scan.index import CLOSE_INCLUSIVE, OPEN_INCLUSIVE, RANGE_END
from tailer.types.compiled.digits import NO_ROOM, literal, put
from tailer.types.compiled.values import put_null

_START: Final = literal(b'{"start":')
_START_INCLUSIVE: Final = literal(b',"start_inclusive":')
_END: Final = literal(b',"end":')
_END_INCLUSIVE: Final = literal(b',"end_inclusive":')
_TRUE: Final = literal(b"true")
_FALSE: Final = literal(b"false")

_ROOM: Final = 80
"""More than all names and signs of a range take."""


@compiled
def put_range(pos: int, limit: int, work: int, clustering: int, line: int) -> int:
    """The range that the bound of a line opens and the next bound closes; NO_ROOM or LEFT.

    `clustering`: the clustering columns in the plan. The scan has seen to it that bounds come in pairs.
    """
    end = line + ln.ROW_BYTES
    while get(end, ln.R_KIND) < RANGE_END:
        end += ln.ROW_BYTES
    if pos + _ROOM > limit:
        return NO_ROOM
    pos = _put_values(put(pos, _START), limit, work, clustering, line)
    if pos < 0:
        return pos
    pos = _put_inclusive(put(pos, _START_INCLUSIVE), line, OPEN_INCLUSIVE)
    pos = _put_values(put(pos, _END), limit, work, clustering, end)
    if pos < 0:
        return pos
    pos = _put_inclusive(put(pos, _END_INCLUSIVE), end, CLOSE_INCLUSIVE)
    store(pos, 0x7D)
    return pos + 1


@compiled
def _put_values(pos: int, limit: int, work: int, clustering: int, line: int) -> int:
    """A bound's values, null for none, and room behind them."""
    pos = put_values(pos, limit, work, clustering, line) if get(line, ln.R_VALUES_N) else put_null(pos)
    return NO_ROOM if pos >= 0 and pos + _ROOM > limit else pos


@compiled
def _put_inclusive(pos: int, line: int, flag: int) -> int:
    """Whether a bound belongs to the range: one without values does."""
    inclusive = get(line, ln.R_VALUES_N) == 0 or get(line, ln.R_FLAGS) & flag != 0
    return put(pos, _TRUE) if inclusive else put(pos, _FALSE)
