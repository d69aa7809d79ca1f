"""A table as the folders of its nodes tell of it, and whether they hold every change of it.

Asks the journals, the logs, a file and a server, as the source does. Writes nothing, starts no query.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tailer.definitions.history import DefinitionHistory
from tailer.definitions.named_tables import nothing_defines
from tailer.definitions.whole_folder import Learnt, learn
from tailer.options.tail import of_node
from tailer.options.to_spark import PROGRAM, SourceOptions, parse_options
from tailer.planning.history_held import check_held, held_log
from tailer.planning.untold import ended_before
from tailer.position import Position
from tailer.rebuild import Table
from tailer.schema.model import TableDefinition
from tailer.schema.rows import BASE_TS
from tailer.spark.newest import successor
from tailer.state.node_log import NodeLog
from tailer.tail.node_log import node_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FoundTable(NamedTuple):
    """A table, and the folders in which it was looked for."""

    table: Table
    folders: Folders

    def check(self) -> None:
        """LossError where a folder does not hold every change since the table was created."""
        self.folders.check(self.table.definition)


class Folders:
    """What the folders of a read tell of definitions."""

    def __init__(self, source: SourceOptions) -> None:
        self._keys = source.tail.keys()
        self.learnt: list[tuple[NodeLog, Learnt]] = []
        self._nodes = [node for node, _ in source.places]
        for node, place in source.places:
            options = of_node(source.of(node, once=True))
            log = node_log(place, options)
            self.learnt.append((log, learn(log, options, self._keys)))

    def by_node(self) -> Iterator[tuple[str, Learnt]]:
        """What each of them tells, by the node's name."""
        return zip(self._nodes, (learnt for _, learnt in self.learnt), strict=True)

    def check(self, table: TableDefinition) -> None:
        """See `FoundTable.check`."""
        for log, learnt in self.learnt:
            cleaned = log.home.cleaned().refresh().segments
            held = held_log(log.source, cleaned, learnt.ends, self._keys)
            check_held(log.where, held, learnt.history, table, learnt.silent)


def find_table(path: str | os.PathLike[str], table: str, options: Mapping[str, str]) -> FoundTable:
    """What is known now of `keyspace.table` in the folders of `path`. DefinitionError if nothing defines it."""
    folders = Folders(parse_options({**options, "path": os.fspath(path)}))
    found = [each for node, learnt in folders.by_node() for each in _known(learnt.history, table, node)]
    if not found:
        for _, learnt in folders.learnt:
            if learnt.errors:
                raise learnt.errors[0]
        known = [definition for _, learnt in folders.learnt for definition in learnt.history.newest.values()]
        raise nothing_defines((table,), known, may_come=False, file=os.fspath(path))
    return FoundTable(newest_of(found), folders)


def check_read(changes: DataFrame, table: TableDefinition) -> None:
    """The same for a frame that reads log folders; one that reads what was landed tells nothing of that."""
    for options in _log_reads(changes):
        Folders(parse_options(options)).check(table)


def _log_reads(changes: DataFrame) -> Iterator[dict[str, str]]:
    """The options of each read of a log in a frame's plan. A session of Spark Connect has no plan to look at."""
    frame: Any = getattr(changes, "_jdf", None)
    leaves: Any = frame.queryExecution().analyzed().collectLeaves() if frame is not None else None
    for number in range(leaves.size() if leaves is not None else 0):
        leaf = leaves.apply(number)
        if leaf.getClass().getSimpleName() == "DataSourceV2Relation" and PROGRAM in leaf.table().name():
            given = leaf.options().asCaseSensitiveMap()
            yield {str(name): str(given[name]) for name in given}


class KnownByNode(NamedTuple):
    """A table that had the name, as one node's log tells of it since a position. `drops`: how often it was dropped."""

    since: Position
    table: Table
    drops: int


def _known(history: DefinitionHistory, name: str, node: str) -> Iterator[KnownByNode]:
    for id, newest in history.newest.items():
        if newest.name == name:
            event = history.source_of(id)
            told = [held for each in history.events for held in each.changed.values() if held.id == id]
            table = Table.of(newest, told, native=(id in history.native))
            if table.keys:
                table = msgspec.structs.replace(table, renamed={node: tuple(_renamed_at(history, newest))})
            drops = list(_drops(history, id))
            if drops and not newest.dropped:
                # It was made again with its id.
                ages = history.column_ages(id)
                born = min((age for column, age in ages.items() if age > BASE_TS), default=None)
                table = msgspec.structs.replace(table, ended={node: tuple(drops[-1])}, born=born)
            yield KnownByNode(Position(0, 0) if event is None else event.at, table, len(drops))


def _drops(history: DefinitionHistory, id: str) -> Iterator[Position]:
    """Where a log shows that a table was dropped, or created again: then it was dropped before."""
    for event in history.events:
        if id in event.again:
            yield ended_before(event)
        if any(held.id == id and held.dropped for held in event.changed.values()):
            yield event.at


def _renamed_at(history: DefinitionHistory, newest: TableDefinition) -> Position:
    """Since when a table's key has the names that it has."""
    since, before = Position(0, 0), None
    for event in history.events:
        for held in event.changed.values():
            if held.id == newest.id:
                shown = Table.of(held).key_names
                since, before = (since if shown == before else event.at), shown
    return since


def newest_of(found: list[KnownByNode]) -> Table:
    """The table that has the name now: by what all nodes tell of it."""
    # The log that has seen most of an id tells whether it has the name: others are late to show a DROP, or the CREATE
    # behind it.
    last_seen: dict[str, tuple[int, bool]] = {}
    for each in found:
        id, is_live = each.table.definition.id, not each.table.definition.dropped
        last_seen[id] = max(last_seen.get(id, (0, False)), (each.drops, is_live))
    live = [each for each in found if last_seen[each.table.definition.id][1] and not each.table.definition.dropped]
    live = live or [each for each in found if not each.table.definition.dropped] or found
    last = max(live, key=lambda each: each.since).table
    for each in found:
        if each.table.definition.id == last.definition.id and not each.table.definition.dropped:
            last = successor(last, each.table)
    former = {each.table.definition.id for each in found} - {last.definition.id}
    return msgspec.structs.replace(last, former=tuple(sorted(former)))
