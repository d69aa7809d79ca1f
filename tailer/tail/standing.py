"""Where a tail stands in its log: where it begins, how far its rows were taken, and what its consumer keeps of that.

The lower half of `Tail`, which looks, plans and reads. Plans nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tailer.errors import CdcError
from tailer.options.cassandra_yaml import server_settings
from tailer.planning.appeared import behind, with_taken
from tailer.planning.named_positions import (
    check_there,
    check_within,
    lowest_named,
    named_position,
    oldest_log,
    standing,
)
from tailer.planning.restart import check_restart, restart_of
from tailer.planning.two_positions import Target
from tailer.position import Position
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.schema.typed import TypedOptions, TypedTable
from tailer.segments.view import View
from tailer.state.consumer import Consumer
from tailer.state.consumers import NodeState
from tailer.state.learnt import Learnt
from tailer.state.offset import Memory, NodeOffset
from tailer.state.waiting import WaitingTable
from tailer.tail.beginning import Beginning
from tailer.tail.holding import Holding
from tailer.tail.kept import KeptPosition, Saving, Unsaved
from tailer.tail.learning import Learning
from tailer.tail.masked import MaskedTables
from tailer.tail.named import NamedTables
from tailer.tail.parts import TailParts
from tailer.tail.step import Step
from tailer.tail.taken_rows import TakenRows


class Standing:
    """Of one node's tail; see `Tail`."""

    def __init__(self, parts: TailParts, typed: TypedTable | None = None) -> None:
        self.where = parts.source.where
        self.options = parts.options
        self.offset = NodeOffset()
        self.memory = Memory()
        self.typed = typed
        self.waiting: tuple[WaitingTable, ...] = ()
        self.resumed = False
        self.named = NamedTables(parts)
        self.masked = MaskedTables(parts, self.named)
        self._beginning = Beginning(parts)
        self._learning = Learning(parts)
        self._parts = parts
        self._journal = parts.journal
        self._definitions = parts.definitions
        self._survey = parts.survey
        self._view: View = {}
        self._until: Position | None = None
        self._notices = [*parts.notices]
        if (file := parts.options.cassandra_yaml) is not None:
            self._notices += server_settings(file).notices()
        self._rows = TakenRows(self.is_native)
        self._holding = Holding(parts.hold, self._needed, parts.wall)
        self._kept = KeptPosition(parts)
        self._saved: NodeOffset | None = None
        self.unsaved: Unsaved | None = None
        self._others = parts.journal.foreign
        parts.outside.reads_ahead_by(lambda: self._read_ahead(self.offset.position))
        parts.faults.looks_ahead_by(self._created_at)
        self._learning.take_over()

    def open(self) -> None:
        """Find the position to begin at, and learn the definitions that lie before it."""
        node = self._kept.recall()
        if node is None:
            self._parts.taken.registering(self._register)
        else:
            self.resumed = True
            self.go_on(node.offset, node.memory, node)
            self._saved = self.offset
            if self.options.start != "earliest":
                stands = f"goes on at {self.offset.position}; --from is for its start"
                self._notices.append(f"consumer {self.options.consumer} {stands}")
        if (until := self.options.until) is not None:
            named = named_position(until, self._view, self._parts.reacher, self.options.node).offset
            self._journal.check_id(named)
            self._until = named.position
        if self.options.table is not None:
            self._fix_columns(self.options.table, None if node is None else self.offset.position)

    def _register(self) -> None:
        self.begin()
        # Else a restart right here, behind a compaction, would look like one from before it.
        self.offset = self._journal.stamped(self.offset)
        self._kept.register(self.offset)
        self.save()

    def begin(self) -> None:
        """A first start, where the options say."""
        with self._holding.beginning():
            self._find_place()
        self._parts.arrivals.adopt(self._view)
        self._learning.below(self.offset)
        self._parts.outside.give(None, lambda: self._read_ahead(None))
        self._parts.placement.give()
        self.named.check(None)
        self.masked.check(None)

    def _find_place(self) -> None:
        options, unread = self.options, self._parts.taken.unread
        self._parts.older.begin(lowest_named(options.start, options.node))
        self._look(self.offset)
        written, times = self._survey.written, self._parts.times.kept.of
        places = self._view, self._parts.reacher, options.node, unread, written, times
        appeared = self._parts.arrivals.before(self._view)
        found = named_position(options.start, *places, now=self._parts.wall(), appeared=appeared)
        if found.how:
            self._notices.append(found.how)
        self._journal.check_id(found.offset)
        if not (found.offset.done or options.accept_loss):
            check_there(found.offset.position, self._view)
        check_within(found.offset, self._survey)
        self.seek(standing(found.offset, self._view), found.memory)
        if self._parts.older.any and self.offset.s:
            # A transaction that is open here may have begun further back: it is of a history that is known.
            self._parts.older.begin(self.restart().segment)
            self._look(self.offset)
            self.memory = msgspec.structs.replace(self.memory, start=oldest_log(self._view))
        if not options.accept_loss:
            check_restart(self.restart(), self.offset.position, self._view)
        if found.whole:
            self._beginning.began(self._view)

    @property
    def state_id(self) -> str:
        """The random id of the state that positions are kept in."""
        return self._journal.id

    def tell_away(self, error: CdcError | None) -> None:
        """For who asks for status: what the rows go to cannot be reached; None: it can again."""
        if self._parts.consumer is not None:
            self._parts.consumer.away.tell(error)

    def report_waiting(self, tables: Sequence[WaitingTable]) -> None:
        """Write which tables' images wait in the target for a person. A node that serves its log does not keep that."""
        self.waiting = tuple(tables)
        if isinstance(self._parts.consumer, Consumer):
            self._parts.consumer.report_waiting(tables)

    def refuse_row(self, batch: AnyBatch, row: int, error: CdcError) -> None:
        """See `Faults.refuse_row`."""
        self._parts.faults.refuse_row(batch, row, error)

    def go_on(self, offset: NodeOffset, memory: Memory, held: NodeState | None = None) -> None:
        """A later start, where an earlier run stood. RefusedError for an offset that the journal does not fit.

        `held`: what its consumer's file says, perhaps of a lower offset.
        """
        self._journal.check(offset)
        self.seek(offset, memory)
        if held is not None:
            self._learning.recall(held)
        begins = [offset.s, *(segment for segment, _ in offset.p)]
        self._parts.older.begin(min([*begins, *(() if held is None else held.restart[:1])]))
        self._look(offset)
        self._learning.around(offset, self.restart())
        self._parts.outside.give(offset.position, lambda: self._read_ahead(offset.position), self._view)
        self._parts.placement.give()
        self.named.check(offset.position)
        self.masked.check(offset.position)

    def stand_at(self, target: Target | None, where: str) -> None:
        """Go on where the consumer's outlet is, which keeps `target`: what it lacks is read again for it.

        `where`: the target in words. Raises RefusedError where the two positions do not fit, LossError where what it
        lacks cannot be read any more.
        """
        offset, memory = self._kept.begin_at(target, where)
        if offset.places == self.offset.places:
            return
        if memory is not None:
            self.go_on(offset, memory)
        else:
            self._parts.taken.registering(lambda: self._go_back(offset))
        if self.options.table is not None:
            self._fix_columns(self.options.table, offset.position)

    def _go_back(self, offset: NodeOffset) -> None:
        """Stand at an offset that nobody held segments for until now."""
        if not offset.done:
            self._parts.older.begin(offset.s)
            self._look(offset)
            check_there(offset.position, self._view)
        coming = behind(offset, self._parts.arrivals.known())
        memory = self._parts.taken.fresh_memory(offset, coming)
        self.go_on(with_taken(offset, coming, memory), memory)
        check_restart(self.restart(), offset.position, self._view)
        self.save()

    def seek(self, offset: NodeOffset, memory: Memory) -> None:
        """Stand at an offset, with what the planner remembered there."""
        self.offset, self.memory = offset, memory
        self._rows.forget()

    def took(self, step: Step, task: ReadTask, batch: AnyBatch | None = None) -> None:
        """The rows of a step were taken up to a batch of the task, or all of the task's. `save` goes by that.

        Nothing new is said of a segment that no position can stand in: one without sidecar, until the next one.
        """
        if self._parts.consumer is not None:
            self._rows.note(step, task, batch)

    @property
    def taken(self) -> NodeOffset:
        """Behind everything that was taken: what `save` saves."""
        return self._rows.offset or self.offset

    @property
    def settled(self) -> bool:
        """Whether all rows that were taken lie before `taken`: none of a transaction that goes on."""
        return self._rows.whole

    @property
    def generation(self) -> int:
        """Of the consumer, see `NodeState`."""
        return self._kept.generation

    def save_taken(self) -> None:
        """Save the position where something of a step was taken that is not saved yet."""
        if self._rows.offset is not None and self._rows.offset != self._saved:
            self.save()

    def save(self) -> None:
        """Save the position as the consumer's: durable when this returns. Nothing to do without a consumer."""
        if self._parts.consumer is None:
            self._saved = self.taken
        else:
            self.save_as(self.to_save())

    def to_save(self) -> Saving:
        """What `save` would write now, for a reader that is ahead of what its consumer said to be safe."""
        taken = self.taken
        if self._parts.consumer is None:
            return Saving(taken, Memory(), taken.position, None)
        return Saving(taken, self._memory_taken(), self.restart(taken), self.learnt_at(taken))

    def save_as(self, what: Saving) -> None:
        """`save`, of where the tail stood when it gave `what`. Another thread than the tail's may call it, as long as
        neither is in it at once."""
        if self._parts.consumer is not None:
            self.unsaved = None if self._saved is None else Unsaved(self._saved, what)
            self._kept.save(what)
            self.unsaved = None
        self._saved = what.offset

    def catch_up(self, before: Unsaved) -> None:
        """Save what an earlier tail of this process could not, and go on behind it: its rows were taken.

        Nothing to do where the consumer stands elsewhere: somebody moved it, or it had been saved after all.
        """
        if self._saved is None or self._saved.places != before.saved.places:
            return
        self.save_as(before.what)
        self.go_on(before.what.offset, before.what.memory)
        if self.options.table is not None:
            self._fix_columns(self.options.table, self.offset.position)

    def announce(self) -> None:
        """Before a target keeps `taken`: what a restart there must know is durable when this returns."""
        self._kept.announce(self.taken, self._memory_taken(), self.restart(self.taken))

    def restart(self, offset: NodeOffset | None = None) -> Position:
        """Where reading must begin to see whole what is open at an offset, by default where the tail stands."""
        return restart_of(offset or self.offset, self._survey, self._definitions.in_records.restart)

    def learnt_at(self, offset: NodeOffset) -> Learnt | None:
        """What a later start at an offset need not search for definitions again; None where nothing is sure."""
        return self._learning.held_at(offset)

    def is_native(self, segment: int) -> bool:
        """Whether a segment is one of a service's own log."""
        return self._survey.is_native(segment)

    def _look(self, offset: NodeOffset) -> None:
        """What there is now; what was known of archived segments is in the journal when this returns."""
        self._view = self._survey.look(offset)
        if self._parts.older.journalled():
            self._learning.take_over()

    def _read_ahead(self, planned: Position | None) -> None:
        """Learn every definition that the log shows by now: what a server's response has of them counts from there."""
        self._view = self._survey.look(self.offset)
        self._learning.everything(self.offset, planned)

    def _created_at(self, table: str) -> Position | None:
        """Where the log, as far as it is there, shows the CREATE of a table."""
        self._read_ahead(self.offset.position)
        return self._definitions.history.created_at(table)

    def _memory_taken(self) -> Memory:
        return self.memory if self._rows.offset is None else self._rows.memory()

    def _needed(self) -> int:
        """The lowest segment that is read from here on."""
        lowest = min([self.restart().segment, *(segment for segment, _ in self.offset.p)])
        return max(lowest, min(self._view, default=0))

    def typed_form(self, table: str, options: TypedOptions, planned: Position | None) -> TypedTable:
        """The typed form of a table from here on: by everything that is there now, also ahead of the position.

        `planned`: up to where a run before this one came. DefinitionError where nothing defines the table.
        """
        self._learning.everything(self.offset, planned)
        fixed = self._definitions.typed(table, self.offset.position, options)
        return self._parts.masks.shown_typed(fixed)

    def _fix_columns(self, table: str, planned: Position | None) -> None:
        self.typed = self.typed_form(table, self.options.typed, planned)
