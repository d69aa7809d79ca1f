"""The table `cdc_tail_positions`: how far each consumer's rows are in the tables beside it. Statements only."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from typing import Final, NamedTuple

from tailer.errors import RefusedError
from tailer.sinks.database.names import beside, spelled
from tailer.sinks.database.store import Store
from tailer.sinks.image_node import apart
from tailer.sinks.outlet import OutletKey, Place

NAME: Final = "cdc_tail_positions"
ELSEWHERE: Final = "Choose another --into and another --consumer."
"""The position that a consumer has here is of its `--into`: with another one alone it would be refused."""

_COLUMNS: Final = """(folder {text} NOT NULL, node {text} NOT NULL, consumer {text} NOT NULL, target {text} NOT NULL,
 position {text} NOT NULL, generation {whole} NOT NULL, program {text} NOT NULL, moved {text} NOT NULL,
 PRIMARY KEY (folder, node, consumer))"""


class KeptByAnotherError(RefusedError):
    """One table that somebody else keeps; the other tables of a run are not concerned."""


class Kept(NamedTuple):
    """What stands there under a key. `target`: the table that the rows are in."""

    place: Place
    target: str


class Positions:
    """The positions beside one table. Every call is inside a transaction."""

    def __init__(self, store: Store, table: str, key: OutletKey) -> None:
        self._store = store
        self._target = table
        self._plain = beside(table, NAME)
        self._table = spelled(self._plain)
        self._key = key

    def make(self) -> None:
        """Make the table if it is not there."""
        if not self._store.columns(self._plain):
            types = {"text": self._store.types["text"], "whole": self._store.types["int64"]}
            self._store.run(f"CREATE TABLE {self._table} {_COLUMNS.format(**types)}")

    def read(self) -> Kept | None:
        """What stands there; the table need not be."""
        if not self._store.columns(self._plain):
            return None
        asked = f"SELECT position, generation, target FROM {self._table} WHERE {self._where()}"
        for position, generation, target in self._store.ask(asked, self._key):
            return Kept(Place(position, generation), target)
        return None

    def others(self) -> list[OutletKey]:
        """The other consumers that write into this target, or into tables of the same pattern."""
        asked = f"SELECT folder, node, consumer FROM {self._table} WHERE target = {self._store.mark}"
        found = [OutletKey(*row) for row in self._store.ask(asked, (self._target,))]
        return [key for key in found if key != self._key]

    def check_one_state(self) -> None:
        """RefusedError where the table is another state's or log's, but for images of other tokens."""
        for other in self.others():
            if not apart(other.node, self._key.node):
                raise self.refused(self._target, other)

    def refused(self, table: str, owner: OutletKey, advice: str = ELSEWHERE) -> RefusedError:
        """The error of a table that another consumer keeps. `advice`: what to do first."""
        return KeptByAnotherError(
            f"table {table} of {self._store.name} is kept by another consumer, which the images of this state do not "
            "go on from",
            expected=f"images of consumer {owner.consumer} of the state {owner.folder}",
            found=f"consumer {self._key.consumer} of {self._key.folder}",
            remedy=f"{advice} Or end that consumer for good: drop the table and delete its row of {self._plain}.",
        )

    def move(self, before: Place | None, behind: Place) -> None:
        """Compare and set. RefusedError where something else than `before` stands there."""
        if not (self._begin(behind) if before is None else self._set(before, behind)):
            raise RefusedError(
                f"{self._store.name}: somebody else moved the position of consumer {self._key.consumer} of node "
                f"{self._key.node}",
                expected="none" if before is None else before.offset,
                found=self._who(),
                remedy="Is another run feeding it under the same consumer and node? Let one go on.",
            )

    def _who(self) -> str:
        asked = f"SELECT position, program, moved FROM {self._table} WHERE {self._where()}"
        found = self._store.ask(asked, self._key)
        return "none" if not found else "{} of {} at {}".format(*found[0])

    def _begin(self, behind: Place) -> bool:
        names = "folder, node, consumer, target, position, generation, program, moved"
        marks = ", ".join([self._store.mark] * 8)
        values = (*self._key, self._target, behind.offset, behind.generation, *_by_whom())
        done = f"INSERT INTO {self._table} ({names}) VALUES ({marks}) ON CONFLICT (folder, node, consumer) DO NOTHING"
        return self._store.run(done, values) == 1

    def _set(self, before: Place, behind: Place) -> bool:
        mark = self._store.mark
        changed = ", ".join(f"{name} = {mark}" for name in ("position", "generation", "program", "moved"))
        where = f"{self._where()} AND position = {mark} AND generation = {mark}"
        values = (behind.offset, behind.generation, *_by_whom(), *self._key, before.offset, before.generation)
        return self._store.run(f"UPDATE {self._table} SET {changed} WHERE {where}", values) == 1

    def _where(self) -> str:
        return " AND ".join(f"{name} = {self._store.mark}" for name in OutletKey._fields)


def _by_whom() -> tuple[str, str]:
    who = f"cdc-tail follow, process {os.getpid()} on {socket.gethostname()}"
    return who, datetime.now(UTC).isoformat(timespec="seconds")
