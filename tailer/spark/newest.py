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
        id = UUID(row["table_id"]).hex
        if row["columns"] is not None:
            table = successor(table, Table.of(told_definition(row["columns"])), former)
        elif id == table.definition.id:
            table = _dropped(table, row["node"], (row["segment"], row["offset"]))
    return table


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
        return known if told.definition.id in {*former, *known.former} else told
    if is_later_life(known, told):
        return msgspec.structs.replace(told, ended=latest_places(known.ended, told.ended))
    if is_later_life(told, known):
        return known
    return newer(known, told)


def is_later_life(known: Table, told: Table) -> bool:
    """Whether `told` is a table that was made again behind `known`, with its id."""
    if told.definition.dropped:
        return False
    if known.definition.dropped:
        return True
    # A node that tells of the same DROP later says nothing new.
    shared = known.ended.keys() & told.ended.keys()
    return any(told.ended[node] > known.ended[node] for node in shared) or bool(told.ended and not known.ended)
