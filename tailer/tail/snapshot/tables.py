"""The tables that a run has chosen, as its log defines them. Reads no server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tailer.errors import UsageError
from tailer.position import Position
from tailer.rebuild import Table
from tailer.schema.model import TableDefinition
from tailer.tail.tail import Tail


class LogTables(NamedTuple):
    """What one node's log shows: the chosen tables, and of every table, by id, how often it was dropped and whether it
    is there. Of two logs the greater pair is the newer one."""

    chosen: list[Table]
    lives: Mapping[str, tuple[int, bool]]


def log_tables(tail: Tail) -> LogTables:
    """The tables of one of several nodes: no chosen one may be masked, and there may be none. UsageError else."""
    history, drops = tail.parts.definitions.history, Counter[str]()
    for event in history.events:
        drops.update(event.again.keys())
        drops.update({held.id for held in event.changed.values() if held.dropped})
    newest = tail.parts.definitions.latest().values()
    return LogTables(_chosen(tail, unmasked=True), {held.id: (drops[held.id], not held.dropped) for held in newest})


def chosen_tables(tail: Tail, *, unmasked: bool) -> list[Table]:
    """As they are now, without those that are masked; with `unmasked` UsageError for one, and where there is none."""
    found = _chosen(tail, unmasked=unmasked)
    if unmasked and not found:
        raise no_table(tail.parts.options.selection.tables)
    return found


def no_table(selected: Sequence[str]) -> UsageError:
    """The error where none of the selected tables is known."""
    return UsageError(
        "there is no table to begin with",
        expected="a table with cdc = true that is chosen",
        found=", ".join(selected) or "none with cdc = true",
        remedy="Name the server, which tells its tables: --server HOST; or wait until there is one.",
    )


def _chosen(tail: Tail, *, unmasked: bool) -> list[Table]:
    parts, history = tail.parts, tail.parts.definitions.history
    found = []
    for newest in parts.definitions.latest().values():
        if not _is_read(tail, newest):
            continue
        if parts.masks.of(newest.name):
            if unmasked:
                raise UsageError(
                    f"{newest.name} is masked, and a server's rows are not",
                    remedy="Leave out --mask or the snapshot, or the table: --exclude.",
                )
            continue
        earlier = [held for event in history.events for held in event.changed.values() if held.id == newest.id]
        found.append(Table.of(newest, earlier, native=(newest.id in history.native)))
    return found


def table_at(tail: Tail, id: str, at: Position) -> Table | None:
    """A table as it was defined at a position; None where it was not there, or not captured."""
    history = tail.parts.definitions.history
    held = history.newest_at(at).get(id)
    if held is None or not _is_read(tail, held):
        return None
    before = [each for event in history.events if event.at <= at for each in event.changed.values() if each.id == id]
    return Table.of(held, before, native=(id in history.native))


def is_over(tail: Tail, id: str) -> bool:
    """Whether the newest definition of a table is that it was dropped, or is not captured."""
    newest = tail.parts.definitions.newest_of(id)
    return newest is not None and not _is_read(tail, newest)


def _is_read(tail: Tail, held: TableDefinition) -> bool:
    return not held.dropped and tail.parts.options.selection.wants(held)
