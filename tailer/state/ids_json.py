"""Ids in the JSON of the state's files, as hooks of msgspec: what is written today, and what earlier versions wrote.

Whoever keeps a file says which of the two is in it. Ids are the only values there that JSON has no word for.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tailer.state.ids import NO_IDS, Ids, Range


def to_deltas(ids: Any) -> list[int]:
    """How they are written: see `Ids.deltas`."""
    assert isinstance(ids, Ids)
    return ids.deltas()


def from_deltas(kind: type, data: Any) -> Ids:
    """What `to_deltas` gives. ValueError or TypeError, of which msgspec makes its own, for anything else."""
    assert kind is Ids
    return Ids.from_deltas(data)


def from_ranges(kind: type, data: Any) -> Ids:
    """What earlier versions wrote: ranges as pairs."""
    assert kind is Ids
    ranges = msgspec.convert(data, list[Range])
    if any(not 0 <= first <= last for first, last in ranges):
        raise ValueError("a range of ids ends before it begins")
    try:
        return NO_IDS.with_ranges(ranges)
    except OverflowError as error:
        raise ValueError("an id is beyond 64 bits") from error
