"""The table `cdc_tail_waiting`: images of tables that need a person before they can be written. Every call is inside a
transaction.

They are written to it in the transaction that moves the position past them, and stay in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tailer.sinks.database.names import beside, spelled
from tailer.sinks.database.store import Store
from tailer.sinks.outlet import OutletKey, TableWaits
from tailer.versions import check_version

NAME: Final = "cdc_tail_waiting"
VERSION: Final = 1
"""Of the form of a row; each row has it."""
MOST_IMAGES: Final = 1_000_000
"""Of one source table; then the run ends."""
MOST_BYTES: Final = 256 << 20

_COLUMNS: Final = """(folder {text} NOT NULL, node {text} NOT NULL, consumer {text} NOT NULL, source {text} NOT NULL,
 number {whole} NOT NULL, version {whole} NOT NULL, since {whole} NOT NULL, bytes {whole} NOT NULL,
 reason {text} NOT NULL, image {text} NOT NULL,
 PRIMARY KEY (folder, node, consumer, source, number))"""
_AT_ONCE: Final = 2_000


class Waiting:
    """Of one consumer. `table`: beside which the table is."""

    def __init__(self, store: Store, table: str, key: OutletKey, wall: Callable[[], float] = time.time) -> None:
        self._store, self._wall = store, wall
        self._plain = beside(table, NAME)
        self._table = spelled(self._plain)
        self._key = key

    def stopped(self) -> dict[str, TableWaits]:
        """The source tables whose images wait. RefusedError where a later version wrote one."""
        if not self._store.columns(self._plain):
            return {}
        asked = (
            "SELECT source, count(*), min(since), min(reason), max(version) "
            f"FROM {self._table} WHERE {self._where()} GROUP BY source"
        )
        found: dict[str, TableWaits] = {}
        for source, count, since, reason, version in self._store.ask(asked, self._key):
            check_version(int(version), VERSION, f"{self._plain} of {self._store.name}")
            found[source] = TableWaits(source, int(count), float(since), reason)
        return found

    def put(self, source: str, reason: str, images: Sequence[Mapping[str, Any]]) -> bool:
        """Let images wait behind those that do; whether there is room for them."""
        if not self._store.columns(self._plain):
            types = {"text": self._store.types["text"], "whole": self._store.types["int64"]}
            self._store.run(f"CREATE TABLE {self._table} {_COLUMNS.format(**types)}")
        asked = (
            f"SELECT coalesce(max(number), 0), count(*), coalesce(sum(bytes), 0) FROM {self._table} "
            f"WHERE {self._where()} AND source = {self._store.mark}"
        )
        ((last, count, size),) = self._store.ask(asked, (*self._key, source))
        texts = [msgspec.json.encode(image).decode() for image in images]
        if count + len(texts) > MOST_IMAGES or size + sum(map(len, texts)) > MOST_BYTES:
            return False
        marks, now = ", ".join([self._store.mark] * 10), int(self._wall())
        for number, text in enumerate(texts, last + 1):
            self._store.run(
                f"INSERT INTO {self._table} VALUES ({marks})",
                (*self._key, source, number, VERSION, now, len(text), reason, text),
            )
        return True

    def take(self, source: str) -> list[dict[str, Any]]:
        """The next images, in order, which wait no more; empty behind the last one."""
        asked = (
            f"SELECT number, image FROM {self._table} WHERE {self._where()} AND source = {self._store.mark} "
            f"ORDER BY number LIMIT {_AT_ONCE}"
        )
        found = self._store.ask(asked, (*self._key, source))
        if found:
            self._store.run(
                f"DELETE FROM {self._table} WHERE {self._where()} AND source = {self._store.mark} "
                f"AND number <= {self._store.mark}",
                (*self._key, source, found[-1][0]),
            )
        return [msgspec.json.decode(text) for _, text in found]

    def _where(self) -> str:
        return " AND ".join(f"{name} = {self._store.mark}" for name in OutletKey._fields)
