"""`--to delta:DIR`: change rows appended to a Delta table, and in the same commit the position behind them.

A row that comes again (a consumer that was sought back) is appended again: a Delta table has no keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tailer.errors import RefusedError, UsageError
from tailer.sinks.base import Rows
from tailer.sinks.database.columns import columns_text
from tailer.sinks.database.outlet import CHANGES, form_of_mode
from tailer.sinks.deltalake.folder import DeltaFolder
from tailer.sinks.deltalake.place_text import app_of, find, other_images, text_of
from tailer.sinks.image_ids import IdentifiedImages
from tailer.sinks.outlet import OutletContext, Place
from tailer.sinks.outlet_options import bounds_of

_NEWEST: Final = 1_000
"""Commits that are looked through first: ours is the newest, or near it."""


def open_outlet(to: str, values: Mapping[str, Any], context: OutletContext) -> DeltaOutlet:
    """`delta:DIR`."""
    folder = to.partition(":")[2]
    if not folder or "://" in folder:
        raise UsageError("--to", expected="delta:DIR, a folder of this machine", found=repr(to))
    if values["into"] is not None:
        raise UsageError("--into with --to delta", remedy="The folder is the table: leave it out.")
    if values["mode"] != CHANGES and context.images is not None:
        raise UsageError(
            f"--mode {values['mode']} with --to delta",
            remedy=f"Append images (--mode {CHANGES}), and merge them from there by their key and `seq`.",
        )
    return DeltaOutlet(Path(folder), values, context)


class DeltaOutlet:
    """Of one node. What was written stays in hand until it is committed."""

    keeps_place = True

    def __init__(self, folder: Path, values: Mapping[str, Any], context: OutletContext) -> None:
        self._folder = DeltaFolder(folder, form_of_mode(values["mode"], context))
        self.name = self._folder.name
        self.bounds = bounds_of(values)
        self._context = context
        self._app = app_of(context.key)
        self._number = 0
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0

    def open(self) -> Place | None:
        added = self._folder.open()
        if added:
            self._context.say(f"{self.name}: {columns_text(added)} new")
        number = self._folder.table.transaction_version(self._app)
        self._number = number or 0
        if number is None and self._context.images is not None:
            self._check_one_state()
        return None if number is None else self._place(number)

    def write(self, batch: Rows) -> int:
        arrow = (batch if self._context.images is None else IdentifiedImages(batch)).to_arrow()
        self._held.append(arrow)
        self._bytes += arrow.nbytes
        return self._bytes

    def commit(self, before: Place | None, behind: Place) -> None:
        rows = pa.Table.from_batches(self._held) if self._held else None
        number = self._number + 1
        self._folder.append(rows, self._app, number, text_of(self._app, number, behind))
        self._number = number
        self.settled()

    def settled(self) -> None:
        self._held, self._bytes = [], 0

    def close(self) -> None:
        self.settled()

    def _check_one_state(self) -> None:
        other = other_images(self._folder.table.history(), self._context.key)
        if other is not None:
            raise RefusedError(
                f"{self.name} has images of another state, which those of this one do not go on from",
                expected=f"those of {self._app}",
                found=other,
                remedy="Name another folder.",
            )

    def _place(self, number: int) -> Place:
        table = self._folder.table
        place = find(table.history(_NEWEST), self._app, number) or find(table.history(), self._app, number)
        if place is None:
            raise RefusedError(
                f"{self.name} has committed for consumer {self._context.key.consumer} of node "
                f"{self._context.key.node}, and the commit that says how far is not in its log any more",
                expected=f"commit {number} of {self._app}",
                found="none (logs are cleaned after delta.logRetentionDuration)",
                remedy="Begin anew with another consumer, at --from a position that you know.",
            )
        return place
