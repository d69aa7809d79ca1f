"""The table `cdc_tail_tables`: which tables are kept as which of the source. Every call is inside a transaction."""

from __future__ import annotations

from typing import Final

import msgspec

from tailer.errors import RefusedError, SinkError, UsageError
from tailer.sinks.database.names import check_table, spelled
from tailer.sinks.database.store import Store
from tailer.typed_decode import decode_json

NAME: Final = "cdc_tail_tables"

_COLUMNS: Final = "(target {text} NOT NULL PRIMARY KEY, source {text} NOT NULL, known {text} NOT NULL)"


class KnownTable(msgspec.Struct, frozen=True):
    """What is known of a table that is kept. `id`: of the source's table, which may be dropped and made again; `gone`:
    those before it. `into`: as the run was told. `dropped`: of columns that were dropped and are there again, when."""

    source: str
    id: str
    into: str
    gone: tuple[str, ...] = ()
    dropped: dict[str, int] = {}


class TablesKept:
    """`schema`: what stands before the names of its tables."""

    def __init__(self, store: Store, schema: str) -> None:
        self._store = store
        self._plain = f"{schema}{NAME}"
        self._table = spelled(self._plain)
        self._known: dict[str, KnownTable] = {}

    def make(self) -> None:
        """Make it if it is not there, and read it."""
        if not self._store.columns(self._plain):
            self._store.run(f"CREATE TABLE {self._table} {_COLUMNS.format(text=self._store.types['text'])}")
        self.read()

    def read(self) -> None:
        """What stands there now: another process may share the tables."""
        found = self._store.ask(f"SELECT target, known FROM {self._table}")
        self._known = {target: decode_json(known, KnownTable) for target, known in found}

    def names(self, into: str) -> list[str]:
        """The tables that a run has made."""
        return [name for name, known in self._known.items() if known.into == into]

    def of(self, target: str) -> KnownTable:
        return self._known[target]

    def claim(self, target: str, source: str, table_id: str, into: str) -> bool:
        """Whether the table is to be as the source's of that id: not of one that is gone. RefusedError, SinkError where
        it is another's."""
        known = self._known.get(target)
        if known is None:
            self._check_name(target, source)
            self._put(target, KnownTable(source, table_id, into))
            return True
        if known.source != source:
            raise SinkError(
                f"images of {source} for the table {target}, which is kept as {known.source} is",
                expected=f"images of {known.source}",
                remedy="Name one table of the source with --table, or say --into '{table}': a table for each.",
            )
        if known.into != into:
            raise RefusedError(
                f"table {target} of {self._store.name} is kept by another run, under --into {known.into}",
                remedy="Choose another table.",
            )
        return table_id not in known.gone

    def replaced(self, target: str, table_id: str) -> bool:
        """The table is from now on as the source's of this id; whether it was another one's until now."""
        known = self.of(target)
        if known.id == table_id:
            return False
        gone = (*known.gone, known.id) if known.id else known.gone
        self._put(target, msgspec.structs.replace(known, id=table_id, gone=gone, dropped={}))
        return True

    def gone(self, target: str, table_id: str) -> None:
        """The source's table is dropped."""
        known = self.of(target)
        self._put(target, msgspec.structs.replace(known, id="", gone=(*known.gone, table_id)))

    def dropped(self, target: str, columns: dict[str, int]) -> None:
        """When columns were dropped that are there again."""
        known = self.of(target)
        if known.dropped != columns:
            self._put(target, msgspec.structs.replace(known, dropped=columns))

    def _check_name(self, target: str, source: str) -> None:
        try:
            check_table(target)
        except UsageError as error:
            raise SinkError(
                f"a table {target!r} for {source}", expected="letters, digits and '_'", remedy="Leave it out (--table)."
            ) from error

    def _put(self, target: str, known: KnownTable) -> None:
        mark, text = self._store.mark, msgspec.json.encode(known).decode()
        self._store.run(
            f"INSERT INTO {self._table} (target, source, known) VALUES ({mark}, {mark}, {mark}) "
            f"ON CONFLICT (target) DO UPDATE SET known = excluded.known",
            (target, known.source, text),
        )
        self._known[target] = known
