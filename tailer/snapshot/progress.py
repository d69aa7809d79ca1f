"""How far the snapshot of a table is. Values only."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tailer.snapshot.ranges import Range


class Snapshot(msgspec.Struct, frozen=True):
    """Of one table (its id 32 hex digits). `id`: random. `until`: its floor, in µs.

    `epoch`: of the table when it was begun; what is missing since makes it worthless. `plan`: the ranges that it reads,
    by whose numbers images are called. `done`: tokens that are merged. `images`: how many came of it. `ended`: all of
    the plan is merged.
    """

    id: str
    table: str
    table_id: str
    until: int
    epoch: int
    plan: list[Range]
    done: list[Range] = []
    rows: int = 0
    images: int = 0
    bytes: int = 0
    seconds: float = 0.0
    ended: bool = False


Show = Callable[[Snapshot], None]
"""Told of how far a snapshot is."""


def done_of(snapshot: Snapshot) -> float:
    """How much of its tokens it has read, of 1."""
    whole = sum(high - low for low, high in snapshot.plan)
    return sum(high - low for low, high in snapshot.done) / whole if whole else 1.0
