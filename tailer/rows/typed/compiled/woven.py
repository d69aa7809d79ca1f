"""Straight rows that the scan noted by the column, and those of the index, as one: in log order. Knows no value."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tailer.jit.addresses import address_of
from tailer.rows.typed.compiled.straight import NO_TTL
from tailer.rows.typed.compiled.straight_rows import Places, StraightRows

Numbers = npt.NDArray[Any]

_VARYING: Final = (
    ("entry", np.int64), ("offset", np.int64), ("ts", np.int64), ("token", np.int64), ("bad", np.uint8)
)  # fmt: skip
"""What differs from row to row in those that were noted; of each other number all of them have the first's."""

_ALIKE: Final = (("number", np.int64), ("op", np.uint8), ("static", np.uint8), ("expires", np.int64))

_NO_ROW: Final = -1


def woven(noted: StraightRows, indexed: StraightRows) -> StraightRows:
    """The rows of both, which have no entry in common and are of one table; neither is without any."""
    rows = noted.rows + indexed.rows
    ours = np.searchsorted(indexed.entry, noted.entry) + np.arange(noted.rows)
    is_ours = np.zeros(rows, np.bool_)
    is_ours[ours] = True
    theirs = np.flatnonzero(~is_ours)
    made: dict[str, Any] = _sets(noted, indexed, is_ours)
    for name, type_ in _VARYING:
        made[name] = np.empty(rows, type_)
        made[name][ours], made[name][theirs] = getattr(noted, name), getattr(indexed, name)
    for name, type_ in _ALIKE:
        made[name] = np.full(rows, getattr(noted, name)[0], type_)
        made[name][theirs] = getattr(indexed, name)
    made |= {"ttl": np.full(rows, NO_TTL, np.int32), "index_row": np.full(rows, _NO_ROW, np.int64)}
    made["ttl"][theirs], made["index_row"][theirs] = indexed.ttl, indexed.index_row
    off, length = (_lines(getattr(noted, name), getattr(indexed, name), ours, theirs) for name in ("off", "length"))
    return indexed._replace(
        **made,
        off=off,
        length=length,
        places=Places(address_of(off), address_of(length), address_of(made["bad"]), 4 * rows),
        ops=noted.ops | indexed.ops,
        mixed=True,
    )


def _lines(noted: Numbers, indexed: Numbers, ours: Numbers, theirs: Numbers) -> Numbers:
    made = np.empty((len(noted), len(ours) + len(theirs)), np.int32)
    for line, one, other in zip(made, noted, indexed, strict=True):
        line[ours], line[theirs] = one, other
    return made


def _sets(noted: StraightRows, indexed: StraightRows, is_ours: Numbers) -> dict[str, Numbers]:
    counts = np.empty(len(is_ours), np.int64)
    counts[is_ours], counts[~is_ours] = np.diff(noted.ends), np.diff(indexed.ends)
    ends = np.zeros(len(is_ours) + 1, np.int32)
    np.cumsum(counts, out=ends[1:])
    of_ours = np.repeat(is_ours, counts)
    sets = np.empty(len(of_ours), np.int32)
    sets[of_ours], sets[~of_ours] = np.tile(noted.sets, noted.rows), indexed.sets
    return {"sets": sets, "ends": ends}
