"""A log of `writer_hooks` that grows by one row at a time: what `single_rows` is for Cassandra's. Measures nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import msgspec

from writer_hooks import SegmentLog, Table, Ticket, batch
from writer_hooks.buffer import SyncedSection


class Row(msgspec.Struct):
    id: int
    status: str
    text: str


TABLE = Table.of(Row, "shop.rows", key=["id"])


class GrowingNative:
    """Use as a context."""

    def __init__(self, parent: Path) -> None:
        parent.mkdir(parents=True, exist_ok=True)
        self.folder = parent / "cdc_raw"
        self._log = SegmentLog.open(parent, [TABLE], sync=batch())
        self._log.hooks.append(self._note)
        self._number = 0
        self._synced = 0.0
        self._ticket: Ticket | None = None

    def write_row(self) -> None:
        """One row more, appended and not yet durable."""
        self._number += 1
        self._ticket = self._log.append(TABLE.insert(Row(self._number, "placed", "x" * 120)))

    def publish(self) -> float:
        """Makes it durable; gives `perf_counter` of the moment when the fsync had returned."""
        if self._ticket is not None:
            self._ticket.wait()
        return self._synced

    def _note(self, section: SyncedSection) -> None:
        # The clock is the same as that of `perf_counter`.
        self._synced = section.synced

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()
