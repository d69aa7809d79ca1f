"""Which table of a database keeps which life of a source table: where an image belongs, and what becomes of a table
when its life ends. Every call is inside a transaction. Knows no kind of database.

Several processes may keep one table, each the images of other tokens, and one may lag behind the others. A life is
known by the table id, so what a late process still writes goes to the life that it is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from tailer.errors import SinkError
from tailer.schema.table_ids import created_before
from tailer.sinks.database.names import beside, one_of, shortened, spelled, with_hash
from tailer.sinks.database.positions import ELSEWHERE, KeptByAnotherError, Positions
from tailer.sinks.database.store import Store
from tailer.sinks.database.tables_kept import OURS, KeptLife, TablesKept
from tailer.sinks.image_node import apart
from tailer.sinks.outlet import OutletKey

STATIC: Final = "_static"


class Lives:
    """Of one consumer. `keeps_earlier`: the table of a life that ended is renamed; else it is emptied."""

    def __init__(
        self, store: Store, known: TablesKept, positions: Positions, into: str, key: OutletKey, *, keeps_earlier: bool
    ) -> None:
        self._store, self._known, self._positions = store, known, positions
        self._into, self._key = into, key
        self._keeps_earlier = keeps_earlier

    def base_of(self, keyspace: str, table: str) -> str:
        """The name of the table that keeps the newest life of a source table. A pattern can give several source tables
        one name (SQLite and DuckDB ignore case): the first one has it, each other one the name with a hash of its own.
        """
        source = f"{keyspace}.{table}"
        for _, life in self._known:
            if life.source == source and life.into == self._into:
                return life.base
        name = shortened(one_of(self._into, keyspace, table), self._store.name_limit)
        if "{" in self._into and self._is_taken(name, source):
            return with_hash(name, source, self._store.name_limit)
        return name

    def statics_of(self, target: str) -> str:
        """The table beside a kept one that has its static rows."""
        return self._statics(target, self._names())

    def _names(self) -> frozenset[str]:
        """The kept tables, as the database tells names apart."""
        return frozenset(self._fold(target) for target, _ in self._known)

    def _statics(self, target: str, names: frozenset[str]) -> str:
        name = shortened(target + STATIC, self._store.name_limit)
        return with_hash(name, name, self._store.name_limit) if self._fold(name) in names else name

    def _is_taken(self, name: str, source: str) -> bool:
        """Whether the name is that of another source table, of its static rows, or of a table of ours."""
        others, names = {target: life for target, life in self._known if life.source != source}, self._names()
        # A table that gets its first static column later finds the name taken, and chooses another one.
        statics = (self._statics(target, names) for target, life in others.items() if _has_statics(life))
        taken = (*others, *statics, *(beside(self._into, own) for own in OURS))
        return self._fold(name) in map(self._fold, taken)

    def _fold(self, name: str) -> str:
        return name.casefold() if self._store.folds else name

    def target_of(self, base: str, source: str, table_id: str) -> str | None:
        """The table that an image of this id belongs to; None where the life that it is of is kept nowhere."""
        self._check_source(base, source)
        current = self._known.get(base)
        target = self._life_of(base, table_id)
        if target is not None:
            self._keep(target)
            return target
        if current is not None and self._key in current.left.get(table_id, ()):
            return None
        return self._begin(base, source, table_id, current)

    def end(self, base: str, table_id: str) -> None:
        """This consumer reports that the source table was dropped."""
        target = self._life_of(base, table_id)
        life = None if target is None else self._known.get(target)
        if target is not None and life is not None:
            if life.ended:
                self._known.put(target, msgspec.structs.replace(life, late=_without(life.late, self._key)))
            else:
                self._end(base, life, _without(self._everyone(), self._key))
            return
        current = self._known.get(base)
        if current is not None and self._key in current.left.get(table_id, ()):
            left = {**current.left, table_id: _without(current.left[table_id], self._key)}
            self._known.put(base, msgspec.structs.replace(current, left=left))

    def _life_of(self, base: str, table_id: str) -> str | None:
        """Of lives with this id the oldest that this consumer has not reported the end of."""
        lives = self._known.lives(self._into, base)
        mine = [(life.number, target) for target, life in lives.items() if self._counts(life, table_id)]
        return min(mine)[1] if mine else None

    def _counts(self, life: KeptLife, table_id: str) -> bool:
        return life.id == table_id and (not life.ended or self._key in life.late)

    def _begin(self, base: str, source: str, table_id: str, current: KeptLife | None) -> str | None:
        if current is not None:
            self._check_owner(base, current)
        if current is not None and current.id and created_before(table_id, current.id):
            # A late process: nobody has seen this life before, and it has ended.
            return self._begin_ended(base, source, table_id, current)
        if current is not None and current.id:
            # Its end was not reported.
            self._end(base, current, self._everyone())
            current = self._known.get(base)
        number = 1 + max((life.number for life in self._known.lives(self._into, base).values()), default=0)
        begun = KeptLife(source, table_id, self._into, (), base, number, (self._key,))
        if current is not None:
            # An empty table of an earlier life waits under the name; its definition says what it has.
            begun = msgspec.structs.replace(begun, left=current.left, definition=current.definition)
        self._known.put(base, begun)
        return base

    def _begin_ended(self, base: str, source: str, table_id: str, current: KeptLife) -> str | None:
        if not self._keeps_earlier:
            left = {**current.left, table_id: self._everyone()}
            self._known.put(base, msgspec.structs.replace(current, left=left))
            return None
        target = self._store.free_table(base)
        life = KeptLife(source, table_id, self._into, (), base, 0, (self._key,), True, self._everyone())
        self._known.put(target, life)
        return target

    def _end(self, base: str, life: KeptLife, late: tuple[OutletKey, ...]) -> None:
        """The table of the life is renamed, or emptied; the name waits for the next life."""
        next_life = KeptLife(
            life.source, "", self._into, (), base, life.number + 1, life.keepers, left=life.left,
            definition=life.definition,
        )  # fmt: skip
        if self._keeps_earlier and self._store.columns(base) and (late or self._has_rows(base)):
            aside = self._store.free_table(base)
            if self._store.columns(self.statics_of(base)):
                self._store.rename_table(self.statics_of(base), self.statics_of(aside))
            self._store.rename_table(base, aside)
            self._known.put(aside, msgspec.structs.replace(life, ended=True, late=late))
        else:
            for table in (base, self.statics_of(base)):
                if self._store.columns(table):
                    self._store.run(f"DELETE FROM {spelled(table)}")
            next_life = msgspec.structs.replace(next_life, left={**life.left, life.id: late})
        self._known.put(base, next_life)

    def _has_rows(self, base: str) -> bool:
        return bool(self._store.ask(f"SELECT 1 FROM {spelled(base)} LIMIT 1"))

    def _keep(self, target: str) -> None:
        life = self._known.get(target)
        assert life is not None, "a life that was found"
        self._check_owner(target, life)
        if self._key in life.keepers:
            return
        if not self._store.columns(target):
            # Dropped together with the consumers that kept it.
            life = msgspec.structs.replace(life, keepers=(), definition=None, passed=(), at={})
        self._known.put(target, msgspec.structs.replace(life, keepers=(*life.keepers, self._key)))

    def _everyone(self) -> tuple[OutletKey, ...]:
        """This consumer, and the processes of other tokens beside it."""
        return (self._key, *(key for key in self._positions.others() if apart(key.node, self._key.node)))

    def _check_owner(self, target: str, life: KeptLife) -> None:
        others = self._positions.others()
        for owner in others if life.version == 0 else [key for key in life.keepers if key in others]:
            if not apart(owner.node, self._key.node):
                raise self._positions.refused(target, owner, self._advice(life.source))

    def _check_source(self, base: str, source: str) -> None:
        for target, life in self._known:
            own = target == base and life.source == source and life.into == self._into
            if own or self._fold(target) != self._fold(base):
                continue
            if life.source != source or target != base:
                raise SinkError(
                    f"images of {source} for the table {base}, which is kept as {life.source} is",
                    expected=f"images of {life.source}",
                    remedy="Name one table of the source with --table; or give --into '{keyspace}_{table}', which is "
                    "a table for each, and another --consumer.",
                )
            raise KeptByAnotherError(
                f"table {base} of {self._store.name} is kept by another run, under --into {life.into}",
                remedy=self._advice(source),
            )

    def _advice(self, source: str) -> str:
        if "{" not in self._into:
            return ELSEWHERE
        return f"Leave the table out (--exclude {source}), or name the others with --table. {ELSEWHERE}"


def _has_statics(life: KeptLife) -> bool:
    columns = () if life.definition is None else life.definition.data_columns
    return any(column.kind == "static" and not column.dropped for column in columns)


def _without(keys: Sequence[OutletKey], key: OutletKey) -> tuple[OutletKey, ...]:
    return tuple(each for each in keys if each != key)
