"""Which tables stand in the log that was walked here: a task that goes to another process needs no other definitions.

A mutation is of one keyspace (`org.apache.cassandra.db.Mutation`): the tables behind its first one are of that too.
Reads no segment: runs are handed in. What it does not know it says: then a task has all definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tailer.definitions.at_spans import builtin
from tailer.errors import DefinitionError
from tailer.position import Span
from tailer.reading.task import DefinitionsById, ReadTask
from tailer.rows.prepared import SYSTEM_LOCAL, prepare
from tailer.schema.builtin import system_tables
from tailer.schema.model import TableDefinition
from tailer.schema.selection import Selection
from tailer.segments.heads import FirstTables, first_word
from tailer.segments.run import Run

FEW_TABLES: Final = 64
"""So many definitions are some ten kilobytes: they go along whatever stands in the log."""

KEPT_MAX: Final = 16
"""Parts of the same definitions that are kept: a batch needs about one for each segment."""

_Words = tuple[frozenset[int], frozenset[int]]


@dataclass(slots=True)
class _Walked:
    """What was walked of a segment without a gap, and how the ids in it begin.

    `unread`: an entry of several tables could not be read by what was known then, so it may be of any.
    """

    start: int
    edge: int
    words: set[int] = field(default_factory=set)
    shared: set[int] = field(default_factory=set)
    unread: bool = False


class TablesMet:
    """What runs held, by segment."""

    def __init__(self) -> None:
        self._walked: dict[int, _Walked] = {}
        self._narrow: _Narrow | None = None
        self._known: tuple[DefinitionsById, frozenset[int]] | None = None

    def note(self, segment: int, run: Run, found: FirstTables | None, *, unread: bool = False) -> None:
        """A run was walked, and these tables found in it; `unread`: see `_Walked`."""
        if found is None:
            self._walked.pop(segment, None)
            return
        start = int(run.sections[0])
        held = self._walked.get(segment)
        if held is None or not held.start <= start <= held.edge:
            held = self._walked[segment] = _Walked(start, start)
        held.edge = max(held.edge, run.edge)
        held.words |= found.words
        held.shared |= found.shared
        held.unread = held.unread or unread

    def forget_below(self, segment: int) -> None:
        """What lies there was read."""
        self._walked = {each: held for each, held in self._walked.items() if each >= segment}

    def narrowed(self, task: ReadTask) -> ReadTask:
        """The task with those of its definitions that reading it can need; with all where that is not known.

        Its rows and its errors are the same. Changes inside the span, and what rows of them need, stay as they are.
        """
        words = None if task.schema_changes else self._words(task.span)
        if words is None or len(task.definitions) - len(builtin()) <= FEW_TABLES:
            return task
        if self._narrow is None or not self._narrow.is_of(task):
            self._narrow = _Narrow(task.definitions, task.selection)
        return replace(task, definitions=self._narrow.to(words))

    def may_be_unknown(self, task: ReadTask) -> bool:
        """Whether an entry of a task may be of a table that none of its definitions names.

        False is sure but for ids that begin alike: then whoever reads the task finds it.
        """
        held = self._of(task.span)
        if held is None or held.unread:
            return True
        return not held.words <= self._known_words(task.definitions) | _words_of(task)

    def _known_words(self, definitions: DefinitionsById) -> frozenset[int]:
        if self._known is None or self._known[0] is not definitions:
            ids = (*definitions, *builtin(), *system_tables())
            self._known = definitions, frozenset(map(_word, ids))
        return self._known[1]

    def _words(self, span: Span) -> _Words | None:
        held = self._of(span)
        return None if held is None else (frozenset(held.words), frozenset(held.shared))

    def _of(self, span: Span) -> _Walked | None:
        held = self._walked.get(span.segment)
        if held is None or not held.start <= span.start <= span.end <= held.edge:
            return None
        return held


class _Narrow:
    """Parts of the same definitions: the same object for the same ids, so that it is packed once."""

    def __init__(self, whole: DefinitionsById, selection: Selection) -> None:
        self._whole = whole
        self._selection = selection
        self._by_word: dict[int, list[str]] = {}
        self._of_keyspace: dict[str, list[str]] = {}
        for table, held in whole.items():
            self._by_word.setdefault(_word(table), []).append(table)
            self._of_keyspace.setdefault(held.keyspace, []).append(table)
        # Told by whoever reads with them, whether an entry is of their tables or not.
        unusable = {table for table in selection.ids(whole) if not _usable(table, whole[table])}
        self._always = unusable | builtin().keys()
        # What these begin says nothing of other tables: a server's own that nobody reads are passed over unlooked at.
        self._telling = {*self._by_word, *map(_word, system_tables())} - {_word(SYSTEM_LOCAL)}
        self._made: dict[_Words, Mapping[str, TableDefinition]] = {}

    def is_of(self, task: ReadTask) -> bool:
        return self._whole is task.definitions and self._selection == task.selection

    def to(self, words: _Words) -> Mapping[str, TableDefinition]:
        """All where an entry may be of any table: behind one that is defined in the span itself, or nowhere, and in
        `system.local`, which says of others that they were truncated."""
        first, shared = words
        if not first <= self._telling:
            return self._whole
        if words not in self._made:
            if len(self._made) >= KEPT_MAX:
                self._made.clear()
            tables = {table for word in first for table in self._by_word.get(word, ())}
            keyspaces = {self._whole[table].keyspace for word in shared for table in self._by_word.get(word, ())}
            tables |= self._always | {table for keyspace in keyspaces for table in self._of_keyspace[keyspace]}
            self._made[words] = {table: held for table, held in self._whole.items() if table in tables}
        return self._made[words]


def _words_of(task: ReadTask) -> frozenset[int]:
    """Of the tables that are defined inside a task's span. One that is created there may be met before that only if its
    id is used twice: whoever reads the task finds it."""
    return frozenset(_word(table) for change in task.changes for table in change.definitions)


def _word(table: str) -> int:
    return first_word(bytes.fromhex(table))


def _usable(table: str, definition: TableDefinition) -> bool:
    try:
        prepare({table: definition}, (table,))
    except DefinitionError:
        return False
    return True
