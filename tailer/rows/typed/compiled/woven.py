"""Straight rows that the scan noted by the column, and those of the index, as one: in log order. Knows no value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tailer.jit.addresses import address_of
from tailer.rows.typed.compiled.straight import NO_LINE
from tailer.rows.typed.compiled.straight_rows import Places, StraightRows
from tailer.rows.typed.compiled.weave import put_before, weave, weave_sets
from tailer.scan.index import NO_TTL

Numbers = npt.NDArray[Any]

_VARYING: Final = ("entry", "offset", "ts", "token", "bad", "op")
"""What differs from row to row in those that were noted."""

_TIMES: Final = ("ttl", "expires")
"""The same where some row has a TTL."""


def woven(noted: StraightRows, indexed: StraightRows) -> StraightRows:
    """The rows of both, which have no entry in common and are of one table; neither is without any, none is sparse."""
    rows, before = noted.rows + indexed.rows, np.empty(indexed.rows, np.int64)
    put_before(address_of(noted.entry), noted.rows, address_of(indexed.entry), indexed.rows, address_of(before))
    has_ttl = noted.has_ttl or indexed.has_ttl
    made = _alike(indexed, before, rows)
    lines: list[tuple[int, int, int, int]] = []
    for name in _VARYING + _TIMES if has_ttl else _VARYING:
        one = getattr(noted, name)
        made[name] = np.empty(rows, one.dtype)
        lines.append((address_of(one), address_of(getattr(indexed, name)), one.itemsize, address_of(made[name])))
    off, length = np.empty((2, len(noted.off), rows), np.int32)
    places = Places(address_of(off), address_of(length), address_of(made["bad"]), 4 * rows)
    lines += _lines(noted.places, indexed.places, places, len(off))
    work = np.array(lines, np.int64)
    weave(address_of(work), len(work), noted.rows, indexed.rows, address_of(before))
    facts: dict[str, Any] = {"ops": noted.ops | indexed.ops, "has_ttl": has_ttl, "mixed": True}
    made |= _sets(noted, indexed, before)
    return indexed._replace(**made, off=off, length=length, places=places, **facts)


def _alike(indexed: StraightRows, before: Numbers, rows: int) -> dict[str, Any]:
    """What all that were noted have alike: no TTL mostly; their first number, none is static, none has a line."""
    theirs = before + np.arange(indexed.rows)
    made: dict[str, Any] = {"ttl": np.full(rows, NO_TTL, np.int32), "expires": np.empty(rows, np.int64)}
    made |= {"number": np.zeros(rows, np.int64), "static": np.zeros(rows, np.uint8)}
    made["index_row"] = np.full(rows, NO_LINE, np.int64)
    for name, is_there in (("number", indexed.has_number), ("static", indexed.has_static), ("index_row", True)):
        if is_there:
            made[name][theirs] = getattr(indexed, name)
    return made


def _lines(noted: Places, indexed: Places, to: Places, lines: int) -> Iterator[tuple[int, int, int, int]]:
    """What `weave` needs of each line of offsets, and of each of lengths."""
    for line in range(lines):
        ours, theirs, there = line * noted.line, line * indexed.line, line * to.line
        yield noted.off + ours, indexed.off + theirs, 4, to.off + there
        yield noted.length + ours, indexed.length + theirs, 4, to.length + there


def _sets(noted: StraightRows, indexed: StraightRows, before: Numbers) -> dict[str, Numbers]:
    width, rows = len(noted.sets), noted.rows + indexed.rows
    ends, sets = np.empty(rows + 1, np.int32), np.empty(width * noted.rows + len(indexed.sets), np.int32)
    theirs = address_of(indexed.sets), address_of(indexed.ends), indexed.rows, address_of(before)
    weave_sets(address_of(noted.sets), width, noted.rows, *theirs, address_of(sets), address_of(ends))
    return {"sets": sets, "ends": ends}
