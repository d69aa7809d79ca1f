"""Forgetting in all partitions of a state, some at a time, as far as all nodes were read. Knows no clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from tailer.images.forgetting import LEAST_SECONDS, Forgotten, forget_in
from tailer.images.partition import Partition
from tailer.images.settings import Settings
from tailer.images.store import Store, number_of
from tailer.images.tables import KnownTable, Tables

NO_GC_GRACE: Final[Mapping[str, int]] = MappingProxyType({})
"""Nobody tells how long deletions are kept."""

_GC_GRACE: Final = 864_000
"""A server's default (schema/TableParams.java), in seconds."""
_READ: Final = b"read"
_FORGOT: Final = b"forgot"


class ForgettingByTurns:
    """`nodes`: those that are followed. `read_past`, `forgot`: see `Merger`."""

    def __init__(self, store: Store, tables: Tables, nodes: Sequence[str], settings: Settings) -> None:
        self._store = store
        self._tables = tables
        self._nodes = frozenset(nodes)
        self._settings = settings
        self._at: tuple[str, bytes] = ("", b"")
        self.read_past = number_of(store.meta(_READ))
        self.forgot = number_of(store.meta(_FORGOT))

    def forget(
        self, second: int, read_past: Mapping[str, int], most: int | None, gc_grace: Mapping[str, int]
    ) -> Forgotten:
        """See `Merger.forget`; `most` partitions at once."""
        told = Forgotten()
        read = min(second, min((read_past.get(node, 0) for node in {*self._nodes, *read_past}), default=0))
        if read > self.read_past:
            self.read_past = read
            self._store.put_meta(_READ, read.to_bytes(8, "big"))
        for table, name in self._next(most, told):
            own = self._settings.gc_grace_seconds
            grace = gc_grace.get(table.id, _GC_GRACE) if own is None else own
            before = read - max(grace, LEAST_SECONDS)
            if before > (table.facts.forgotten or 0):
                table = self._tables.keep(msgspec.structs.replace(table.facts, forgotten=before))
            expirations = self._settings.expirations
            part = Partition(self._store, table, name, second, self.read_past, expirations=expirations)
            forget_in(part, before, told)
            part.save()
        if told.facts and read > self.forgot:
            self.forgot = read
            self._store.put_meta(_FORGOT, read.to_bytes(8, "big"))
        return told

    def _next(self, most: int | None, told: Forgotten) -> Iterator[tuple[KnownTable, bytes]]:
        """The next partitions of all tables, behind those of the call before."""
        begun, after = self._at
        looked = 0
        for table in self._tables:
            # What an earlier definition shows of a row must stay until its image is given.
            if table.id < begun or table.facts.redefined is not None:
                continue
            name = self._store.next_partition(table.id, after if table.id == begun else b"")
            while name is not None:
                if looked == most:
                    return
                looked += 1
                self._at = (table.id, name)
                yield self._tables.of(table.id), name
                name = self._store.next_partition(table.id, name)
        self._at = ("", b"")
        told.done = True
