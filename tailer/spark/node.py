"""One node of a query: its tail, and what was handed out of it. Lives in the process that runs the source.

Plans on from where it stands (`node_standing.py`), and makes the tasks of a batch. Knows no other node.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tailer.errors import CdcError, RefusedError
from tailer.limits import MIB
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.planning.absent import check_mounted, file_now
from tailer.planning.batch_tasks import BatchTasks, FileTask, pin_start
from tailer.position import Position
from tailer.reading.reader import Reader
from tailer.schema.typed import TypedTable
from tailer.segments.folder import check_folder
from tailer.segments.group import OnFault
from tailer.segments.segment import SegmentFile
from tailer.spark.backlog import GivenUp, NodeProgress, backlog, newest
from tailer.spark.carry import PIECE_BYTES_MAX, CarriedSpan, carried
from tailer.spark.node_standing import NodeStanding, Say
from tailer.spark.row_job import pack_rows
from tailer.state.consumers import Mark
from tailer.state.offset import NodeOffset
from tailer.tail.faults import NewDefinitionsError
from tailer.tail.follow import Stalled, acceptance
from tailer.tail.snapshot.tables import LogTables, log_tables
from tailer.tail.step import Step

STEP_BYTES: Final = 64 * MIB
SMALL_BYTES: Final = 4 * MIB
"""So much log of a node elsewhere is sent along in a batch's tasks; see `Node.is_small`."""

SILENT_BYTES: Final = 64 * MIB
"""Log without a row of interest is handed out after so much of it."""


class Node(NodeStanding):
    """Opens the tail, with its lock, when made. Everything else happens when it is asked for. `beat`: called now and
    then while something takes long and goes on."""

    def __init__(
        self,
        name: str,
        place: LogPlace,
        options: TailOptions,
        form: TypedTable | None,
        say: Say,
        *,
        on_driver: bool = False,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        # Before the consumer is held: its key may be refused.
        self._reader = Reader(options.masks_and_key()[1])
        super().__init__(name, place, options, form, say, on_driver=on_driver, beat=beat)
        self._batches = self._maker()
        self.given_up = GivenUp(self._journal, options.consumer)
        self._stalled = Stalled(say, time.monotonic)
        self.held: tuple[int, int] | None = None
        self.waiting = False
        self._frozen = False

    def _maker(self) -> BatchTasks:
        options = self.options
        return BatchTasks(
            self.name,
            self._journal,
            options.consumer,
            self._open_segment,
            accept_loss=options.accept_loss,
            today=self._today,
        )

    def freeze(self) -> bool:
        """From now on only what is there now is planned. False while that cannot be told yet."""
        self._frozen = self._frozen or self._tail.freeze()
        return self._frozen

    def listen(self) -> bool:
        """Hear of changes in the folder from now on; True to look at once. See `Tail.listen`."""
        return self._tail.listen()

    @property
    def descriptor(self) -> int | None:
        """Readable while the folder may have changed since the last look; None where nothing hints."""
        return self._tail.descriptor

    def plan(self, budget: int) -> tuple[bool, int]:
        """Plan on by about `budget` bytes: whether there is something to hand out (`handed`), and what was used."""
        if self.handed is not None:
            return True, 0
        # In steps, so that memory stays small and what was found in one is journalled before the next. Log without
        # rows of interest is passed over here and wakes nobody.
        left = budget
        while True:
            asked = min(left, STEP_BYTES)
            late = self._tail.offset.p
            try:
                moved, used = self._step(asked)
            except CdcError:
                # What stands before it is delivered first; the next plan meets it again.
                if self._due() and self.hand_out():
                    return True, budget - left
                raise
            left -= used
            # A late segment that is read to its end leaves `p` in the next offset: this one must be handed out.
            if left <= 0 or self._tail.offset.p != late or (self._due() and used < asked):
                self.hand_out()
                return True, budget - left
            if not moved:
                return self._due() and self.hand_out(), budget - left

    def hand_out(self) -> bool:
        """Hand out where the planner stands; False when that is where Spark stands."""
        if (offset := self._tail.offset) == self.base:
            return False
        self.handed = offset
        self._planned.append(offset)
        before = self._marks.last
        self._marks.add(Mark(offset, self._tail.memory, self._tail.restart()))
        if self._tail.memory != before.memory:
            # Before the offset leaves: a segment that turns up in a hole that was forgotten would never be read.
            self._save()
        self._parts.definitions.forget_rows()
        self._silent = 0
        return True

    def tasks(self, start: NodeOffset, end: NodeOffset, pieces: int = 1) -> list[FileTask]:
        """The tasks of a batch, `pieces` or more of them if it has so many sections.

        One of an earlier run that cannot be read is mended first, if today's options can.
        """
        if self.base is None:
            self._open_at(start, self._consumer.node(self.name))
        self._check_form(end)
        # Of this run's own batches whatever could be decided was, ahead of their offsets. One of an earlier run is
        # as it was pinned, unless it cannot be read so: then nobody has its rows, and today's options and all that
        # was journalled since may count for it. That is how a stopped query is mended.
        if end not in self._planned and self._mends(end):
            whole = self._batches.tasks(start, end)
            if not self._decodes(whole, self._raise):
                self._batches.recount(end)
                if self._decides:
                    self._mend(start, end)
        piece_bytes = PIECE_BYTES_MAX if self._on_driver or self._parts.older.any else None
        found = self._batches.tasks(start, end, pieces=pieces, piece_bytes=piece_bytes)
        return [FileTask(self._met.narrowed(task), file) for task, file in found]

    def told(self, start: NodeOffset, end: NodeOffset, found: Sequence[FileTask]) -> list[bytes]:
        """The job of what the entries of a batch's tasks do not tell of definitions; none where they tell all."""
        begun = start if self._first is None else self._first
        spans = [each.task.span for each in found]
        rows = self._batches.untold(start, end, spans, begun.position)
        return [pack_rows(rows, self._batches.options(end).extras)] if rows else []

    def carried(self, planned: FileTask, *, whole: bool = False) -> CarriedSpan | None:
        """See `carry.carried`; `whole`: also where executors could read the log themselves."""
        on_driver = self._on_driver or whole
        if on_driver:
            self._open_segment(planned.task.span.segment)
        return carried(planned.task, self._parts, on_driver=on_driver)

    def is_small(self, start: NodeOffset) -> bool:
        """Whether there is so little log of a server behind it that it is sooner sent along than asked for again.

        What a commit of a native log stands for may be long, wherever its own section is.
        """
        native = self._survey.dropped is not None
        return not native and bool(backlog(start, self._survey.durable_ends(start))["bytes"] <= SMALL_BYTES)

    def _check_form(self, end: NodeOffset) -> None:
        """A batch that is replayed keeps its form; the query's columns must be of the same table."""
        pinned, today = self._batches.options(end).typed, self._today.typed
        was, now = (None if form is None else form.table for form in (pinned, today))
        if was != now:
            raise RefusedError(
                f"a batch that was not finished has rows of {was or 'all tables'}, and the query now asks for others",
                expected=f"option table={was}" if was else "no option table",
                found=now or "none",
                remedy="Let it finish with the option it began with, or start with a new checkpoint and consumer.",
            )

    def _mends(self, end: NodeOffset) -> bool:
        """Whether the options of today can do what those of the batch could not."""
        options = self.options
        return self._decides or options.schema_file is not None or self._batches.options(end) != self._today

    def tables(self) -> LogTables:
        """The tables as its log defines them by now. UsageError for a chosen one whose rows are masked."""
        return log_tables(self._tail)

    def progress(self, end: NodeOffset | None) -> NodeProgress | None:
        """How far the log is by the last look, and how much of it lies behind `end`; None before there was one."""
        if self.base is None:
            return None
        at = self._tail.offset
        far = newest(at, self._survey.durable_ends(at))
        behind = end or at
        return NodeProgress(far, backlog(behind, self._survey.durable_ends(behind)), self.given_up.counts())

    @property
    def ended(self) -> bool:
        """Whether Spark has all that there is, and nothing more is to come: the last segment was read to its end."""
        at, base = self._tail.offset, self.base
        read = base is not None and at.places == base.places and at.done and not self.waiting
        return read and not backlog(at, self._survey.durable_ends(at))["bytes"]

    def _step(self, budget: int) -> tuple[bool, int]:
        """One step of the tail: whether it moved, and by how many bytes."""
        step = self._tail.step(budget)
        self._beat()
        for notice in step.notices:
            self._say(notice)
        self._stalled.note(step)
        self.held, self.waiting = step.held, step.waiting
        if step.tasks or step.moved:
            self._journal_start(step)
            if self.options.puts_values_aside or self._may_lose() or self._may_ask(step):
                self._decide(step)
            self._tail.advance(step)
            used = sum(task.span.bytes for task in step.tasks)
            self._silent += used
            return True, used
        if step.error is None:
            return False, 0
        to = self._tail.accept(step.error)
        if to is None:
            raise step.error
        self._say(acceptance(step.error, to, self._tail.offset.position))
        return True, 0

    def _journal_start(self, step: Step) -> None:
        """Pin from where on transactions are known, before the first offset leaves whose rows depend on it."""
        if self._survey.dropped is None or not step.memory.start:
            return
        journal, others = self._journal, self._journal.foreign
        pin_start(journal, self.options.consumer, step.memory.start)
        # Records of another run that came in between are not what this step was planned by.
        if journal.foreign == others:
            step.offset = journal.stamped(step.offset)

    def _due(self) -> bool:
        """Whether what lies between Spark's position and the planner's may give rows, or passes a segment."""
        offset, base = self._tail.offset, self.base
        assert base is not None
        # A segment that was passed must get into an offset though it gave nothing, or retention would wait for rows.
        passed = (offset.s, offset.done, offset.p) != (base.s, base.done, base.p)
        return self._parts.definitions.touched or passed or self._silent >= SILENT_BYTES

    def _decide(self, step: Step) -> None:
        """Decode ahead, and journal what to leave out before the offset leaves."""
        journal, kept = self._journal, self._tail.quarantined
        others = journal.foreign
        rows = sum(len(batch) for task in step.tasks for batch in self._tail.read(task))
        if rows or self._tail.quarantined > kept:
            self._parts.definitions.note_rows()
        if journal.foreign == others:
            # A server that was asked again may have told what an entry needs.
            step.offset = journal.stamped(step.offset)

    @property
    def _decides(self) -> bool:
        """Whether an entry that cannot be delivered may become readable, or be left out, by the options."""
        options = self.options
        asks = options.server is not None or bool(options.quarantine_tables) or bool(options.peers)
        return options.puts_values_aside or self._may_lose() or asks

    def _may_ask(self, step: Step) -> bool:
        """Whether an entry of the step may be of a table that no definition names, or have a column that only a node's
        log shows that could not be asked, and that may be decided here.

        Executors ask no server and decide nothing: that is in the journal before the offset leaves.
        """
        if not self._decides or self._survey.dropped is not None:
            return False
        return self._parts.outside.unsettled or any(map(self._met.may_be_unknown, step.tasks))

    def _mend(self, start: NodeOffset, end: NodeOffset) -> None:
        """Decide what becomes of the entries of a batch of an earlier run that cannot be read."""
        while True:
            try:
                self._decodes(self._batches.tasks(start, end), self._parts.faults.reading(start.position))
                return
            except NewDefinitionsError:
                self._batches.recount(end)

    def _decodes(self, tasks: Sequence[FileTask], on_fault: OnFault) -> bool:
        """Whether the tasks can be read to their ends."""
        try:
            for planned in tasks:
                self._beat()
                self._open_segment(planned.task.span.segment)
                with self._survey.opened(planned.task.span.segment) as file:
                    deque(self._reader.read(planned.task, file, on_fault, self._survey), maxlen=0)
        except (CdcError, FileNotFoundError):
            return False
        return True

    def _may_lose(self) -> bool:
        """Whether a commit of a native log may be passed over whose transaction is lost."""
        return self.options.accept_loss and self._survey.dropped is not None

    def _raise(self, at: Position, error: CdcError, data: bytes) -> None:
        raise error

    def _open_segment(self, segment: int) -> SegmentFile:
        try:
            file = file_now(self._survey, segment, self._tail.offset)
            if not (self._on_driver or self._survey.archived(segment)):
                # Executors open it by its name: a descriptor that we still hold does not help them.
                file.check_named()
        except FileNotFoundError:
            # A folder that is not there, or in which nothing is, is evidence of no loss.
            if isinstance(self.place, Path):
                check_folder(self.place)
            if not self._parts.older.any:
                check_mounted(self._survey.source, segment)
            raise
        return file
