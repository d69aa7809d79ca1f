"""One node's tail: look, plan, learn definitions, and say what may be read now. The driver's side of a follower.

Holds what outlives a step: the survey, the journal, the consumer. Reads rows only through `read.py`, writes no row
anywhere; `follow.py` and the Spark source run it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from tailer.definitions.learning import Definitions
from tailer.definitions.notices import StaleFlags
from tailer.definitions.outside import OutsideSources
from tailer.errors import ACCEPT, CdcError, DefinitionError, LossError
from tailer.framing.section import Section
from tailer.jit.ready import take_notices
from tailer.limits import MIB, SETTLE_SECONDS
from tailer.options.tail import TailOptions
from tailer.planning.log_ends import LogEnds
from tailer.planning.named_positions import check_there, clip, named_position, standing
from tailer.planning.plan import Plan, accept_loss, plan
from tailer.planning.reach import Reacher
from tailer.planning.restart import check_restart, restart_of
from tailer.planning.survey import Survey
from tailer.position import Position, Span
from tailer.reading.reader import AnyBatch, Reader, unknown_notice
from tailer.reading.task import ReadTask
from tailer.schema.typed import TypedTable
from tailer.segments.folder import check_folder
from tailer.segments.run import Run
from tailer.segments.view import SegmentView
from tailer.segments.wake import Waker, open_waker
from tailer.state.cleaned import Cleaned
from tailer.state.consumers import LOCK_SECONDS, Consumer, NodeState, make_folder
from tailer.state.journal import Journal, state_folder
from tailer.state.lock import state_lock
from tailer.state.offset import Memory, NodeOffset
from tailer.state.quarantine import Quarantine
from tailer.tail.step import Step

STEP_BYTES: Final = 8 * MIB
"""Logical bytes of one step: positions are saved this often in a backlog, and memory stays small."""


class Tail:
    """Follows one node's log folder. Not thread-safe; close it.

    `writes`: keep a journal (and the consumer's position) in the state folder; without, everything learnt is forgotten.
    `lock_seconds`: how long to wait for the consumer's lock. `skipped`: what this run put aside, and how many bytes.
    `typed`: the typed form, where one was asked for, fixed when the tail is opened. `resumed`: it goes on where its
    consumer stood.
    """

    def __init__(
        self,
        folder: Path,
        options: TailOptions,
        *,
        writes: bool = True,
        lock_seconds: float = LOCK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        check_folder(folder)
        self.folder = folder
        self.options = options
        self._wall = wall
        keys = options.keys()
        state = state_folder(folder, options.state)
        if writes:
            make_folder(state)
        self.consumer = Consumer(state, options.consumer, lock_seconds) if options.consumer and writes else None
        self.journal = Journal(state, writable=writes)
        self.definitions = Definitions(self.journal, options.selection, tolerant=options.quarantine)
        shared = state_folder(folder)
        self.cleaned = Cleaned(shared)
        self._registered = shared if self.consumer is not None and state == shared else None
        self.survey = Survey(
            folder,
            keys=keys,
            stopped=options.stopped,
            quiet_seconds=options.assume_finished_after,
            cleaned=self.cleaned.refresh,
            clock=wall,
        )
        self._reacher = Reacher(
            self.survey,
            self.definitions.collect,
            visible_within=SETTLE_SECONDS if options.settle_seconds is None else options.settle_seconds,
            quarantine=options.quarantine,
            accept_loss=options.accept_loss,
            clock=clock,
        )
        self._log_ends = LogEnds(self.journal, self.survey, self._reacher, options)
        self.quarantine = Quarantine(state if writes else None, options.consumer, options.node)
        self._outside = OutsideSources(options, self.definitions, clock)
        self._reader = Reader()
        self._stale = StaleFlags()
        self.offset = NodeOffset()
        self.memory = Memory()
        self.skipped: list[tuple[Position, int]] = []
        self.typed: TypedTable | None = None
        self.resumed = False
        self._view: dict[int, SegmentView] = {}
        self._waker: Waker | None = None
        self._until: Position | None = None
        self._notices: list[str] = []
        self._others = self.journal.foreign
        self._log_ends.load()

    def open(self) -> None:
        """Find the position to begin at, and learn the definitions that lie before it."""
        node = self.consumer.node(self.options.node) if self.consumer is not None else None
        if node is None:
            with self.registering():
                self.begin()
                self.save()
        else:
            self.resumed = True
            self.go_on(node.offset, node.memory)
            if self.options.start != "earliest":
                self._notices.append(
                    f"consumer {self.options.consumer} goes on at {self.offset.position}; --from is for its start"
                )
        if (until := self.options.until) is not None:
            self._until = named_position(until, self._view, self._reacher, self.options.node).offset.position
        if self.options.table is not None:
            self._fix_columns(self.options.table, None if node is None else self.offset.position)

    @contextmanager
    def registering(self) -> Iterator[None]:
        """From finding where a consumer begins until that is saved, `clean` deletes nothing."""
        if self._registered is None:
            yield
        else:
            with state_lock(self._registered):
                yield

    def fresh_memory(self, offset: NodeOffset) -> Memory:
        """What a position has to know that no consumer held until now: what `clean` took away ahead of it."""
        self.cleaned.refresh()
        return Memory(seen=self.cleaned.unread(offset.s, [segment for segment, _ in offset.p]))

    def begin(self) -> None:
        """A first start, where the options say."""
        self._view = self.survey.look(self.offset)
        found = named_position(self.options.start, self._view, self._reacher, self.options.node, self.cleaned.unread)
        if not (found.offset.done or self.options.accept_loss):
            check_there(found.offset.position, self._view)
        self.offset, self.memory = standing(found.offset, self._view), found.memory
        if not self.options.accept_loss:
            check_restart(self.restart(), self.offset.position, self._view)
        self._notices.extend(found.notices)
        self._learn_below()
        self._outside.give(None)

    def go_on(self, offset: NodeOffset, memory: Memory) -> None:
        """A later start, where an earlier run stood."""
        self.seek(offset, memory)
        self._view = self.survey.look(offset)
        self._learn_around(offset)
        self._outside.give(offset.position)

    def seek(self, offset: NodeOffset, memory: Memory) -> None:
        """Stand at an offset, with what the planner remembered there."""
        self.offset, self.memory = offset, memory

    def freeze(self) -> bool:
        """From now on only what is there now is planned; False while a look alone cannot tell what is there."""
        self._view = self.survey.look(self.offset)
        if any(seen.sidecar and not seen.log and not seen.orphan for seen in self._view.values()):
            return False
        self.survey.freeze()
        return True

    def _fix_columns(self, table: str, planned: Position | None) -> None:
        """The typed form of this run: by everything that is there now, also ahead of the position."""
        for segment in self.survey.segments():
            self._reacher.learn(segment)
        self.definitions.learn_collected(planned)
        self.typed = self.definitions.typed(table, self.offset.position, self.options.typed)

    def close(self) -> None:
        self.survey.close()
        if self._waker is not None:
            self._waker.close()
        if self.consumer is not None:
            self.consumer.close()

    def __enter__(self) -> Tail:
        self.open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def wait(self, seconds: float) -> bool:
        """Wait until something in the folder changes, or as long as is safe without a hint; True to look at once."""
        if self._waker is None:
            # The first look came before the watch: look again at once, or a change in between waits for the poll.
            self._waker = open_waker(self.folder)
            return True
        return self._waker.wait(seconds)

    def step(self, budget: int = STEP_BYTES) -> Step:
        """One look and one plan. Definitions that its tasks need are in the journal when this returns."""
        while True:
            self.journal.refresh()
            if (others := self.journal.foreign) != self._others:
                self._others = others
                self.definitions.sync()
                self._log_ends.load()
            made = self._look_and_plan(budget)
            # What others journalled after the look must not count for this plan, but has numbers below our own.
            if self.journal.foreign == others:
                break
        made.offset = NodeOffset(self.journal.count, *_places(made.offset))
        return self._as_step(made)

    def handed(self, segment: int, section: Section, run: Run, path: Path) -> Step:
        """The step of a section whose good bytes somebody hands over: nothing is looked at and nothing read.

        The tail stands right before it. `path`: the segment's file, wherever the folder has it now; FileNotFoundError
        where that is gone.
        """
        self.survey.file(segment, path).kept.keep(section.start, run)
        self.definitions.collect(segment, run)
        self.definitions.learn_collected(self.offset.position)
        span = Span(segment, section.start, section.end, section.at, section.start, section.end)
        offset = NodeOffset(self.journal.count, segment, section.end, False, self.offset.p)
        return self._as_step(Plan(offset, self.memory, [span]))

    def _look_and_plan(self, budget: int) -> Plan:
        self._view = self.survey.look(self.offset)
        self._take_losses()
        self._log_ends.check_growth()
        if (news := self._outside.refresh(self._view, self.offset.position)) is not None:
            self._notices.append(news)
        made = plan(
            self._view,
            self.offset,
            self.memory,
            self._reacher,
            budget,
            wide=self.definitions.wide(),
            dropped=self.survey.dropped,
        )
        for segment in sorted({*made.passed, *(segment for segment, _ in made.offset.p)}):
            self._reacher.learn(segment)
        self._log_ends.record()
        self.definitions.learn_collected(self.offset.position)
        return made

    def _take_losses(self) -> None:
        """What `clean --force` took from this consumer it has seen, in a way: the planner tells that it is gone."""
        if self._registered is None or not (lost := self.cleaned.lost(str(self.options.consumer))):
            return
        late = {segment for segment, _ in self.offset.p}
        ahead = {each for each in lost if each > self.offset.s or each in late}
        new = {each for each in ahead if each >= self.memory.lost_below} - self.memory.seen
        if new:
            self.memory = msgspec.structs.replace(self.memory, seen=self.memory.seen | new)

    def advance(self, step: Step) -> None:
        """Stand behind a step whose tasks were delivered."""
        self.offset, self.memory = step.offset, step.memory

    def save(self) -> None:
        """Save the position as the consumer's: durable when this returns. Nothing to do without a consumer."""
        if self.consumer is not None:
            state = NodeState(self.offset, self.memory, restart=self.restart())
            self.consumer.save(self.options.node, state, moved=self._wall(), program=self.options.program)

    def restart(self, offset: NodeOffset | None = None) -> Position:
        """Where reading must begin to see whole what is open at an offset, by default where the tail stands."""
        return restart_of(offset or self.offset, self.survey, self.definitions.native.restart)

    def read(self, task: ReadTask) -> Iterator[AnyBatch]:
        """The task's rows, in log order. Where a definition is missing the server, if there is one, is asked again."""
        file = self.survey.file(task.span.segment)
        self._stale.enter(task.span.segment, self._view)
        while True:
            try:
                yield from self._reader.read(task, file, self._on_fault, self.survey)
                break
            except _NewDefinitionsError as news:
                task = self._from_there(task, news.at)
        if not task.selection.tables:
            self._notices.extend(self._stale.about(self._reader.skipped, task.definitions))
        if self._reader.unknown:
            self._notices.append(unknown_notice(self._reader.unknown))
            self._reader.unknown = 0

    def _from_there(self, task: ReadTask, at: Position) -> ReadTask:
        """The rest of a task from an entry on, by what is known now."""
        span = replace(task.span, lower=at.offset)
        fresh = self.definitions.task(task.node, span, schema_changes=task.schema_changes)
        return replace(fresh, typed=task.typed)

    def left_out(self) -> list[str]:
        """A sentence for each column that rows had and this run's typed form has not."""
        counts = self._reader.left_out.items()
        return [
            f'{count} values of column "{name}" were left out, which is newer than this run' for name, count in counts
        ]

    def accept(self, error: CdcError) -> Position | None:
        """Go on behind a loss, if that was chosen; the position that reading continues at, None if it was not."""
        if not (isinstance(error, LossError) and self.options.accept_loss):
            return None
        lost = error.at or self.offset.position
        self.offset, self.memory, to = accept_loss(self._view, self.offset, self.memory, self.survey.dropped)
        self.journal.append_loss(self.options.consumer, lost, to)
        return to

    def _as_step(self, made: Plan) -> Step:
        notices = [*self._notices, *made.notices, *self.definitions.take_notices(), *take_notices()]
        self._notices = []
        self.definitions.history_begins = made.memory.start
        spans, finished = clip(made.spans, self._until, made.offset.position)
        changes = self.options.schema_changes
        tasks = [self.definitions.task(self.options.node, span, schema_changes=changes) for span in spans]
        if self.typed is not None:
            tasks = [replace(task, typed=self.typed) for task in tasks]
        moved = _places(made.offset) != _places(self.offset)
        offset = made.offset
        if finished and self._until is not None and offset.position > self._until:
            offset = NodeOffset(offset.j, self._until.segment, self._until.offset, False, offset.p)
        error = self._blame(made.error)
        return Step(tasks, offset, made.memory, moved, notices, error, made.held, made.waiting, finished)

    def _blame(self, error: CdcError | None) -> CdcError | None:
        """A loss by our own hand says so."""
        if self._registered is None or not isinstance(error, LossError) or error.at is None:
            return error
        if error.at.segment not in self.cleaned.lost(str(self.options.consumer)):
            return error
        what = f"Changes are lost: `clean --force` deleted segment {error.at.segment} before it was read to its end"
        return LossError(f"{what}; the first position not read is {error.at}", at=error.at, remedy=ACCEPT)

    def _on_fault(self, at: Position, error: CdcError, data: bytes) -> None:
        if isinstance(error, DefinitionError) and self._outside.ask_again(at, self.offset.position):
            raise _NewDefinitionsError(at)
        if isinstance(error, LossError) and self.options.accept_loss:
            self.lose(at, error, len(data))
            return
        if not self.options.quarantine or isinstance(error, LossError):
            raise error
        self.keep(at, error, data)

    def lose(self, at: Position, error: LossError, size: int) -> None:
        """Accept that a transaction is lost, and decide for good that its commit gives no row."""
        consumer = self.options.consumer
        self.journal.append_loss(consumer, at, Position(at.segment, at.offset + size))
        self.journal.append_skip(consumer, at, error, size)
        self.skipped.append((at, size))
        self._notices.append(f"{error.sentence()} Accepted: none of its rows come.")

    def keep(self, at: Position, error: CdcError, data: bytes) -> None:
        """Put what cannot be delivered aside, and decide for good that it is left out."""
        self.quarantine.keep(at, self.survey.log_name(at.segment), error, data)
        self.journal.append_skip(self.options.consumer, at, error, len(data))
        self.skipped.append((at, len(data)))

    def _learn_around(self, offset: NodeOffset) -> None:
        """Definitions of a native log stand in each segment, and a consumer may have been moved over some."""
        if self.survey.is_native(offset.s):
            for segment in self.survey.between(self.restart().segment, offset.s):
                self._reacher.learn(segment)
            self.definitions.learn_collected(None)

    def _learn_below(self) -> None:
        for segment in self.survey.segments():
            if segment < self.offset.s or (segment == self.offset.s and self.offset.o > 0):
                self._reacher.learn(segment)
        self.definitions.learn_collected(None)


class _NewDefinitionsError(Exception):
    """Not an error for anybody: reading starts again at an entry, because more is known now."""

    def __init__(self, at: Position) -> None:
        self.at = at


def _places(offset: NodeOffset) -> tuple[int, int, bool, tuple[tuple[int, int], ...]]:
    """The offset without its journal count: whether it moved is about the log alone."""
    return offset.s, offset.o, offset.done, offset.p
