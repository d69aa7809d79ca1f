"""Forgetting in a bucket: when something dies in a partition, it is looked at again when nothing older comes any more.

How far each node was read no task knows: the time for which deletions are kept is the user's word for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from tailer.images import Image
from tailer.images.forgetting import Forgotten, forget_in
from tailer.images.merged_tables import SECOND
from tailer.images.partition import Partition
from tailer.images.tables import Tables
from tailer.rebuild.changes import changed, partition_name
from tailer.rebuild.table import Plan
from tailer.spark.images.copies import Change
from tailer.spark.images.map_store import MapStore

_DELETIONS: Final = ("delete_row", "delete_range", "delete_partition")


class Aging:
    """Of one bucket, for one batch at `second`. `after`: how many seconds what is dead is kept."""

    def __init__(self, store: MapStore, second: int, after: int) -> None:
        self._store = store
        self._second = second
        self._after = after
        self._plan: Plan | None = None

    def altered(self) -> None:
        """The table has another definition."""
        self._plan = None

    def note(self, rows: Iterable[Change]) -> None:
        """Have the partition looked at again if rows of one entry for it let something die, now or later."""
        dying = [row for row in rows if _may_die(row)]
        if not dying:
            return
        plan = self._plan = self._plan or next(iter(Tables(self._store))).plan
        for made in filter(None, (changed(row, plan) for row in dying)):
            ends = [fact.stamp.expires_at or 0 for fact in made.facts]
            self._store.remind(max(self._second, *ends) + self._after + 1, made.partition)

    def ended(self, images: Iterable[Image]) -> None:
        """The same of rows that a TRUNCATE ended, a column that was dropped, or a server that did not have them."""
        keys = {
            (image.token, image.partition_key)
            for image in images
            if image.after is None and image.token is not None and image.partition_key is not None
        }
        if not keys:
            return
        plan = self._plan = self._plan or next(iter(Tables(self._store))).plan
        for name in sorted(partition_name(plan, token, key) for token, key in keys):
            self._store.remind(self._second + self._after + 1, name)

    def forget(self, *, expirations: bool) -> Forgotten:
        """Forget what is dead and came long enough ago, in the partitions whose time has come."""
        told = Forgotten()
        names, read = self._store.reminded(self._second), self._second - self._after
        tables = Tables(self._store)
        for table in tables if names else ():
            # What comes of before that from now on is late.
            table = tables.keep(msgspec.structs.replace(table.facts, forgotten=read))
            for name in names:
                part = Partition(self._store, table, name, self._second, read, expirations=expirations)
                forget_in(part, read, told)
                self._remind_again(part)
                part.save()
        return told

    def _remind_again(self, part: Partition) -> None:
        """Of what may go later: a row that is guessed until a server or a write tells; the number of the last image."""
        if part.guessed:
            self._store.remind(self._second + self._after + 1, part.name)
        elif part.header.seq and not part.header.facts and not any(row.facts for row in part.every_row()):
            self._store.remind(part.header.seq // SECOND + self._after + 1, part.name)


def _may_die(row: Change) -> bool:
    if row["op"] in _DELETIONS or row["ttl"] is not None or row["cells"] is not None:
        return True
    # A column that is set to null; a text with that word in it costs a look.
    return row["columns"] is not None and "null" in row["columns"]
