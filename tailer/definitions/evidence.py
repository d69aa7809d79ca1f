"""What schema records tell of a time: when a table was created, and what a server had added since it was asked before.

Records in, facts out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from tailer.position import Position
from tailer.schema.rows import BASE_TS, SchemaDelta
from tailer.schema.taken_back import Key, key_of
from tailer.state.journal_records import SERVER, SchemaRecord


class Added(NamedTuple):
    """Rows that a server's response had, and an earlier one lacked. `at`: where the response was taken."""

    at: Position
    deltas: Sequence[SchemaDelta]


def added_by_responses(records: Iterable[SchemaRecord]) -> list[Added]:
    """What server responses added behind the position of an earlier one. `records`: as they were journaled.

    A run asks for all definitions when it begins, and again for each table and column that it does not know. So what a
    later response adds was not there at the first request, and no entry before its own position is of it.
    """
    found: list[Added] = []
    known: dict[Key, dict[str, int]] = {}
    first: Position | None = None
    for record in records:
        added = [delta for delta in record.deltas if _is_news(delta, known)]
        if record.source.startswith(SERVER) and record.asked:
            if first is not None and first <= record.at and added:
                found.append(Added(record.at, added))
            first = record.at if first is None else min(first, record.at)
        for delta in added:
            times = known.setdefault(key_of(delta), {})
            times.update({name: max(time, times.get(name, time)) for name, (time, _) in delta.cells.items()})
    return found


def _is_news(delta: SchemaDelta, known: dict[Key, dict[str, int]]) -> bool:
    times = known.get(key_of(delta), {})
    return any(name not in times or times[name] < time for name, (time, _) in delta.cells.items())


def names_table(deltas: Iterable[SchemaDelta], id: str) -> bool:
    """Whether changes have the row of a table in `tables`, or `views`. `id`: as that row has it."""
    return any(delta.cells.get("id", (BASE_TS, None))[1] == id for delta in deltas)


def time_of_create(deltas: Collection[SchemaDelta], id: str) -> int:
    """When a table was created (µs), where changes hold all of it.

    Each ALTER writes the row of `tables` again, and a node that missed it logs the whole schema as it is now
    (`SchemaKeyspace.convertSchemaToMutations`). The oldest column is as old as the table.
    """
    names = {(delta.keyspace, *delta.clustering) for delta in deltas if delta.cells.get("id", (0, None))[1] == id}
    columns = (d for d in deltas if d.table == "columns" and (d.keyspace, *d.clustering[:1]) in names)
    times = [delta.cells["kind"][0] for delta in columns if "kind" in delta.cells]
    return min(times, default=BASE_TS)
