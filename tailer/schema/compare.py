"""What a server's response adds to a schema state: the rows by which definitions change.

An ALTER whose segment the server deleted is found this way. A table or column that the response lacks is not thereby
dropped: the response may be older than the state, or one of its tables was read at another moment. A drop is proven by
a row of `dropped_columns`, by another id of the name, or by a log.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailer.schema.follow import SchemaState
from tailer.schema.rows import SchemaDelta


def additions(state: SchemaState, response: Sequence[SchemaDelta]) -> list[SchemaDelta]:
    """The rows of the response that change a definition of `state`, or show that a table was created again, with all
    rows of the same tables and types.

    `state` is changed: it holds the response behind the call. Rows have the server's own write timestamps, so newer
    rows of the state win over them.
    """
    again = [state.definitions[id] for id in created_again(state, response)]
    changed = [*again, *state.apply(response, response=True).values()]
    places = {(held.keyspace, held.table) for held in changed}
    types = {(held.keyspace, name) for held in changed for name in held.types}
    return [
        delta
        for delta in response
        if (delta.keyspace, *delta.clustering[:1]) in (types if delta.table == "types" else places)
    ]


def created_again(state: SchemaState, response: Sequence[SchemaDelta]) -> dict[str, int]:
    """The tables of `state` that a response shows created again with the same id, by id, each with the time (µs) up to
    which its rows are of the earlier one.

    All its columns are newer than each that was known, and one that is no part of the key has a known name. ADD writes
    one column, RENAME those of the key that it names, every other ALTER none: no statement but CREATE writes them all.
    """
    headings = (delta for delta in response if delta.table == "tables" and "id" in delta.cells)
    ids = {(delta.keyspace, delta.clustering[0]): str(delta.cells["id"][1]) for delta in headings}
    found: dict[str, int] = {}
    columns: dict[tuple[str, str], dict[str, tuple[int, bool]]] = {}
    for delta in response:
        if delta.table == "columns" and "kind" in delta.cells:
            time, kind = delta.cells["kind"]
            of_key = kind in ("partition_key", "clustering")
            columns.setdefault((delta.keyspace, delta.clustering[0]), {})[delta.clustering[1]] = time, of_key
    for place, id in ids.items():
        held, now = state.definitions.get(id), columns.get(place, {})
        if held is None or held.dropped or not now:
            continue
        before = state.column_times(id)
        oldest = min(time for time, _ in now.values())
        named = any(name in before and not of_key for name, (_, of_key) in now.items())
        if named and oldest > max(before.values(), default=oldest):
            found[id] = oldest - 1
    return found
