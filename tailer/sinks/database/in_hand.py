"""What outlets into a database have in common: what was written and is not committed, and the position beside it.

Knows no kind of database, and not what is in hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from tailer.errors import RefusedError
from tailer.sinks.database.positions import Kept, Positions
from tailer.sinks.database.store import Store
from tailer.sinks.outlet import OutletContext, Place
from tailer.sinks.outlet_options import bounds_of

T = TypeVar("T")


class InHand(Generic[T]):
    """`table`: into which the outlet writes, or a name with {keyspace} and {table} for several."""

    keeps_place = True

    def __init__(self, store: Store, table: str, values: Mapping[str, Any], context: OutletContext) -> None:
        self.name = f"table {table} of {store.name}"
        self.bounds = bounds_of(values)
        self._store, self._table, self._context = store, table, context
        # Where in a schema tables are is the same for all of them.
        self._positions = Positions(store, table, context.key)
        self._held: list[T] = []
        self._bytes = 0

    def settled(self) -> None:
        self._held, self._bytes = [], 0

    def close(self) -> None:
        self.settled()
        self._store.close()

    def _check_same(self, kept: Kept | None, tables: Iterable[str]) -> None:
        """A position is of tables: rows before it are in no others."""
        if kept is None:
            return
        if kept.target != self._table:
            raise RefusedError(
                f"{self._store.name}: consumer {self._context.key.consumer} feeds another table",
                expected=self._table,
                found=kept.target,
                remedy="Give this table a consumer of its own (--consumer).",
            )
        for table in tables:
            if not self._store.columns(table):
                raise RefusedError(
                    f"table {table} of {self._store.name} is gone, and the position of consumer "
                    f"{self._context.key.consumer} has moved on",
                    remedy="Restore it, or begin anew with another consumer.",
                )

    def _move(self, before: Place | None, behind: Place) -> None:
        """In the transaction of what is in hand: nobody else's run has moved on meanwhile, and this one does."""
        self._store.alone(self._context.key)
        self._positions.move(before, behind)
