"""Range deletions: two bounds of the log, maybe with rows between them, make one change row where the first stands."""

from __future__ import annotations

from typing import NamedTuple

from tailer.rows.batch import Row
from tailer.rows.generic.update import Line, UpdateRows
from tailer.scan.index import CLOSE_INCLUSIVE, OPEN_INCLUSIVE, RANGE_END, RANGE_START


class _Open(NamedTuple):
    """A range whose end is still to come: its place among the rows, its number, its deletion, its start."""

    place: int
    number: int
    deletion: int
    start: str


class OpenRange:
    """The range open at one place of an update, if any. The scan has seen to it that bounds come in pairs."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: _Open | None = None

    def add_bound(self, line: Line, update: UpdateRows, out: list[Row]) -> None:
        """Ends a range and starts one, as the bound says. A started one holds its place in `out`."""
        _, number, kind, flags, opening, _, _, _, values_at, values_n, _, _ = line
        bound = update.clustering(update.table.clustering, values_at, values_n) if values_n else "null"
        if kind != RANGE_START and self._open is not None:
            place, first, deletion, start = self._open
            end = _side("end", bound, flags & CLOSE_INCLUSIVE)
            out[place] = update.deletion("delete_range", first, deletion, bounds=f"{{{start},{end}}}")
            self._open = None
        if kind != RANGE_END:
            start = _side("start", bound, flags & OPEN_INCLUSIVE)
            self._open = _Open(len(out), number, opening, start)
            out.append(update.deletion("delete_range", number, opening))


def _side(name: str, bound: str, inclusive: int) -> str:
    is_open = bound == "null"
    return f'"{name}":{bound},"{name}_inclusive":{"true" if inclusive or is_open else "false"}'
