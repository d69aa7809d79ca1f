"""Cassandra's payload: entries are mutations, read by the definitions that were in force where they stand.

DefinitionsById change inside a span: the entries before a change and those behind it are read apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator

from tailer.errors import DefinitionError
from tailer.limits import ENTRY_OVERHEAD
from tailer.position import Position
from tailer.reading.in_force import InForce
from tailer.reading.payload import Entries
from tailer.reading.task import DefinitionsById, ReadTask
from tailer.rows.choice import AnyBatch, Decoded
from tailer.rows.explain import explain
from tailer.rows.mutations import read_mutations
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.rows.schema_row import schema_batch
from tailer.segments.group import Group

Prepare = Callable[[DefinitionsById, Position], Prepared]
"""DefinitionsById made ready; the position is that of the first entry that is to be read by them."""


class Mutations:
    """One task's mutations, group by group in log order. `unsigned`: local times are unsigned, from descriptor 8 on.
    `skipped` counts the entries passed over, by the id of their first table."""

    def __init__(self, task: ReadTask, unsigned: bool, prepare: Prepare, skipped: Counter[str]) -> None:
        self.unknown = 0
        self._task = task
        self._unsigned = unsigned
        self._prepare = prepare
        self._skipped = skipped
        self._in_force = InForce(task.definitions)
        self._changed = 0

    def parts(self, group: Group) -> Iterator[Entries | AnyBatch]:
        """The entries between two changes of definitions; behind each change, if they are wanted, its schema rows."""
        task, first, count = self._task, 0, len(group.starts)
        while first < count and self._changed < len(task.changes):
            change = task.changes[self._changed]
            edge = bisect_left(group.offsets, change.end)
            yield from self._entries(group, first, edge)
            # A change is told where its entry was read: not before the span, and in no group without that entry.
            told = task.schema_changes and change.told
            if told and first < edge and _entry_end(group, edge - 1) == change.end:
                place = Place(task.node, task.span.segment, [int(group.offsets[edge - 1])])
                yield schema_batch(change.definitions, self._in_force.all, task.selection, place, task.masks)
            first = edge
            if edge < count:
                # Else it may have been made by an entry of a later group.
                self._in_force.change(change.definitions)
                self._changed += 1
        yield from self._entries(group, first, count)

    def _entries(self, group: Group, first: int, end: int) -> Iterator[Entries]:
        if first >= end:
            return
        task, chosen = self._task, slice(first, end)
        at = Position(task.span.segment, int(group.offsets[first]))
        begin, behind = int(group.starts[first]), int(group.starts[end - 1] + group.sizes[end - 1])
        for definitions in self._in_force.reading(group.data, begin, behind):
            prepared = self._prepare(definitions, at)
        entries = Group(group.data, group.starts[chosen], group.sizes[chosen], group.offsets[chosen])
        yield MutationEntries(entries, task, prepared, self._unsigned, self._skipped)


class MutationEntries(Entries):
    """Mutations that are read by the same definitions."""

    def __init__(self, group: Group, task: ReadTask, prepared: Prepared, unsigned: bool, skipped: Counter[str]) -> None:
        super().__init__(group, task.span.segment, prepared)
        self.unsigned = unsigned
        self._task = task
        self._skipped = skipped

    def decode(self, chunk: Group, first: int) -> Decoded:
        what = chunk.data, chunk.starts, chunk.sizes, self.prepared, first, self.unsigned
        place = Place(self._task.node, self.segment, chunk.offsets, keeps_source=self._task.keeps_source)
        decoded = read_mutations(*what, place, self._task.typed)
        self._skipped.update({table_id.hex(): count for table_id, count in decoded.index.skipped.items()})
        return decoded

    def explain(self, decoded: Decoded, place: Place) -> DefinitionError:
        return explain(decoded.index, decoded.data, self.prepared, place)


def _entry_end(group: Group, number: int) -> int:
    return int(group.offsets[number] + group.sizes[number]) + ENTRY_OVERHEAD
