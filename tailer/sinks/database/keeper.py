"""Images of source tables, written into their kept tables: each by the definition and into the life that it is of.

Every call is inside a transaction. Knows no kind of database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from tailer.errors import SinkError, UsageError
from tailer.schema.migration import migration_steps
from tailer.schema.model import TableDefinition
from tailer.sinks.database.columns import ValueKind, columns_text
from tailer.sinks.database.kept_table import KeptTable
from tailer.sinks.database.lives import Lives
from tailer.sinks.database.migrate import Migration
from tailer.sinks.database.names import check_table
from tailer.sinks.database.source_table import SourceTable
from tailer.sinks.database.store import Store
from tailer.sinks.database.tables_kept import KeptLife, TablesKept
from tailer.sinks.outlet import OutletContext

Image = Mapping[str, Any]


class Keeper:
    """Of one consumer. What it remembers of tables is forgotten when a transaction fails, or after a connection."""

    def __init__(self, store: Store, lives: Lives, known: TablesKept, context: OutletContext) -> None:
        self._store, self._lives, self._known, self._context = store, lives, known, context
        self._ready: dict[str, tuple[TableDefinition | None, KeptTable]] = {}
        self._said: list[str] = []

    def forget(self) -> None:
        """The next images ask the database anew what tables have."""
        self._ready = {}

    def take(self, source: str, images: Sequence[Image]) -> list[str]:
        """Images of one source table in their order: all of it is written when this returns. Lines for the user."""
        self._said = []
        base = self._lives.base_of(images[0]["keyspace"], images[0]["table"])
        self._check_name(base, source)
        kept: KeptTable | None = None
        last = None
        for image in images:
            op, table_id = image["op"], image["table_id"]
            if op in ("drop", "schema") or table_id != last:
                if kept is not None:
                    kept.flush()
                last, kept = None, None
            if op == "drop":
                self._drop(base, table_id)
                continue
            if last is None:
                target = self._lives.target_of(base, source, table_id)
                kept = None if target is None else self._kept(target, image)
                last = table_id
            if op != "schema" and kept is not None:
                kept.take(image)
        if kept is not None:
            kept.flush()
        return self._said

    def _drop(self, base: str, table_id: str) -> None:
        self._lives.end(base, table_id)
        self._ready = {}
        life = self._known.get(base)
        if life is not None and not life.id and life.definition is not None and not self._store.columns(base):
            # Whoever asks finds a table without rows.
            self._migrate(base, None, life.definition, recreated=True)

    def _kept(self, target: str, image: Image) -> KeptTable:
        life = self._known.get(target)
        assert life is not None, "the table of a life"
        ready = self._ready.get(target)
        behind = life.at.get(self._me, -1) < len(life.passed) - 1
        is_same = bool(life.passed) and not behind and ready is not None and ready[0] == life.definition
        if ready is not None and is_same and image["op"] != "schema":
            return ready[1]
        history = self._context.history(image["table_id"].replace("-", ""))
        own = self._own(image, history)
        if life.passed and life.definition is None:
            # Version 0 recorded none: the table was written by the definition that is in force before this image.
            life = msgspec.structs.replace(life, definition=own, passed=(_digest(own),))
        wanted, passed, at = self._wanted(life, own, image, history)
        if life.passed and not self._store.columns(target):
            raise SinkError(
                f"table {target} of {self._store.name} is gone, and the position of consumer "
                f"{self._context.key.consumer} has moved on",
                remedy="Restore it, or begin anew with another consumer.",
            )
        if wanted != life.definition or ready is None:
            self._migrate(target, life.definition, wanted, recreated=not life.passed)
        self._known.put(
            target, msgspec.structs.replace(life, definition=wanted, passed=passed, at={**life.at, self._me: at})
        )
        foreign: frozenset[str] = frozenset()
        other_keys = False
        if at < len(passed) - 1:
            # Without an ALTER of its own, this process has no history.
            upto = [definition for seq, definition in history if seq <= image["seq"]]
            mine = upto[-1] if upto else own
            foreign = _differing(mine, wanted)
            other_keys = any(step.rule == "rewrite_keys" for step in migration_steps(mine, wanted))
        source = self._source(wanted, foreign)
        made = KeptTable(self._store, target, self._lives.statics_of(target), source, other_keys=other_keys)
        self._ready[target] = (wanted, made)
        return made

    def _own(self, image: Image, history: Sequence[tuple[int, TableDefinition]]) -> TableDefinition:
        """The definition that is in force before an image."""
        before = [definition for seq, definition in history if seq < image["seq"]]
        if before or history:
            return before[-1] if before else history[0][1]
        newest = self._context.tables(image["table_id"].replace("-", ""))
        if newest is None:
            raise SinkError(f"no definition of {image['keyspace']}.{image['table']} is known, which has images")
        return newest

    def _wanted(
        self, life: KeptLife, own: TableDefinition, image: Image, history: Sequence[tuple[int, TableDefinition]]
    ) -> tuple[TableDefinition, tuple[str, ...], int]:
        """The definition that the table is written by from this image on; the digests of all there were, and how far in
        these this consumer is. Another consumer may have brought the table here before, or further. `own`: see `_own`.
        """
        passed, known = life.passed, life.definition
        if not passed or known is None:
            begun = dict(history).get(image["seq"], own) if image["op"] == "schema" else own
            return begun, (*passed, _digest(begun)), len(passed)
        at = life.at.get(self._me)
        if at is None:
            at = passed.index(_digest(own)) if _digest(own) in passed else len(passed) - 1
        if image["op"] != "schema":
            return known, passed, at
        begun = dict(history).get(image["seq"], own)
        digest = _digest(begun)
        if digest in passed[at + 1 :]:
            return known, passed, passed.index(digest, at + 1)
        if digest == passed[at]:
            return known, passed, at
        return begun, (*passed, digest), len(passed)

    @property
    def _me(self) -> str:
        return "/".join(self._context.key)

    def _migrate(self, target: str, old: TableDefinition | None, new: TableDefinition, *, recreated: bool) -> None:
        migration = Migration(self._store, target, self._lives.statics_of(target), self._source(new))
        added = migration.run(old, new, recreated=recreated)
        if added and old is not None and not recreated:
            self._said.append(f"table {target} of {self._store.name}: {columns_text(added)} new")

    def _source(self, definition: TableDefinition, without: frozenset[str] = frozenset()) -> SourceTable:
        decimals: ValueKind = "decimal" if "decimal" in self._store.types else "text"
        return SourceTable(definition, decimals, without, self._store.moment)

    def _check_name(self, base: str, source: str) -> None:
        try:
            check_table(base)
        except UsageError as error:
            raise SinkError(
                f"a table {base!r} for {source}", expected="letters, digits and '_'", found=base,
                remedy="Leave it out (--table).",
            ) from error  # fmt: skip


def _differing(own: TableDefinition, other: TableDefinition) -> frozenset[str]:
    """The columns whose values by one definition are not those by the other."""
    was = {column.name: (column.type, column.dropped_time) for column in own.data_columns if not column.dropped}
    return frozenset(c.name for c in other.data_columns if was.get(c.name) != (c.type, c.dropped_time))


def _digest(definition: TableDefinition) -> str:
    return blake2b(msgspec.json.encode(definition), digest_size=6).hexdigest()
