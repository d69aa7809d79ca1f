"""One node's tail: look, plan, learn definitions, and say what may be read now. The driver's side of a follower.

Where it stands is in `standing.py`. Holds what the last look showed; its parts come ready from `open.py`. Reads rows
only through its reader, writes no row anywhere; `follow.py`, `deliver.py` and the Spark source run it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from tailer.definitions.notices import StaleFlags
from tailer.errors import CdcError, LossError, OtherKeyError
from tailer.framing.section import Section
from tailer.jit.ready import take_notices
from tailer.limits import MIB
from tailer.planning.absent import without_evidence
from tailer.planning.appeared import accepted, begun
from tailer.planning.batch_tasks import FileTask, Shape
from tailer.planning.loss import accept_loss
from tailer.planning.named_positions import clip
from tailer.planning.plan import Edge, Plan, plan
from tailer.position import Position, Span
from tailer.reading.counted_notices import CountedNotices
from tailer.reading.reader import count_left_out
from tailer.reading.replaced_texts import count_replaced
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.schema.model import TableDefinition
from tailer.schema.typed import TypedTable
from tailer.segments.gaps import gaps
from tailer.segments.run import Run
from tailer.segments.segment import SegmentFile
from tailer.segments.view import ids_of
from tailer.segments.wake import Waker
from tailer.sinks.in_force import Version
from tailer.state.offset import NodeOffset
from tailer.tail.created_again import CreatedAgain
from tailer.tail.faults import NewDefinitionsError
from tailer.tail.parts import TailParts
from tailer.tail.standing import Standing
from tailer.tail.step import Step

STEP_BYTES: Final = 8 * MIB
"""Logical bytes of one step: positions are saved this often in a backlog, and memory stays small."""


class Tail(Standing):
    """Follows one node's log folder. Not thread-safe; close it.

    `typed`: the typed form of its rows, given, or fixed when the tail is opened where the options ask for one.
    `resumed`: it goes on where its consumer stood.
    """

    def __init__(self, parts: TailParts, typed: TypedTable | None = None) -> None:
        super().__init__(parts, typed)
        self._stale = StaleFlags(parts.options.selection)
        self._versions: dict[str, tuple[tuple[int, int], list[Version]]] = {}
        self._waker: Waker | None = None
        self._absent: list[str] = []
        self._left_out = CountedNotices()
        self._created_again = CreatedAgain(parts.definitions.history, parts.outside)

    @property
    def parts(self) -> TailParts:
        """What it is made of, for who measures it and changes nothing there."""
        return self._parts

    @property
    def quarantined(self) -> int:
        """How many entries this run put aside."""
        return self._parts.faults.quarantined

    @property
    def entries(self) -> int:
        """How many entries were checked so far."""
        return self._definitions.entries

    def freeze(self) -> bool:
        """From now on only what is there now is planned; False while a look alone cannot tell what is there."""
        self._view = self._survey.look(self.offset)
        if any(seen.sidecar and not seen.log and not seen.orphan for seen in self._view.values()):
            return False
        self._survey.freeze()
        return True

    def close(self) -> None:
        with ExitStack() as ends:
            ends.callback(self._parts.close)
            if self._waker is not None:
                ends.callback(self._waker.close)
            ends.callback(self._holding.let_go)

    def __enter__(self) -> Tail:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def listen(self) -> bool:
        """Hear of changes in the folder from now on. True where that has only begun: look again at once, or a change
        between the look and the watch waits for the poll."""
        if self._waker is not None:
            return False
        self._waker = self._parts.source.waker()
        self._survey.listen(self._waker.names)
        return True

    @property
    def descriptor(self) -> int | None:
        """Readable while there is a hint of a change that no look has taken; None where nothing hints."""
        return None if self._waker is None else self._waker.descriptor()

    def wait(self, seconds: float) -> bool:
        """Wait until something in the folder changes, or as long as is safe without a hint; True to look at once."""
        if self._waker is None:
            return self.listen()
        return self._waker.wait(seconds)

    def step(self, budget: int = STEP_BYTES) -> Step:
        """One look and one plan. Definitions that its tasks need are in the journal when this returns."""
        while True:
            self._journal.refresh()
            self._journal.check_same(self.offset)
            self._holding.go_on()
            if (others := self._journal.foreign) != self._others:
                self._others = others
                self._learning.take_over()
            made = self._look_and_plan(budget)
            # What others journalled after the look must not count for this plan, but has numbers below our own.
            if self._journal.foreign == others:
                break
        made.offset = self._journal.stamped(made.offset)
        return self._as_step(made)

    def handed(self, segment: int, section: Section, run: Run, path: Path) -> Step:
        """The step of a section whose good bytes somebody hands over: nothing is looked at and nothing read.

        The tail stands right before it. `path`: the segment's file, wherever the folder has it now; FileNotFoundError
        where that is gone.
        """
        self._survey.file(segment, path).kept.keep(section.start, run)
        self._definitions.collect(segment, run)
        self._definitions.learn_collected(self.offset.position, Position(segment, section.end))
        span = Span(segment, section.start, section.end, section.at, section.start, section.end)
        offset = self._journal.stamped(NodeOffset(0, segment, section.end, False, self.offset.p))
        memory = self.memory
        return self._as_step(Plan(offset, memory, [span], edges={segment: Edge(offset, lambda: memory)}))

    def tasks(self, step: Step, piece_bytes: int) -> list[FileTask]:
        """A step's tasks by what is known and decided now, in pieces of about so many bytes."""
        return self._parts.batches.of([task.span for task in step.tasks], self._shape(step.memory.start), piece_bytes)

    def advance(self, step: Step) -> None:
        """Stand behind a step whose tasks were delivered."""
        self.seek(step.offset, step.memory)

    def read(self, task: ReadTask) -> Iterator[AnyBatch]:
        """The task's rows, in log order. Where a definition is missing the server, if there is one, is asked again."""
        reader = self._parts.reader
        if self._parts.faults.file_of(task.span) is None:
            return
        self._stale.enter(task.span.segment, ids_of(self._view))
        with self._survey.opened(task.span.segment) as file:
            yield from self._read(task, file)
        self._notices += [*self._stale.about(reader.skipped, task.definitions), *reader.take_notices()]
        count_left_out(reader.left_out, ", which is newer than this run", self._left_out)
        count_replaced(reader.replaced, self._left_out)

    def _read(self, task: ReadTask, file: SegmentFile) -> Iterator[AnyBatch]:
        reader, on_fault = self._parts.reader, self._parts.faults.reading(self.offset.position)
        while True:
            try:
                for batch in reader.read(task, file, on_fault, self._survey):
                    again = self._created_again.new_definition(batch)
                    if again is not None:
                        row, at = again
                        if row:
                            self._rows.meet(batch)
                            yield batch.slice(0, row)
                        raise NewDefinitionsError(at)
                    self._rows.meet(batch)
                    self._holding.go_on()
                    yield batch
                break
            except OtherKeyError as error:
                begins = self._definitions.key_begins(error.table)
                if begins is not None and error.at is not None and begins > error.at:
                    error.begin_at(begins, self.options.node if self.options.peers else None)
                raise
            except NewDefinitionsError as news:
                rest = replace(task.span, lower=news.at.offset)
                ((task, _),) = self._parts.batches.of([rest], self._shape(task.history_begins))

    def take_notices(self) -> list[str]:
        """What there is to say by now. A step has it with it."""
        also = (self._parts.faults, self._parts.older, self._parts.outside)
        parts = (self._holding, self._survey, self._definitions, *also)
        notices = [*self._notices, *(line for part in parts for line in part.take_notices()), *take_notices()]
        self._notices = []
        return [*notices, *self._left_out.take()]

    def last_notices(self) -> list[str]:
        """What is still to be told when a run ends: of what was read last, and how much was left out."""
        return [*self.take_notices(), *self._parts.faults.last_notices(), *self._left_out.take(last=True)]

    def accept(self, error: CdcError) -> Position | None:
        """Go on behind a loss, if that was chosen; the position that reading continues at, None if it was not."""
        if not (isinstance(error, LossError) and self.options.accept_loss):
            return None
        settled, lost = self._saved == self.offset, error.at or self.offset.position
        here = self._view.get(lost.segment)
        if left_out := self._parts.arrivals.left_out(lost.segment):
            to = Position(lost.segment + 1, 0)
            self.memory = accepted(begun(self._view, self.offset, self.memory), left_out)
        elif here is not None and here.log and lost.segment < self._parts.taken.forgotten:
            # It is there, below what is remembered, and is of no interest from now on.
            to = Position(lost.segment + 1, 0)
            self.memory = msgspec.structs.replace(self.memory, lost_below=max(self.memory.lost_below, to.segment))
        else:
            self.offset, self.memory, to = accept_loss(self._view, self.offset, self.memory, self._survey.dropped)
        self._journal.append_loss(self.options.consumer, lost, to)
        if settled:
            # Once and for all, also where nothing is left to read.
            self.save()
        return to

    def undecided(self) -> CdcError | None:
        """For a run that does not wait: the error where a segment has appeared that might still be seen to grow."""
        return self._parts.arrivals.undecided()

    def note_begun(self) -> None:
        """Remember where this consumer begins, and what was there below, before its first plan."""
        self.memory = begun(self._view, self.offset, self.memory, self._parts.arrivals.known())

    def segments(self) -> Iterable[int]:
        """Ids that had a log at the last look, ascending."""
        return self._survey.segments()

    def log_name(self, segment: int) -> str:
        """The file name of a segment."""
        return self._survey.log_name(segment)

    def definition(self, table: str) -> TableDefinition | None:
        """The newest definition of a table, by its id as 32 hex digits, as the rows have it."""
        newest = self._definitions.newest_of(table)
        return None if newest is None else self._parts.masks.shown(newest)

    def versions(self, table: str) -> Sequence[Version]:
        """The definitions that a table had, by its id as 32 hex digits, each with the place from which rows have it."""
        history = self._definitions.history
        known = self._versions.get(table)
        if known is None or known[0] != history.version:
            made = [Version(at, self._parts.masks.shown(held)) for at, held in history.versions_of(table)]
            known = self._versions[table] = history.version, made
        return known[1]

    def unfinished(self) -> list[int]:
        """Segments from the position on that may still grow, for all that was seen of them."""
        survey = self._survey
        return [s for s in survey.segments() if s >= self.offset.s and survey.sighting(s).finished is None]

    def _look_and_plan(self, budget: int) -> Plan:
        self._look(self.offset)
        self.memory = self._parts.older.remembered(self.offset, self._parts.taken.remembered(self.offset, self.memory))
        self._parts.log_ends.check_growth()
        self._parts.times.note(self._parts.log_ends.judged)
        told = self._parts.outside.refresh(self._view, self.offset.position), self._parts.placement.refresh()
        self._notices += [news for news in told if news is not None]
        made = plan(
            self._view,
            self.offset,
            self.memory,
            self._parts.reacher,
            budget,
            wide=self._definitions.wide(min([self.offset.position, *(Position(*late) for late in self.offset.p)])),
            dropped=self._survey.dropped,
            forgotten=self._parts.taken.forgotten,
            segments=self._survey.files.planned_most,
            appeared=self._parts.arrivals.all(),
            settled=self._survey.frozen,
            taken=self._parts.taken.lost,
        )
        self._notices += self._parts.arrivals.note(made, self.offset)
        if self._survey.empty:
            made = without_evidence(made, self._survey.taken_away, self.offset, self.memory)
            made.notices, self._absent = [] if self._absent == made.notices else made.notices, made.notices
        else:
            self._absent = []
        error = self._learning.planned(made.passed, self.offset.position, made.offset)
        if error is not None:
            if error.at is None or error.at <= self.offset.position:
                raise error
            # What stands before it comes first; the next plan begins at it.
            made.spans, _ = clip(made.spans, error.at, made.offset.position)
            made.offset = msgspec.structs.replace(made.offset, s=error.at.segment, o=error.at.offset, done=False)
            made.error = error
        if self._parts.outside.asks:
            for at in gaps(self._view, self.offset.position, made.spans):
                self._parts.outside.behind_gap(at, self._view)
            self._parts.outside.ask_behind_gap(self.offset.position, self._view)
        return made

    def _as_step(self, made: Plan) -> Step:
        self.masked.check_news()
        notices = [*made.notices, *self.take_notices()]
        spans, finished = clip(made.spans, self._until, made.offset.position)
        tasks = [task for task, _ in self._parts.batches.of(spans, self._shape(made.memory.start))]
        moved = made.offset.places != self.offset.places
        # Only then all that is there has been read once.
        idle = finished or not (tasks or moved or made.waiting or made.error)
        notices += self._beginning.notices(made.offset.position, idle=idle)
        if idle:
            notices += self.named.notices()
        offset = made.offset
        if finished and self._until is not None and offset.position > self._until:
            offset = msgspec.structs.replace(offset, s=self._until.segment, o=self._until.offset, done=False)
        error = self._parts.older.blame(self._parts.taken.blame(self._parts.arrivals.blame(made.error)))
        held, waiting, absent = made.held, made.waiting, made.absent
        return Step(tasks, offset, made.memory, moved, notices, error, held, waiting, finished, absent, made.edges)

    def _shape(self, history_begins: int) -> Shape:
        """Rows of this run: in the form that its options ask for, by all that is known now."""
        ring = self._parts.placement.ring()
        return Shape(self._parts.row_options(self.typed), history_begins, self._definitions.at, ring)
