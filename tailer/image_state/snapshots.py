"""How far the snapshot of a table is, as it stands in a state of images together with what was merged of it.

Values, and how they stand in a transaction. Asks no server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from tailer.image_state.one_transaction import Transaction
from tailer.snapshot.ranges import Range
from tailer.typed_decode import decode_json

_SNAPSHOT: Final = "snapshot/"


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


def snapshot_of(transaction: Transaction, table_id: str) -> Snapshot | None:
    """The last one of a table; None where there never was one."""
    found = transaction.about(_SNAPSHOT + table_id)
    return None if found is None else decode_json(found, Snapshot)


def snapshots_in(transaction: Transaction) -> list[Snapshot]:
    """The last one of each table."""
    return [decode_json(value, Snapshot) for value in transaction.abouts(_SNAPSHOT).values()]


def put_snapshot(transaction: Transaction, snapshot: Snapshot) -> None:
    transaction.put_about(_SNAPSHOT + snapshot.table_id, msgspec.json.encode(snapshot))


def done_of(snapshot: Snapshot) -> float:
    """How much of its tokens it has read, of 1."""
    whole = sum(high - low for low, high in snapshot.plan)
    return sum(high - low for low, high in snapshot.done) / whole if whole else 1.0
