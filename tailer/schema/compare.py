"""What a live server knows that the log has not shown: the deltas that bring a state up to the server's.

An ALTER whose segment the server deleted is found this way (architecture section 5, the look every 60 s).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tailer.schema.follow import SchemaState
from tailer.schema.model import TableDefinition
from tailer.schema.rows import SchemaDelta


def differences(state: SchemaState, server: Sequence[SchemaDelta]) -> list[SchemaDelta]:
    """Deltas that give `state` the server's definitions; empty if they agree.

    `server` has the true write timestamps (`read_server`), so that later rows of the log win over these deltas, and
    rows of the log that are newer than the server's answer win already. What the server has not any more is deleted
    with the timestamp it was last written with.
    """
    told = SchemaState()
    told.apply(server)
    theirs = {id: held for id, held in told.definitions.items() if not held.dropped}
    ours = {id: held for id, held in state.definitions.items() if not held.dropped}
    stale = [held for id, held in ours.items() if id not in theirs or not _agree(held, theirs[id])]
    fresh = [held for id, held in theirs.items() if id not in ours or not _agree(ours[id], held)]
    found: list[SchemaDelta] = []
    for held in stale:
        found += _gone(state, held, theirs.get(held.id))
    places = {(held.keyspace, held.table) for held in fresh}
    types = {(held.keyspace, name) for held in fresh for name in held.types}
    for delta in server:
        place = (delta.keyspace, *delta.clustering[:1])
        if place in (types if delta.table == "types" else places):
            found.append(delta)
    return found


def _gone(state: SchemaState, held: TableDefinition, kept: TableDefinition | None) -> list[SchemaDelta]:
    """Row deletions for what `kept`, the server's definition of the same table, has not; for all of it if None."""
    live = {column.name for column in kept.columns if not column.dropped} if kept is not None else set()
    rows: list[tuple[str, tuple[str, ...]]] = [
        ("columns", (held.table, column.name))
        for column in held.columns
        if not column.dropped and column.name not in live
    ]
    if kept is None:
        rows.append(("views" if held.view else "tables", (held.table,)))
    return [
        SchemaDelta(table, held.keyspace, clustering, row_deletion=state.newest(table, held.keyspace, clustering))
        for table, clustering in rows
    ]


def _agree(ours: TableDefinition, theirs: TableDefinition) -> bool:
    """Whether live columns, flags and types are the same. Dropped columns are known in other forms by each side."""
    shared = ours.types.keys() & theirs.types.keys()
    same_types = all(ours.types[name] == theirs.types[name] for name in shared)
    return same_types and _bare(ours) == _bare(theirs)


def _bare(held: TableDefinition) -> TableDefinition:
    live = [column for column in held.columns if not column.dropped]
    columns = tuple(msgspec.structs.replace(column, dropped_time=None) for column in live)
    return msgspec.structs.replace(held, columns=columns, types={})
