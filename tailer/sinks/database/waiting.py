"""The table `cdc_tail_waiting`: images of tables that need a person before they can be written. Every call is inside a
transaction.

They are written to it in the transaction that moves the position past them, and stay in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from tailer.sinks.database.names import beside, spelled
from tailer.sinks.database.store import Store
from tailer.sinks.outlet import OutletKey, TableWaits
from tailer.typed_decode import decode_json
from tailer.versions import check_version, decoding

NAME: Final = "cdc_tail_waiting"
VERSION: Final = 1
"""Of the form of a row; each row has it."""
MOST_IMAGES: Final = 1_000_000
"""Of one source table; then the run ends."""
MOST_BYTES: Final = 256 << 20
"""The same of their bytes, without the first one."""

_COLUMNS: Final = """(folder {text} NOT NULL, node {text} NOT NULL, consumer {text} NOT NULL, source {text} NOT NULL,
 number {whole} NOT NULL, version {whole} NOT NULL, since {whole} NOT NULL, bytes {whole} NOT NULL,
 reason {text} NOT NULL, image {text} NOT NULL,
 PRIMARY KEY (folder, node, consumer, source, number))"""
_AT_ONCE: Final = 2_000
_REMEDY: Final = "Restore the rows, or begin anew: another consumer and tables of another name (--into)."


class _End(NamedTuple):
    number: int
    version: int
    since: int
    bytes: int
    reason: str


class Waiting:
    """Of one consumer. `table`: beside which the table is.

    `number` counts the images of a source table, `bytes` is the size of all of them up to this one: how many wait is
    told by the first and the last row, however many there are.
    """

    def __init__(self, store: Store, table: str, key: OutletKey, wall: Callable[[], float] = time.time) -> None:
        self._store, self._wall = store, wall
        self._plain = beside(table, NAME)
        self._table = spelled(self._plain)
        self._key = key
        self._what = f"{self._plain} of {store.name}"

    def stopped(self) -> dict[str, TableWaits]:
        """The source tables whose images wait. RefusedError where a later version wrote one."""
        if not self._store.columns(self._plain):
            return {}
        found: dict[str, TableWaits] = {}
        source = self._next_source("")
        while source is not None:
            first, last = self._end(source, "ASC"), self._end(source, "DESC")
            assert first is not None, "a source table that has images"
            assert last is not None, "a source table that has images"
            check_version(last.version, VERSION, self._what)
            found[source] = TableWaits(source, last.number - first.number + 1, float(first.since), last.reason)
            source = self._next_source(source)
        return found

    def put(self, source: str, reason: str, images: Sequence[Mapping[str, Any]]) -> bool:
        """Let images wait behind those that do; whether there is room for them."""
        if not self._store.columns(self._plain):
            types = {"text": self._store.types["text"], "whole": self._store.types["int64"]}
            self._store.run(f"CREATE TABLE {self._table} {_COLUMNS.format(**types)}")
        first, last = self._end(source, "ASC"), self._end(source, "DESC")
        number, size = (0, 0) if last is None else (last.number, last.bytes)
        texts = [msgspec.json.encode(image).decode() for image in images]
        taken, freed = (0, 0) if first is None else (first.number - 1, first.bytes)
        added = sum(len(text.encode()) for text in texts)
        if number - taken + len(texts) > MOST_IMAGES or size - freed + added > MOST_BYTES:
            return False
        marks, now = ", ".join([self._store.mark] * 10), int(self._wall())
        for text in texts:
            number, size = number + 1, size + len(text.encode())
            self._store.run(
                f"INSERT INTO {self._table} VALUES ({marks})",
                (*self._key, source, number, VERSION, now, size, reason, text),
            )
        return True

    def _next_source(self, behind: str) -> str | None:
        asked = f"SELECT min(source) FROM {self._table} WHERE {self._where()} AND source > {self._store.mark}"
        found: str | None = self._store.ask(asked, (*self._key, behind))[0][0]
        return found

    def _end(self, source: str, order: Literal["ASC", "DESC"]) -> _End | None:
        """The first or the last image of a source table."""
        asked = (
            f"SELECT number, version, since, bytes, reason FROM {self._table} "
            f"WHERE {self._where()} AND source = {self._store.mark} ORDER BY number {order} LIMIT 1"
        )
        found = self._store.ask(asked, (*self._key, source))
        return _End(*found[0]) if found else None

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
        with decoding(self._what, file=f"images of {source}", remedy=_REMEDY):
            return [decode_json(text, dict[str, Any]) for _, text in found]

    def _where(self) -> str:
        return " AND ".join(f"{name} = {self._store.mark}" for name in OutletKey._fields)
