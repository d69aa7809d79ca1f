"""How far the snapshot of a table is, as it stands in a state of images together with what was merged of it."""

from __future__ import annotations

from typing import Final

import msgspec

from tailer.image_state.one_transaction import Transaction
from tailer.snapshot.progress import Snapshot
from tailer.versions import decode_whole, decoding

_SNAPSHOT: Final = "snapshot/"


def snapshot_of(transaction: Transaction, table_id: str) -> Snapshot | None:
    """The last one of a table; None where there never was one."""
    found = transaction.about(_SNAPSHOT + table_id)
    return None if found is None else _decoded(found)


def snapshots_in(transaction: Transaction) -> list[Snapshot]:
    """The last one of each table."""
    return [_decoded(value) for value in transaction.abouts(_SNAPSHOT).values()]


def put_snapshot(transaction: Transaction, snapshot: Snapshot) -> None:
    transaction.put_about(_SNAPSHOT + snapshot.table_id, msgspec.json.encode(snapshot))


def _decoded(data: bytes) -> Snapshot:
    with decoding("the snapshot in the state of images"):
        return decode_whole(data, Snapshot)
