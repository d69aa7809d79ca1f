"""An outlet that keeps tables of a database as the source's are, by images, and beside them the position.

A table of the source is one of the target. Static columns stand in each row of their partition, as SELECT shows them,
and in a table beside it, `NAME_static`. A table that the database refuses, or that another consumer keeps, is stopped
alone: its images wait in `cdc_tail_waiting`. Knows no kind of database.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tailer.errors import CdcError, SinkError, UsageError
from tailer.sinks.base import Rows
from tailer.sinks.database.in_hand import InHand
from tailer.sinks.database.keeper import Keeper
from tailer.sinks.database.lives import Lives
from tailer.sinks.database.names import beside
from tailer.sinks.database.positions import KeptByAnotherError
from tailer.sinks.database.store import Store
from tailer.sinks.database.tables_kept import TablesKept
from tailer.sinks.database.waiting import NAME as WAITING
from tailer.sinks.database.waiting import Waiting
from tailer.sinks.outlet import OutletContext, Place, TableWaits

RETRY_SECONDS: Final = 60.0
"""How often a run tries to write the images of a stopped table."""


class TableOutlet(InHand[dict[str, Any]]):
    """Of one state of images. `into`: the table, or a name with {keyspace} and {table} for several."""

    def __init__(
        self,
        store: Store,
        into: str,
        values: Mapping[str, Any],
        context: OutletContext,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(store, into, values, context)
        self._known = TablesKept(store, beside(into, ""))
        lives = Lives(
            store, self._known, self._positions, into, context.key, keeps_earlier=values["on_recreate"] == "keep"
        )
        self._waiting = Waiting(store, into, context.key)
        self._keeper = Keeper(store, lives, self._known, context)
        self._clock = clock
        self._stopped: dict[str, str] = {}
        """Why, by source table."""
        self._told: dict[str, TableWaits] = {}
        self._tried = clock()

    def open(self) -> Place | None:
        self._store.connect()
        self._keeper.forget()
        with self._store.transaction():
            self._store.alone(self._context.key)
            kept = self._positions.read()
            self._positions.make()
            self._known.make()
            self._check_same(kept, [])
            self._told = self._waiting.stopped()
            self._stopped = {source: each.reason for source, each in self._told.items()}
        self._go_on()
        return None if kept is None else kept.place

    def write(self, batch: Rows) -> int:
        rows = batch.to_arrow()
        self._held += rows.to_pylist()
        self._bytes += rows.nbytes
        return self._bytes

    def commit(self, before: Place | None, behind: Place) -> None:
        if self._stopped and self._clock() - self._tried >= RETRY_SECONDS:
            self._go_on()
        by_source: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for image in self._held:
            by_source[f"{image['keyspace']}.{image['table']}"].append(image)
        while True:
            try:
                said = self._transact(before, behind, by_source)
                break
            except _TableStoppedError as stop:
                self._keeper.forget()
                self._stopped[stop.source] = str(stop.error)
                self._context.say(
                    f"images of {stop.source} wait in {WAITING} of {self._store.name}; the other tables go on: "
                    f"{stop.error}"
                )
            except BaseException:
                self._keeper.forget()
                raise
        if self._stopped.keys() & by_source.keys():
            with self._store.transaction():
                self._told = self._waiting.stopped()
        for line in said:
            self._context.say(line)
        self.settled()

    def waiting(self) -> list[TableWaits]:
        """Which tables' images wait, as of the last commit."""
        return [self._told[source] for source in self._stopped if source in self._told]

    def report_end(self) -> None:
        """SinkError where a table is stopped: the run must not end as if all were well."""
        if self._stopped:
            reasons = " ".join(f"{source}: {reason}" for source, reason in self._stopped.items())
            raise SinkError(
                f"the images of {', '.join(self._stopped)} wait in {WAITING} of {self._store.name}",
                remedy=f"{reasons} They are written when the run begins again. To give them up, leave the table out "
                f"(--exclude) and delete its rows of {WAITING}.",
            )

    def _transact(
        self, before: Place | None, behind: Place, by_source: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> list[str]:
        with self._store.transaction():
            self._move(before, behind)
            self._known.read()
            said: list[str] = []
            for source, images in by_source.items():
                reason = self._stopped.get(source)
                if reason is None:
                    said += self._written(source, images)
                elif not self._waiting.put(source, reason, images):
                    raise SinkError(
                        f"{WAITING} of {self._store.name} has as many images of {source} as may wait", remedy=reason
                    )
        return said

    def _written(self, source: str, images: Sequence[Mapping[str, Any]]) -> list[str]:
        try:
            return self._keeper.take(source, images)
        except Exception as error:
            found = error if isinstance(error, CdcError) else self._store.documented(error)
            # Without a pattern there is no other table that could go on.
            alone = (SinkError, UsageError, *((KeptByAnotherError,) if "{" in self._table else ()))
            if not isinstance(found, alone):
                raise
            raise _TableStoppedError(source, found) from error

    def _go_on(self) -> None:
        """Write the images of stopped tables, where a person has done what was to be done."""
        self._tried = self._clock()
        for source in list(self._stopped):
            try:
                with self._store.transaction():
                    self._store.alone(self._context.key)
                    self._known.read()
                    count, said = 0, list[str]()
                    while images := self._waiting.take(source):
                        count += len(images)
                        said += self._written(source, images)
            except _TableStoppedError as stop:
                self._keeper.forget()
                self._stopped[source] = str(stop.error)
                self._context.say(f"images of {source} still wait in {WAITING} of {self._store.name}: {stop.error}")
            else:
                del self._stopped[source]
                for line in said:
                    self._context.say(line)
                self._context.say(
                    f"table of {source} in {self._store.name} goes on: {count} images that waited are written"
                )


class _TableStoppedError(Exception):
    """One table cannot be written: the transaction is undone, and done again without it."""

    def __init__(self, source: str, error: CdcError) -> None:
        super().__init__(source)
        self.source, self.error = source, error
