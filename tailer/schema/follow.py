"""Follows `system_schema`: deltas in, definitions out.

Knows no files and no positions; `history` adds those. Everything here is plain data, so a state can be pickled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from tailer.schema.derive import column_ages, definition, gc_grace_of, layered_heading
from tailer.schema.merge import Base, KeyspaceRows
from tailer.schema.model import TableDefinition
from tailer.schema.rows import BASE_TS, IGNORED_KEYSPACES, TRACKED, Row, SchemaDelta

_NAMES = ("tables", "views")


class SchemaState:
    """The definitions that a log, and what was given beside it, tell so far.

    Rows merge by last write wins, so deltas may come in any order. What a CQL file or a server's response says of a
    table is a *base*: it is kept by the table's id, and merges with the log's rows of that id. Definitions never go
    away: a dropped table keeps its last one, marked `dropped`.
    """

    def __init__(self, ignored: frozenset[str] = IGNORED_KEYSPACES) -> None:
        self._ignored = ignored
        self._keyspaces: dict[str, KeyspaceRows] = {}
        self._bases: dict[tuple[str, str], dict[str, Base]] = {}
        self._newest_base: dict[tuple[str, str], str] = {}
        self._ids: dict[tuple[str, str], set[str]] = {}
        self._log_ids: dict[tuple[str, str], list[str]] = {}
        self._current: dict[tuple[str, str], str] = {}
        self._definitions: dict[str, TableDefinition] = {}
        self._gc_grace: dict[str, int] = {}
        self._durability: dict[str, Row] = {}
        self._told_gc_grace: Mapping[str, int] | None = None

    @property
    def definitions(self) -> Mapping[str, TableDefinition]:
        """Every definition known, by table id; dropped ones too."""
        return MappingProxyType(self._definitions)

    @property
    def gc_grace(self) -> Mapping[str, int]:
        """`gc_grace_seconds` by table id, where that was told. Another thread may hold it: it never changes."""
        if self._told_gc_grace is None:
            self._told_gc_grace = dict(self._gc_grace)
        return self._told_gc_grace

    @property
    def not_durable(self) -> frozenset[str]:
        """Keyspaces with `durable_writes = false`: the server writes none of their changes to its log."""
        told = self._durability.items()
        return frozenset(keyspace for keyspace, row in told if row.live and row.value("durable_writes") is False)

    @property
    def unbound(self) -> frozenset[str]:
        """Tables (`keyspace.table`) that a file described without an id, and that no single id is known for yet."""
        return frozenset(f"{keyspace}.{name}" for (keyspace, name), bases in self._bases.items() if "" in bases)

    def column_ages(self, id: str) -> Mapping[str, int]:
        """When the log wrote each column of a table, in microseconds; nothing of one that has lost its name since."""
        held = self._definitions[id]
        place = (held.keyspace, held.table)
        return column_ages(held.table, self._rows(held.keyspace)) if self._current.get(place) == id else {}

    def lacks_type(self, delta: SchemaDelta) -> bool:
        """Whether a row of `types` has something newer than what is known of the type."""
        row = self._rows(delta.keyspace).type_row(delta.clustering[0])
        held = {} if row is None else row.cells
        return any(name not in held or held[name][0] < time for name, (time, _) in delta.cells.items())

    def column_times(self, id: str) -> Mapping[str, int]:
        """When each column of a table was written last (µs), by the log or by a response; nothing of one whose name has
        another table since."""
        held = self._definitions[id]
        place = (held.keyspace, held.table)
        if self._current.get(place) != id:
            return {}
        base = self._bases.get(place, {}).get(id)
        rows = [] if base is None else [*base.columns["columns"].items()]
        rows += [*self._rows(held.keyspace).named("columns", held.table).items()]
        times: dict[str, int] = {}
        for name, row in rows:
            written = row.cells.get("kind", (BASE_TS, None))[0]
            if written > BASE_TS:
                times[name] = max(written, times.get(name, written))
        return times

    def apply(self, deltas: Iterable[SchemaDelta], *, response: bool = False) -> dict[str, TableDefinition]:
        """Merge all changes of one mutation (or one base); the definitions that this really changed, by id.

        They are derived once, after the last delta: columns stand before the `tables` row that has their id.
        `response`: the deltas are a server's response, whose rows have the server's timestamps.
        """
        touched: dict[tuple[str, str], None] = {}
        given: dict[tuple[str, str], Base] = {}
        for delta in deltas:
            if delta.table not in TRACKED or delta.keyspace in self._ignored:
                continue
            if delta.table == "keyspaces":
                self._note_durability(delta)
            elif delta.table != "types" and (response or _is_base(delta)):
                self._collect(delta, given, response=response)
            else:
                self._merge(delta, touched)
        for place, base in given.items():
            self._lay(place, base)
            touched[place] = None
        changed: dict[str, TableDefinition] = {}
        for keyspace, name in touched:
            self._derive(keyspace, name, changed)
        return changed

    def bind(self, keyspace: str, table: str, id: str) -> dict[str, TableDefinition]:
        """Say that a table described without an id has this one (32 hex digits); gives what that changed."""
        self._ids.setdefault((keyspace, table), set()).add(id)
        self._newest_base.setdefault((keyspace, table), id)
        changed: dict[str, TableDefinition] = {}
        self._derive(keyspace, table, changed)
        return changed

    def _rows(self, keyspace: str) -> KeyspaceRows:
        return self._keyspaces.setdefault(keyspace, KeyspaceRows())

    def _collect(self, delta: SchemaDelta, given: dict[tuple[str, str], Base], *, response: bool) -> None:
        place = (delta.keyspace, delta.clustering[0])
        base = given.get(place)
        if base is None:
            base = given[place] = Base("tables", response=response)
        if delta.table in _NAMES:
            base.heading = delta.table
        base.add(delta)

    def _lay(self, place: tuple[str, str], base: Base) -> None:
        keyspace, name = place
        bases = self._bases.setdefault(place, {})
        if base.id in bases:
            base.lay_over(bases[base.id])
        bases[base.id] = base
        if not base.id:
            return
        newest = bases.get(self._newest_base.get(place, ""))
        if newest is None or base.id_written >= newest.id_written:
            self._newest_base[place] = base.id
        known = self._ids.setdefault(place, set())
        dropped, live = self._dropped_at(place), self._live_id(place)
        # Rows of an earlier table of this name, dropped before the base was given, are not this table's.
        if dropped is not None and base.id not in known:
            self._rows(keyspace).horizon[name] = dropped + 1
        elif live not in (None, base.id) and base.id_written > self._id_written(place):
            # The name has another id since: the log lacks the DROP of the table that it shows, and the CREATE.
            self._rows(keyspace).horizon[name] = base.oldest
        known.add(base.id)

    def _id_written(self, place: tuple[str, str]) -> int:
        """The timestamp of the id that the log's own rows give to the name."""
        headings = [self._rows(place[0]).heading(table, place[1]) for table in _NAMES]
        return max((row.cells["id"][0] for row in headings if row is not None and "id" in row.cells), default=BASE_TS)

    def _dropped_at(self, place: tuple[str, str]) -> int | None:
        """When the log dropped the table that had the name last; None if it lives or the log is silent."""
        headings = [self._rows(place[0]).heading(table, place[1]) for table in _NAMES]
        known = [row for row in headings if row is not None]
        if any(row.live for row in known):
            return None
        return max((row.deletion for row in known if row.deletion is not None), default=None)

    def _covered_at(self, place: tuple[str, str]) -> int | None:
        """When the log dropped the keyspace of a table that only a base has named; None if it did not."""
        deletions = (self._rows(place[0]).deletion_over(table, (place[1],)) for table in _NAMES)
        return max((deletion for deletion in deletions if deletion is not None), default=None)

    def _merge(self, delta: SchemaDelta, touched: dict[tuple[str, str], None]) -> None:
        rows = self._rows(delta.keyspace)
        names = list(rows.apply(delta))
        if delta.table == "types":
            touched.update(dict.fromkeys(self._users(delta.keyspace, names)))
        else:
            if delta.partition_deletion is not None or delta.range is not None:
                names += [name for keyspace, name in self._bases if keyspace == delta.keyspace]
            touched.update(dict.fromkeys((delta.keyspace, name) for name in names))

    def _users(self, keyspace: str, types: list[str]) -> list[tuple[str, str]]:
        """Tables whose definition can change when these types do."""
        current = [(place, self._definitions[id]) for place, id in self._current.items() if place[0] == keyspace]
        return [place for place, held in current if _uses(held, types)]

    def _live_id(self, place: tuple[str, str]) -> str | None:
        """The id that the log's own rows give to the name now, None if they give none."""
        for table in _NAMES:
            row = self._rows(place[0]).heading(table, place[1])
            id = row.value("id") if row is not None else None
            if isinstance(id, str):
                return id
        return None

    def _effective_id(self, place: tuple[str, str]) -> str | None:
        """The id of the table that has the name now, by the log or, where that is silent, by the newest base."""
        id = self._live_id(place)
        if id is not None:
            return id
        given = self._newest_base.get(place)
        base = self._base(place, given) if given is not None else None
        if base is None or not base.row.live:
            return None
        heading = layered_heading(base.heading, place[1], self._rows(place[0]), base)
        return None if heading.hidden else given

    def _base(self, place: tuple[str, str], id: str) -> Base | None:
        """What was given for this id; a base without id is taken for it if no other id is known for the name."""
        bases = self._bases.get(place, {})
        if "" in bases and self._ids.get(place) == {id}:
            base = bases.pop("")
            if id in bases:
                base.lay_over(bases[id])
            bases[id] = base
        return bases.get(id)

    def _derive(self, keyspace: str, name: str, changed: dict[str, TableDefinition]) -> None:
        place = (keyspace, name)
        before, live = self._current.get(place), self._live_id(place)
        if live is not None:
            self._meet(place, live)
        id = self._effective_id(place)
        if before is not None and before != id:
            del self._current[place]
            # A base of a table that is not created yet, seen from where the log is, stays as it is.
            if live is None or before in self._log_ids[place]:
                time, held = self._dropped_at(place) or self._covered_at(place), self._definitions[before]
                self._note(msgspec.structs.replace(held, dropped=True, dropped_time=time), changed)
        if id is None:
            return
        rows, base = self._rows(keyspace), self._base(place, id)
        derived = definition(keyspace, name, id, rows, base)
        if derived is not None:
            self._current[place] = derived.id
            self._note(derived, changed)
            self._note_gc_grace(derived.id, gc_grace_of(derived, rows, base))

    def _meet(self, place: tuple[str, str], id: str) -> None:
        """A new id for a name is a new table: rows written before its `tables` row are another's."""
        self._ids.setdefault(place, set()).add(id)
        seen = self._log_ids.setdefault(place, [])
        if seen and seen[-1] != id:
            rows = self._rows(place[0])
            headings = [rows.heading(table, place[1]) for table in _NAMES]
            written = [row.cells["id"][0] for row in headings if row is not None and "id" in row.cells]
            rows.horizon[place[1]] = max(written)
        if not seen or seen[-1] != id:
            seen.append(id)

    def _note_durability(self, delta: SchemaDelta) -> None:
        row = self._durability.setdefault(delta.keyspace, Row())
        if delta.partition_deletion is not None:
            row.delete(delta.partition_deletion)
        row.merge(delta)

    def _note_gc_grace(self, id: str, seconds: int | None) -> None:
        if seconds is not None and self._gc_grace.get(id) != seconds:
            self._gc_grace[id], self._told_gc_grace = seconds, None

    def _note(self, derived: TableDefinition, changed: dict[str, TableDefinition]) -> None:
        if self._definitions.get(derived.id) != derived:
            self._definitions[derived.id] = changed[derived.id] = derived


def _uses(held: TableDefinition, types: list[str]) -> bool:
    return any(name in held.types or any(name in column.type for column in held.columns) for name in types)


def _is_base(delta: SchemaDelta) -> bool:
    return delta.liveness == BASE_TS
