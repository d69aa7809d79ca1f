"""`tailer.images` as histories drive it: with the state in memory, and every entry by its own call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tailer.images import Merger, Settings
from tailer.images.memory import MemoryStore
from tailer.rebuild import Table
from tailer.rebuild.changes import row_place
from tailer.rebuild.table import plan_of
from tailer.schema.model import Column, TableDefinition, TypeField
from tests.helpers.images.parts import keys_of
from tests.helpers.images.tables import FIELDS, Key, ModelTable

DUE_AT_ONCE = 3
"""Rows whose expiry is asked for by one call: few, so that there are several calls."""


def table_of(table: ModelTable) -> Table:
    """The definition as the tail would have it."""
    keys = [Column("k", "partition_key", "int", 0)]
    keys += [Column(name, "clustering", "int", at, desc=desc) for at, (name, desc) in enumerate(table.clustering)]
    data = [
        Column(
            column.name,
            "static" if column.static else "regular",
            column.type,
            dropped=column.name in table.dropped,
            dropped_time=table.drops.get(column.name),
            added_time=max(table.drops.values()) + 1 if column.name in table.drops.keys() - table.dropped else None,
        )
        for column in table.columns
    ]
    types = {"pair": (TypeField(FIELDS[0], "int"), TypeField(FIELDS[1], "text"))}
    id = table.id.replace("-", "")
    made = TableDefinition(id, "ks", table.name, (*keys, *data), cdc=True, counter=table.counts, types=types)
    return Table.of(made)


class Merged:
    """One merger. `store`: its state."""

    def __init__(self, table: ModelTable, nodes: list[str], whole: bool, now_us: int, **settings: Any) -> None:
        self.store = MemoryStore()
        self.nodes = nodes
        self.settings = Settings(started_us=now_us, **settings)
        self.table = table
        self.merger = Merger(self.store, nodes, self.settings)
        assert self.merger.define(table_of(table), created=whole, cdc=True, now_us=now_us) == []

    def define(self, table: ModelTable, now_us: int) -> list[Any]:
        return self.merger.define(table_of(table), created=False, cdc=True, now_us=now_us)

    def entry(self, changes: list[dict[str, Any]], now_us: int) -> list[Any]:
        return self.merger.entry(changes, now_us)

    def expire(self, now_us: int) -> list[Any]:
        images = []
        while self.merger.due(now_us):
            images += self.merger.expire(now_us, DUE_AT_ONCE)
        return images

    def forget(self, now_us: int, read_past: Mapping[str, int]) -> None:
        while not self.merger.forget(now_us, read_past, partitions=1).done:
            pass

    def lost(self, now_us: int) -> None:
        self.merger.lost(None, now_us)

    def late_facts(self) -> int:
        return self.merger.late_facts

    def opened_anew(self) -> None:
        """As after a restart: all that is known is in the store."""
        self.merger = Merger(self.store, self.nodes, self.settings)

    def partitions(self) -> set[int]:
        """Those of which anything is kept."""
        return {int.from_bytes(name[-4:], "big") for name, _, _ in self.held()}

    def kept_rows(self) -> set[tuple[int, tuple[int, ...]]]:
        """Of tables whose clustering columns are ints: rows of which anything is kept."""
        return {(int.from_bytes(name[-4:], "big"), self._clustering(row)) for name, row, _ in self.held() if row}

    def _clustering(self, row: bytes) -> tuple[int, ...]:
        plan, names = plan_of(table_of(self.table)), [name for name, _ in self.table.clustering]
        texts = {key: json.dumps(dict(zip(names, key, strict=True))) if names else None for key in keys_of(self.table)}
        return next(key for key, text in texts.items() if row_place(plan, '{"k":1}', text)[1] == row)

    def shown(self, k: int, key: Key) -> tuple[bool, str | None]:
        """What the merger tells of one row: whether it lives, and its JSON."""
        static = isinstance(key, str)
        names = [name for name, _ in self.table.clustering]
        text = json.dumps(dict(zip(names, key, strict=True))) if names and not static else None
        known = self.merger.known(self.table.id, json.dumps({"k": k}), text, static=static)
        return known.lives, known.shown

    def held(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Partition, row key and state of all that is kept; the empty row key is the partition's own."""
        id = self.table.id.replace("-", "")
        name = self.store.next_partition(id, b"")
        while name is not None:
            yield from ((name, row, value) for row, value in self.store.scan(id, name, b"", b"\xff" * 40))
            name = self.store.next_partition(id, name)
