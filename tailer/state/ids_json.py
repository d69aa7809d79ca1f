"""Ids in the JSON of the state's files, as hooks of msgspec: what is written today, and what earlier versions wrote.

Whoever keeps a file says which of these may be in it. Ids are the only values there that JSON has no word for.
"""

from __future__ import annotations

from typing import Any

from tailer.state.ids import NO_IDS, Ids
from tailer.state.ranges import Range
from tailer.typed_decode import convert


def to_texts(ids: Any) -> list[str]:
    """How they are written: see `Ids.texts`."""
    assert isinstance(ids, Ids)
    return ids.texts()


def from_texts(kind: type, data: Any) -> Ids:
    """What `to_texts` gives. ValueError or TypeError, of which msgspec makes its own, for anything else."""
    assert kind is Ids
    return Ids.from_texts(convert(data, list[str]))


def from_texts_or_deltas(kind: type, data: Any) -> Ids:
    """Records of earlier versions have the same numbers as numbers, in one list."""
    assert kind is Ids
    numbers = isinstance(data, list) and any(isinstance(each, int) for each in data[:1])
    return Ids.from_deltas(convert(data, list[int])) if numbers else from_texts(kind, data)


def from_ranges(kind: type, data: Any) -> Ids:
    """What earlier versions wrote: ranges as pairs."""
    assert kind is Ids
    ranges = convert(data, list[Range])
    if any(not 0 <= first <= last for first, last in ranges):
        raise ValueError("a range of ids ends before it begins")
    try:
        return NO_IDS.with_ranges(ranges)
    except OverflowError as error:
        raise ValueError("an id is beyond 64 bits") from error
