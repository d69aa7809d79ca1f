"""An outlet that keeps tables of a database as the source's are, by images, and beside them the position.

A table of the source is one of the target. Static columns stand in each row of their partition, as SELECT shows them,
and in a table beside it, `NAME_static`. Knows no kind of database.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from tailer.errors import SinkError
from tailer.sinks.base import Rows
from tailer.sinks.database.columns import columns_text
from tailer.sinks.database.in_hand import InHand
from tailer.sinks.database.kept_table import KeptTable
from tailer.sinks.database.names import beside, one_of
from tailer.sinks.database.source_table import SourceTable
from tailer.sinks.database.store import Store
from tailer.sinks.database.tables_kept import TablesKept
from tailer.sinks.outlet import OutletContext, Place


class TableOutlet(InHand[dict[str, Any]]):
    """Of one state of images. `into`: the table, or a name with {keyspace} and {table} for several."""

    def __init__(self, store: Store, into: str, values: Mapping[str, Any], context: OutletContext) -> None:
        super().__init__(store, into, values, context)
        self._known = TablesKept(store, beside(into, ""))

    def open(self) -> Place | None:
        self._store.connect()
        with self._store.transaction():
            self._store.alone(self._context.key)
            kept = self._positions.read()
            self._positions.make()
            self._positions.check_one_state()
            self._known.make()
            self._check_same(kept, self._known.names(self._table))
        return None if kept is None else kept.place

    def write(self, batch: Rows) -> int:
        rows = batch.to_arrow()
        self._held += rows.to_pylist()
        self._bytes += rows.nbytes
        return self._bytes

    def commit(self, before: Place | None, behind: Place) -> None:
        said: list[str] = []
        with self._store.transaction():
            self._move(before, behind)
            self._known.read()
            tables = self._fitted(said)
            for images in self._by_table():
                # One that was dropped and made again has another id.
                for table_id, some in groupby(images, lambda image: image["table_id"]):
                    tables[table_id].take(list(some))
        for line in said:
            self._context.say(line)
        self.settled()

    def _by_table(self) -> Iterator[list[dict[str, Any]]]:
        """The images in hand, of each table in their order."""
        found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for image in self._held:
            found[image["keyspace"], image["table"]].append(image)
        return iter(found.values())

    def _fitted(self, said: list[str]) -> dict[str, KeptTable]:
        """The tables of the images in hand, made or widened; by their ids in the source."""
        found: dict[str, KeptTable] = {}
        for image in self._held:
            table_id = image["table_id"]
            if table_id in found:
                continue
            name = one_of(self._table, image["keyspace"], image["table"])
            definition = self._context.tables(table_id.replace("-", ""))
            if definition is None:
                raise SinkError(f"no definition of {image['keyspace']}.{image['table']} is known, which has images")
            source = SourceTable(definition, "decimal" if "decimal" in self._store.types else "text")
            table = found[table_id] = KeptTable(self._store, name, source, definition, self._known)
            if self._known.claim(name, source.name, table_id, self._table):
                added = table.fit()
                if added:
                    said.append(f"table {name} of {self._store.name}: {columns_text(added)} new")
        return found
