"""The table `cdc_tail_tables`: which table keeps which life of which source table. Every call is inside a transaction.

A life begins when a source table is created, and ends when it is dropped. A table that is created again has a new life,
with another id or with the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from tailer.schema.model import TableDefinition
from tailer.sinks.database.names import spelled
from tailer.sinks.database.positions import NAME as POSITIONS
from tailer.sinks.database.store import Store
from tailer.sinks.database.waiting import NAME as WAITING
from tailer.sinks.outlet import OutletKey
from tailer.typed_decode import decode_json
from tailer.versions import check_version, decoding

NAME: Final = "cdc_tail_tables"
OURS: Final = (POSITIONS, NAME, WAITING)
"""Tables of ours beside those that are written to."""
VERSION: Final = 1
"""Of what is recorded of a table (`KeptLife.version`)."""

_COLUMNS: Final = "(target {text} NOT NULL PRIMARY KEY, source {text} NOT NULL, known {text} NOT NULL)"


_REMEDY: Final = "Restore the row, or begin anew: another consumer and tables of another name (--into)."


class KeptLife(msgspec.Struct, frozen=True):
    """What is recorded of a kept table.

    `id`: of the source table, "" where the table waits for its next life. `into`: as the run was given it. `base`: the
    name that the newest life has. `number`: of the lives of one name, the first has 1. `ended`: the source table was
    dropped, or has a newer life; `late`: the consumers that had not reported that yet. `left`: by id the same of lives
    whose rows are kept nowhere. `keepers`: the consumers that write the table.

    `definition`: by which the table was written last. `passed`: digests of all definitions that it was written by, in
    order; `at`: how far in these each consumer is. `version` 0: of a program that recorded none.
    """

    source: str
    id: str
    into: str
    gone: tuple[str, ...] = ()
    base: str = ""
    number: int = 1
    keepers: tuple[OutletKey, ...] = ()
    ended: bool = False
    late: tuple[OutletKey, ...] = ()
    left: dict[str, tuple[OutletKey, ...]] = {}
    definition: TableDefinition | None = None
    passed: tuple[str, ...] = ()
    at: dict[str, int] = {}
    version: int = 0


class _Form(msgspec.Struct):
    version: int = 0


class TablesKept:
    """`schema`: what stands before the names of its tables."""

    def __init__(self, store: Store, schema: str) -> None:
        self._store = store
        self._plain = f"{schema}{NAME}"
        self._table = spelled(self._plain)
        self._known: dict[str, KeptLife] = {}
        self._texts: dict[str, str] = {}

    def make(self) -> None:
        """Make it if it is not there, and read it."""
        if not self._store.columns(self._plain):
            self._store.run(f"CREATE TABLE {self._table} {_COLUMNS.format(text=self._store.types['text'])}")
        self.read()

    def read(self) -> None:
        """What is recorded now: another process may share the tables. RefusedError where a later version wrote it."""
        found = dict(self._store.ask(f"SELECT target, known FROM {self._table}"))
        for target, text in found.items():
            if self._texts.get(target) != text:
                with decoding(f"{self._plain} of {self._store.name}", file=f"target {target}", remedy=_REMEDY):
                    check_version(decode_json(text, _Form).version, VERSION, f"{self._plain} of {self._store.name}")
                    self._known[target] = _current(target, decode_json(text, KeptLife))
        self._known = {target: self._known[target] for target in found}
        self._texts = found

    def __iter__(self) -> Iterator[tuple[str, KeptLife]]:
        return iter(list(self._known.items()))

    def get(self, target: str) -> KeptLife | None:
        """The life that a table keeps."""
        return self._known.get(target)

    def lives(self, into: str, base: str) -> dict[str, KeptLife]:
        """The lives of one source table, by the names of their tables."""
        return {target: life for target, life in self._known.items() if life.into == into and life.base == base}

    def put(self, target: str, life: KeptLife) -> None:
        """Record a life, new or in place of what was recorded of the table."""
        life = msgspec.structs.replace(life, version=VERSION)
        if self._known.get(target) == life:
            return
        mark, text = self._store.mark, msgspec.json.encode(life).decode()
        self._store.run(
            f"INSERT INTO {self._table} (target, source, known) VALUES ({mark}, {mark}, {mark}) "
            f"ON CONFLICT (target) DO UPDATE SET source = excluded.source, known = excluded.known",
            (target, life.source, text),
        )
        self._known[target], self._texts[target] = life, text

    def remove(self, target: str) -> None:
        """Record nothing of a table any more."""
        self._store.run(f"DELETE FROM {self._table} WHERE target = {self._store.mark}", (target,))
        del self._known[target], self._texts[target]


def _current(target: str, life: KeptLife) -> KeptLife:
    if life.version:
        return life
    # Before version 1 there was one table for all lives, emptied when one ended.
    left: dict[str, tuple[OutletKey, ...]] = dict.fromkeys(life.gone, ())
    passed = ("",) if life.id else ()
    return msgspec.structs.replace(life, base=target, left=left, gone=(), passed=passed)
