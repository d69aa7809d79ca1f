"""That a range of tokens was read whole, as a change row says it. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tailer.rebuild.facts import Place
from tailer.typed_decode import decode_json


class ReadRange(msgspec.Struct, frozen=True):
    """Tokens above `low` and up to `high`. `until`: the floor, in µs. `complete`: whether all that hold the range are
    followed, of the `nodes` that were. `places`: of those that hold it, where their logs had been read to."""

    low: int
    high: int
    until: int
    complete: bool
    nodes: tuple[str, ...]
    places: Mapping[str, Place]


def range_text(told: ReadRange) -> str:
    """As the column `range` has it."""
    return msgspec.json.encode(told).decode()


def range_of_change(change: Mapping[str, Any]) -> ReadRange:
    """The range that a change row with `op` = `snapshot_range` tells."""
    return decode_json(change["range"], ReadRange)
