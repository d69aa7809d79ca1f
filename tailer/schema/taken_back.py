"""A server's response as it would have been at an earlier position of the server's log.

A response shows the schema at the time of the request. The log may show some of these changes behind the position that
a consumer has reached: they are not in force there yet, and are taken back here, the newest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

import msgspec

from tailer.schema.rows import BASE_TS, Cell, SchemaDelta

Key = tuple[str, str, tuple[str, ...]]
"""System table, keyspace and clustering of a row of `system_schema`."""

Creations = Mapping[tuple[str, ...], int]
"""When tables were created (µs), by keyspace and name."""

_HEADINGS: Final = ("tables", "views")


def key_of(delta: SchemaDelta) -> Key:
    """The row that a delta is of."""
    return delta.table, delta.keyspace, delta.clustering


def rows_of(response: Iterable[SchemaDelta]) -> dict[Key, SchemaDelta]:
    """The rows of a response by their keys."""
    return {key_of(delta): delta for delta in response}


def shows(response: dict[Key, SchemaDelta], changes: Sequence[SchemaDelta]) -> bool:
    """Whether a response holds a row that these changes of a log wrote, or a table that counts from them on."""
    return any(_is_later(response, delta) for delta in changes) or bool(begins(response, changes))


def taken_back(response: Iterable[SchemaDelta], later: Iterable[Sequence[SchemaDelta]]) -> list[SchemaDelta]:
    """The response without what the log shows later. `later`: the changes of each of these entries, in log order.

    A table that is dropped later is removed: the response has the one that was created under its name since. A table
    that is created later is removed, and so is a column that is added later. One that is dropped later is there, with
    the type that `dropped_columns` knows (a user-defined type is a tuple there). A key column that is renamed later has
    its old name, if the entry renames one column only. Of flags of a table and fields of a type the older values are
    not known: the response's own are kept with the lowest timestamp, so that every older row of the log wins over them;
    `cdc` counts as true: whether the table captured then nobody knows, and a change too many is a true one, while one
    too few is lost.
    """
    rows, restored = rows_of(response), set[Key]()
    # As the response has them: what is taken back loses its timestamps.
    created = _creations(rows.values())
    for changes in reversed([*later]):
        _take_back(rows, restored, changes, created)
    return [_raised(delta, created) for delta in rows.values()]


def concerning(
    response: Iterable[SchemaDelta], changes: Iterable[Sequence[SchemaDelta]]
) -> list[Sequence[SchemaDelta]]:
    """Those changes of a log that are of a table or type that a response has."""
    places = {place_of(delta) for delta in response}
    keyspaces = {place[1] for place in places}
    return [each for each in changes if any(_is_at(delta, places, keyspaces) for delta in each)]


def creates(deltas: Sequence[SchemaDelta], id: str) -> bool:
    """Whether changes hold all of a table: an ALTER writes only the columns that it adds, or deletes some."""
    names = {(delta.keyspace, *delta.clustering) for delta in deltas if delta.cells.get("id", (0, None))[1] == id}
    columns = [
        delta for delta in deltas if delta.table == "columns" and (delta.keyspace, *delta.clustering[:1]) in names
    ]
    keys = (delta for delta in columns if delta.cells.get("kind", (0, None))[1] == "partition_key")
    return any(keys) and all(delta.cells for delta in columns)


def begins(response: dict[Key, SchemaDelta], changes: Sequence[SchemaDelta]) -> set[tuple[str, ...]]:
    """Keyspace and name of the tables of a response that count from these changes of a log on: it shows their CREATE,
    or the DROP of the table that had the name before."""
    found: set[tuple[str, ...]] = set()
    for delta in changes:
        behind = [*_created_behind(response, delta)]
        if delta.table in _HEADINGS and "id" in delta.cells and (held := response.get(key_of(delta))) is not None:
            behind += [held] if _is_created(held, delta, changes) else []
        found.update((held.keyspace, *held.clustering[:1]) for held in behind)
    return found


def added_since(response: Iterable[SchemaDelta], changes: Sequence[SchemaDelta]) -> Iterator[SchemaDelta]:
    """Of a response to a request what may count from a CREATE on that these changes of a log show: columns that are
    added. What the server dropped or altered meanwhile may follow in the log, or counts from where the response was
    taken; applied here it would change the meaning of the rows before. Of a table that was created again since, with
    its id, nothing may count."""
    response = [*response]
    times, later = _creations(changes), _creations(response)
    again = {table for table, time in later.items() if time > times.get(table, time)}
    created = {
        (delta.keyspace, delta.clustering[0])
        for delta in changes
        if delta.table in _HEADINGS and (id := delta.cells.get("id", (0, None))[1]) and creates(changes, str(id))
    }
    columns = {key_of(delta) for delta in changes if delta.table == "columns"}
    for delta in response:
        # ALTER adds no key column: one that the CREATE does not have is one of these with a later name.
        is_column = delta.table == "columns" and key_of(delta) not in columns and not is_key_column(delta)
        captures = delta.table in _HEADINGS and delta.cells.get("cdc", (0, None))[1] is True
        table = delta.keyspace, *delta.clustering[:1]
        if table not in created or ((is_column or captures) and table not in again):
            yield delta


def is_key_column(delta: SchemaDelta) -> bool:
    """Whether a row of `columns` is of a column of the primary key."""
    return delta.cells.get("kind", (BASE_TS, None))[1] in ("partition_key", "clustering")


def renames(changes: Iterable[SchemaDelta]) -> list[tuple[SchemaDelta, SchemaDelta]]:
    """Pairs of rows of `columns` that RENAMEs of key columns wrote: the old name and the new one. A RENAME deletes the
    first and inserts the second with one timestamp. A statement with several RENAMEs gives no pair: its rows do not
    show which old name became which new one."""
    old: dict[tuple[str, str, int], list[SchemaDelta]] = {}
    new: dict[tuple[str, str, int], list[SchemaDelta]] = {}
    for delta in changes:
        if delta.table != "columns" or len(delta.clustering) < 2:
            continue
        if delta.row_deletion is not None and not delta.cells:
            old.setdefault((delta.keyspace, delta.clustering[0], delta.row_deletion), []).append(delta)
        elif is_key_column(delta):
            new.setdefault((delta.keyspace, delta.clustering[0], delta.cells["kind"][0]), []).append(delta)
    return [(gone[0], new[at][0]) for at, gone in old.items() if len(gone) == len(new.get(at, ())) == 1]


def place_of(delta: SchemaDelta) -> tuple[bool, str, tuple[str, ...]]:
    return delta.table == "types", delta.keyspace, delta.clustering[:1]


def _is_at(delta: SchemaDelta, places: Set[tuple[bool, str, tuple[str, ...]]], keyspaces: Set[str]) -> bool:
    return place_of(delta) in places or (delta.partition_deletion is not None and delta.keyspace in keyspaces)


def _take_back(
    rows: dict[Key, SchemaDelta], restored: set[Key], changes: Sequence[SchemaDelta], created: Creations
) -> None:
    """Take one entry back. `restored`: columns that are there because a DROP was taken back. `created`: when each table
    of the response was created."""
    for delta in changes:
        for heading in [*_created_behind(rows, delta, created)]:
            for each in [*_of_table(rows, heading)]:
                del rows[each]
        if delta.table not in _HEADINGS or "id" not in delta.cells:
            continue
        key = key_of(delta)
        if key in rows and _is_created(rows[key], delta, changes):
            for each in [*_of_table(rows, delta)]:
                del rows[each]
        elif _is_later(rows, delta):
            _lower(rows, key)
            # Whether the table captured before this ALTER is not known: a row too many is better than one lost.
            rows[key].cells["cdc"] = (BASE_TS, True)
    # ALTER TYPE writes the columns again that use the type: they were there before.
    retyped = any(delta.table == "types" for delta in changes)
    for delta in changes:
        key = key_of(delta)
        if delta.table == "types" or (delta.table == "columns" and retyped):
            if _is_later(rows, delta):
                _lower(rows, key)
        elif delta.table == "columns" and delta.cells and (_is_later(rows, delta) or key in restored):
            restored.discard(key)
            _without_column(rows, delta, changes)
        elif delta.table == "dropped_columns" and _is_later(rows, delta):
            restored.add(("columns", key[1], key[2]))
            _without_drop(rows, key)


def _is_created(held: SchemaDelta, delta: SchemaDelta, changes: Sequence[SchemaDelta]) -> bool:
    """Whether changes of a log create the table that a response has (`held`, `delta`: the row of `tables` or `views`).

    A response that is older than this CREATE is of an earlier table with the same id.
    """
    at, id = held.cells.get("id", (0, None))
    created, same = delta.cells["id"]
    return id == same and (at == BASE_TS or at >= created) and creates(changes, str(id))


def _created_behind(
    rows: dict[Key, SchemaDelta], delta: SchemaDelta, created: Creations | None = None
) -> Iterator[SchemaDelta]:
    """The rows of `tables` and `views` of tables that were created behind a DROP of the same name, or of its keyspace.
    `created`: when each table was created; by default as the rows show it.

    Of a table that lives on no DROP is shown: its rows are older than a DROP only where it is of an earlier table.
    """
    times = [time for time in (delta.row_deletion, delta.partition_deletion) if time is not None]
    if delta.table not in _HEADINGS or delta.cells or not times:
        return
    created = _creations(rows.values()) if created is None else created
    for key, held in rows.items():
        named = key == key_of(delta) or (
            delta.partition_deletion is not None and key[:2] == (delta.table, delta.keyspace)
        )
        at = created.get((key[1], *key[2]), held.cells.get("id", (BASE_TS, None))[0])
        if named and "id" in held.cells and at > max(times):
            yield held


def _is_in(rows: dict[Key, SchemaDelta], delta: SchemaDelta) -> bool:
    held = rows.get(key_of(delta))
    if held is None:
        return False
    if any(cell[1] is not None and held.cells.get(name) == cell for name, cell in delta.cells.items()):
        return True
    if delta.row_deletion is not None and delta.row_deletion == held.row_deletion and not delta.cells:
        return True
    # A file has no timestamps, and nor have responses that earlier versions journaled.
    drop, time = delta.cells.get("dropped_time"), held.cells.get("dropped_time")
    return drop is not None and time == (BASE_TS, drop[1])


def _is_later(rows: dict[Key, SchemaDelta], delta: SchemaDelta) -> bool:
    """Whether a response has the row that this change of a log wrote, or a later version of it. Neither was in force
    before the change."""
    held = rows.get(key_of(delta))
    shared = (
        []
        if held is None
        else [(held.cells[name][0], at) for name, (at, _) in delta.cells.items() if name in held.cells]
    )
    return _is_in(rows, delta) or (bool(shared) and all(time > at for time, at in shared))


def _of_table(rows: dict[Key, SchemaDelta], heading: SchemaDelta) -> Iterator[Key]:
    """The rows of the table that a row of `tables` or `views` is of."""
    for key in rows:
        if key[0] not in ("types", "keyspaces") and key[1] == heading.keyspace and key[2][0] == heading.clustering[0]:
            yield key


def _lower(rows: dict[Key, SchemaDelta], key: Key) -> None:
    if key in rows:
        rows[key] = _with_cells(rows[key], rows[key].cells)


def _creations(rows: Iterable[SchemaDelta]) -> Creations:
    """When each table was created (µs), by keyspace and name, for those of which that is known: the oldest column is as
    old as the table. The row of `tables` is written by each ALTER, and is lowered where that is taken back."""
    found: dict[tuple[str, ...], int] = {}
    for delta in rows:
        time = delta.cells.get("kind", (BASE_TS, None))[0] if delta.table == "columns" else BASE_TS
        if time > BASE_TS:
            table = (delta.keyspace, *delta.clustering[:1])
            found[table] = min(time, found.get(table, time))
    return found


def _raised(delta: SchemaDelta, created: Creations) -> SchemaDelta:
    """A row that was lowered, above the DROP of an earlier table with its name, or of its keyspace. A row of a file or
    a type stays where it is."""
    at = created.get((delta.keyspace, *delta.clustering[:1]))
    if at is None or delta.table == "types" or all(time > BASE_TS for time, _ in delta.cells.values()):
        return delta
    cells = {name: (max(time, at - 1), value) for name, (time, value) in delta.cells.items()}
    alive = at - 1 if delta.liveness is None else max(delta.liveness, at - 1)
    return msgspec.structs.replace(delta, cells=cells, liveness=alive)


def _with_cells(delta: SchemaDelta, cells: dict[str, Cell]) -> SchemaDelta:
    lowered = {name: (BASE_TS, value) for name, (_, value) in cells.items()}
    return msgspec.structs.replace(delta, cells=lowered, liveness=BASE_TS)


def _without_column(rows: dict[Key, SchemaDelta], added: SchemaDelta, changes: Sequence[SchemaDelta]) -> None:
    held = rows.pop(key_of(added), None)
    if held is None or not is_key_column(held):
        return
    old = next((old for old, new in renames(changes) if key_of(new) == key_of(added)), None)
    if old is not None:
        name = {"column_name_bytes": (BASE_TS, old.clustering[1].encode().hex())}
        key = key_of(old)
        rows[key] = _with_cells(SchemaDelta(*key), {**held.cells, **name})
    else:
        _restore(rows, held)


def _restore(rows: dict[Key, SchemaDelta], held: SchemaDelta) -> None:
    rows[key_of(held)] = _with_cells(held, held.cells)


def _without_drop(rows: dict[Key, SchemaDelta], key: Key) -> None:
    drop = rows.pop(key)
    known: dict[str, Cell] = {name: drop.cells[name] for name in ("kind", "type") if name in drop.cells}
    place: dict[str, Cell] = {
        "position": (BASE_TS, -1),
        "clustering_order": (BASE_TS, "none"),
        "column_name_bytes": (BASE_TS, key[2][1].encode().hex()),
    }
    column = ("columns", key[1], key[2])
    rows[column] = _with_cells(SchemaDelta(*column), {**known, **place})
