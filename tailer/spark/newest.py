"""What a table that changes are merged into has to know of the table as a whole: the newest definition, truncations.

Values only; knows no Spark, and not where rows are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

import msgspec

from tailer.position import Position
from tailer.rebuild import Table
from tailer.rebuild.changes import truncation
from tailer.rebuild.newest import newer
from tailer.rebuild.table import latest_places
from tailer.schema.told import told_definition


def truncations_of(rows: Iterable[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        told = truncation(row)
        if told is not None:
            found = latest_places(found, dict([told]))
    return found


def with_schema_rows(table: Table, rows: Iterable[dict[str, Any]], former: Collection[str]) -> Table:
    """The table behind these change rows with op `schema`, which may be of other tables that had its name, too.

    `former`: the ids of earlier tables of the name.
    """
    told = [row for row in rows if row["op"] == "schema"]
    for row in sorted(told, key=lambda row: Position(row["segment"], row["offset"])):
        id, node, place = UUID(row["table_id"]).hex, row["node"], (row["segment"], row["offset"])
        if row["columns"] is not None:
            table = _defined(table, Table.of(told_definition(row["columns"])), node, place, former)
        elif id == table.definition.id:
            table = _dropped(table, node, place)
    return table


def _defined(known: Table, told: Table, node: str, place: tuple[int, int], former: Collection[str]) -> Table:
    """The table behind the row of a definition, which stands in a node's log at `place`."""
    id, end = told.definition.id, known.ended.get(node)
    is_same = id == known.definition.id
    if is_same and known.definition.dropped and known.ended and end is None:
        # Other logs have shown its DROP, this one is behind: it tells of the table that was dropped.
        return known
    if is_same and (known.keys or known.key_names != told.key_names):
        told = msgspec.structs.replace(told, renamed={node: place})
    if end is not None and place > end:
        if is_same:
            told = msgspec.structs.replace(told, ended=known.ended)
        elif known.definition.dropped and id in {*former, *known.former}:
            # All that this node logged of it before the DROP of the table between is of its first life.
            told = msgspec.structs.replace(told, ended={node: end}, former=(known.definition.id,))
    made = successor(known, told, former)
    if made.definition.id == known.definition.id:
        return made
    ids = {*known.former, known.definition.id} - {made.definition.id}
    return msgspec.structs.replace(made, former=tuple(sorted(ids)))


def _dropped(table: Table, node: str, place: tuple[int, int]) -> Table:
    if place <= table.ended.get(node, (0, 0)):
        return table
    # Another node has told of this DROP already, and of the CREATE behind it.
    late = bool(table.ended) and node not in table.ended and not table.definition.dropped
    definition = table.definition if late else msgspec.structs.replace(table.definition, dropped=True)
    return msgspec.structs.replace(table, definition=definition, ended=latest_places(table.ended, {node: place}))


def successor(known: Table, told: Table, former: Collection[str] = ()) -> Table:
    """The table that a keeper goes on with: by the newer definition; of two tables of one name the one that is newer.

    `former`: the ids of tables that had the name before `known`.
    """
    if known.definition.id != told.definition.id:
        is_before = told.definition.id in {*former, *known.former} and not _is_back(known, told)
        return known if is_before else told
    if is_later_life(known, told):
        return msgspec.structs.replace(told, ended=latest_places(known.ended, told.ended))
    if is_later_life(told, known):
        return known
    # Where neither tells more, the second one wins.
    return newer(told, known) if known.has_later_names(told) else newer(known, told)


def is_later_life(known: Table, told: Table) -> bool:
    """Whether `told` is a table that was made again behind `known`, with its id."""
    if told.definition.dropped:
        return False
    return known.definition.dropped or _ended_later(known, told)


def _is_back(known: Table, told: Table) -> bool:
    """Whether `told`, whose id the name had before `known`, was made again behind `known`.

    What was found before `known` was there does not name it as an earlier table.
    """
    if known.definition.id not in told.former or not told.ended:
        return False
    return known.definition.dropped or _ended_later(known, told)


def _ended_later(known: Table, told: Table) -> bool:
    """Whether the logs show a later end of what had the id before `told` than of what had the one of `known`."""
    # A node that tells of the same DROP later says nothing new.
    shared = known.ended.keys() & told.ended.keys()
    return any(told.ended[node] > known.ended[node] for node in shared) or bool(told.ended and not known.ended)
