"""What a server's response adds to a schema state: the rows by which definitions change.

An ALTER whose segment the server deleted is found this way. A table or column that the response lacks is not thereby
dropped: the response may be older than the state, or one of its tables was read at another moment. A drop is proven by
a row of `dropped_columns`, by another id of the name, or by a log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailer.schema.follow import SchemaState
from tailer.schema.rows import SchemaDelta


def additions(state: SchemaState, response: Sequence[SchemaDelta]) -> list[SchemaDelta]:
    """The rows of the response that change a definition of `state`, or show that a table was created again, with all
    rows of the same tables and types; and the types that `state` does not know so: a later change of the log may use
    one whose CREATE the log lacks.

    `state` is changed: it holds the response behind the call. Rows have the server's own write timestamps, so newer
    rows of the state win over them.
    """
    unknown = {(d.keyspace, d.clustering[0]) for d in response if d.table == "types" and state.lacks_type(d)}
    again = [state.definitions[id] for id in created_again(state, response)]
    changed = [*again, *state.apply(response, response=True).values()]
    places = {(held.keyspace, held.table) for held in changed}
    types = unknown | {(held.keyspace, name) for held in changed for name in held.types}
    return [
        delta
        for delta in response
        if (delta.keyspace, *delta.clustering[:1]) in (types if delta.table == "types" else places)
    ]


def created_again(state: SchemaState, response: Sequence[SchemaDelta]) -> dict[str, int]:
    """The tables of `state` that a response shows created again with the same id, by id, each with the time (µs) up to
    which its rows are of the earlier one.

    All its columns are newer than each that was known, among them a column of the key, and another one with a known
    name, whose types no ALTER TYPE changes. ADD writes one column, RENAME those of the key that it names, ALTER TYPE
    those that use the type: no statement but CREATE writes them all.
    """
    headings = (delta for delta in response if delta.table == "tables" and "id" in delta.cells)
    ids = {(delta.keyspace, delta.clustering[0]): str(delta.cells["id"][1]) for delta in headings}
    columns: dict[tuple[str, str], list[SchemaDelta]] = {}
    for delta in response:
        if delta.table == "columns" and delta.cells.keys() >= {"kind", "type"}:
            columns.setdefault((delta.keyspace, delta.clustering[0]), []).append(delta)
    found: dict[str, int] = {}
    for place, id in ids.items():
        held = state.definitions.get(id)
        if held is None or held.dropped or place not in columns:
            continue
        before = state.column_times(id)
        oldest = min(delta.cells["kind"][0] for delta in columns[place])
        if oldest > max(before.values(), default=oldest) and _are_of_create(columns[place], before, held.types):
            found[id] = oldest - 1
    return found


def _are_of_create(columns: Sequence[SchemaDelta], before: Iterable[str], types: Iterable[str]) -> bool:
    """See `created_again`. `types`: the user-defined types that the table uses."""
    plain = [delta for delta in columns if not any(name in str(delta.cells["type"][1]) for name in types)]
    keys = [delta for delta in plain if delta.cells["kind"][1] in ("partition_key", "clustering")]
    return bool(keys) and any(delta not in keys and delta.clustering[1] in before for delta in plain)
