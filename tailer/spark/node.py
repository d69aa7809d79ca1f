"""One node of a query: its tail, and what was handed out of it. Lives in the process that runs the source.

The checkpoint decides where a query stands; the consumer in the state folder follows it, and keeps what a checkpoint
cannot hold: the first offset, and what the planner remembered at each offset that may come back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import msgspec

from tailer.definitions.met import TablesMet
from tailer.errors import CdcError, RefusedError
from tailer.limits import MIB
from tailer.options.tail import TailOptions
from tailer.planning.absent import file_now
from tailer.planning.batch_tasks import BatchTasks, FileTask, RowOptions, pin_start, place
from tailer.planning.marks import Marks
from tailer.position import Position
from tailer.reading.reader import Reader
from tailer.schema.typed import TypedTable
from tailer.segments.group import OnFault
from tailer.segments.segment import SegmentFile
from tailer.spark.backlog import GivenUp, backlog, newest
from tailer.spark.carry import CarriedSpan, carry
from tailer.spark.offsets import Json
from tailer.state.consumers import Mark, NodeState
from tailer.state.journal_records import OptionsRecord, SegmentEndRecord
from tailer.state.offset import NodeOffset
from tailer.tail.follow import Stalled
from tailer.tail.open import tail_parts
from tailer.tail.step import Step
from tailer.tail.tail import Tail

LOCK_SECONDS: Final = 10.0
"""How long a new reader waits for the lock of a dying predecessor."""

STEP_BYTES: Final = 64 * MIB
CARRIED_PIECE_BYTES: Final = 8 * MIB
"""Log in one partition that carries it: Spark's messages have a limit."""

SILENT_BYTES: Final = 64 * MIB
"""Log without a row of interest is handed out after so much of it."""

Say = Callable[[str], None]


class Node:
    """Opens the tail, with its lock, when made. Everything else happens when it is asked for."""

    def __init__(
        self,
        name: str,
        folder: Path,
        options: TailOptions,
        form: TypedTable | None,
        say: Say,
        *,
        on_driver: bool = False,
    ) -> None:
        self.name = name
        self.folder = folder
        self.options = options
        parts = tail_parts(folder, options, lock_seconds=LOCK_SECONDS)
        assert parts.consumer is not None
        self._parts = parts
        self._met = parts.definitions.tell(TablesMet())
        self._tail = Tail(parts, form)
        self._consumer = parts.consumer
        self._journal = parts.journal
        self._survey = parts.survey
        self._say = say
        self._today = RowOptions(options.selection.tables, options.schema_changes, options.server is not None, form)
        self._on_driver = on_driver
        self._batches = self._maker()
        self.given_up = GivenUp(self._journal, options.consumer)
        self._reader = Reader()
        self._stalled = Stalled(say, time.monotonic)
        self._initial: NodeOffset | None = None
        self._first: NodeOffset | None = None
        self._marks = Marks([])
        self._planned: list[NodeOffset] = []
        self.base: NodeOffset | None = None
        """Where Spark stands."""
        self.handed: NodeOffset | None = None
        """What was handed out from `base` and not taken yet."""
        self.held: tuple[int, int] | None = None
        self.waiting = False
        self._silent, self._frozen = 0, False

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

    def wait(self, seconds: float) -> bool:
        """Wait until something in the folder may have changed; True to look at once."""
        return self._tail.wait(seconds)

    def close(self) -> None:
        self._tail.close()

    def initial(self) -> NodeOffset:
        """The first offset of a new checkpoint: durable in the consumer file, the same until the consumer has moved."""
        if self._initial is None:
            state = self._consumer.node(self.name)
            # Spark stores the first offset nowhere: after a crash in batch 0 it asks again, and would plan that batch
            # from another place. Once the consumer has left it batch 0 is done, so whoever asks has a new checkpoint.
            if state is not None and state.initial is not None and state.offset == state.initial:
                self._open_at(state.initial, state)
            else:
                if state is not None:
                    self._say(
                        f"a new checkpoint: consumer {self.options.consumer} is moved from {state.offset.position} to "
                        f"startingOffsets ({self.options.start})"
                    )
                self._open_anew()
            self._initial = self.base
        assert self._initial is not None
        return self._initial

    def stand(self, offset: NodeOffset) -> None:
        """Spark stands at `offset`: everything before it is done."""
        if self.base is None:
            self._open_at(offset, self._consumer.node(self.name))
        elif offset == self.handed:
            self.base, self.handed = offset, None
            self._met.forget_below(offset.s)
        elif offset != self.base:
            # What was handed out was not logged (another node's error, a crash between): plan from where Spark is.
            self._tail.seek(offset, self._marks.memory_at(offset))
            self.base, self.handed, self._silent = offset, None, 0
            self._parts.definitions.forget_rows()

    def move_consumer(self, offset: NodeOffset) -> None:
        """The consumer moves to what Spark has committed; never back."""
        moved = self._marks.moved(offset, self._tail.restart)
        if moved is None:
            return
        if moved.first != self._marks.first:
            self._marks = moved
            self._save()
        if offset in self._planned:
            del self._planned[: self._planned.index(offset)]
        self._hold()

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
        offset = self._tail.offset
        if offset == self.base:
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
        # Of this run's own batches whatever could be decided was, ahead of their offsets. One of an earlier run is as
        # it was pinned, unless it cannot be read so: then it never succeeded, nobody has its rows, and today's
        # options and all that was journalled since may count for it. That is how a stopped query is mended.
        if end not in self._planned and self._mends(end):
            whole = self._batches.tasks(start, end)
            if not self._decodes(whole, self._raise):
                self._batches.recount(end)
                if self.options.quarantine or self._may_lose():
                    self._decodes(self._batches.tasks(start, end), self._parts.faults.put_aside)
        piece_bytes = CARRIED_PIECE_BYTES if self._on_driver else None
        found = self._batches.tasks(start, end, pieces=pieces, piece_bytes=piece_bytes)
        return [FileTask(self._met.narrowed(task), file) for task, file in found]

    def carried(self, planned: FileTask) -> CarriedSpan | None:
        """The bytes that a task's partition holds; None where executors read the files."""
        if not self._on_driver:
            return None
        return carry(self._open_segment(planned.task.span.segment), planned.task, self._survey)

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
        more = options.quarantine or self._may_lose() or options.schema_file is not None or options.server is not None
        return more or self._batches.options(end) != self._today

    def newest(self) -> NodeOffset:
        """Behind everything that the last look saw durable."""
        return newest(self._tail.offset, self._survey.durable_ends(self._tail.offset))

    def backlog(self, offset: NodeOffset) -> Json:
        """How much of the log lies behind `offset`."""
        return backlog(offset, self._survey.durable_ends(offset))

    def _open_anew(self) -> None:
        with self._parts.taken.registering():
            self._register()

    def _register(self) -> None:
        self._tail.begin()
        offset = self._before_oldest() if self._tail.offset.s == 0 else self._tail.offset
        self._journal_options()
        offset = self._journal.stamped(offset)
        self._tail.seek(offset, self._tail.memory)
        self._marks = Marks([Mark(offset, self._tail.memory, self._tail.restart())])
        self.base = self._first = offset
        self._hold()
        self._save()

    def _open_at(self, offset: NodeOffset, state: NodeState | None) -> None:
        with self._parts.taken.registering() if state is None else nullcontext():
            self._go_on(offset, state)

    def _go_on(self, offset: NodeOffset, state: NodeState | None) -> None:
        self._journal.check(offset)
        if state is None:
            self._say(f"consumer {self.options.consumer} is new here: it goes on where the checkpoint stands")
            self._survey.look(offset)
            self._marks = Marks([Mark(offset, self._parts.taken.fresh_memory(offset), self._tail.restart(offset))])
        else:
            # Spark never goes back behind what it has committed, so this offset is of somebody else's query.
            if place(offset) < place(state.offset):
                raise RefusedError(
                    f"another checkpoint has used consumer {self.options.consumer!r}: it is ahead of this one",
                    expected=f"{state.offset.position} or later",
                    found=str(offset.position),
                    remedy="Give each checkpoint its own option `consumer`.",
                )
            self._marks = Marks([Mark(state.offset, state.memory, state.restart), *state.ahead])
            self._first = state.initial
        self._tail.go_on(offset, self._marks.memory_at(offset), state)
        self._journal_options()
        self.base = offset
        self._hold()
        if state is None:
            self._save()

    def _hold(self) -> None:
        """Keep the files of what is not committed: the server may delete them before they were carried."""
        if self._on_driver:
            self._survey.hold(self._marks.first.offset.s)

    def _before_oldest(self) -> NodeOffset:
        """The place before everything there is. Not 0: between that and now the journal may have segments long gone."""
        there = self._survey.segments()
        past = [r.segment for r in self._journal.read() if isinstance(r, SegmentEndRecord)]
        forgotten = self._journal.base.segment - 1
        return NodeOffset(s=min(there, default=max([*past, forgotten, 0]) + 1) - 1)

    def _journal_options(self) -> None:
        record = self._today.record(self.options.consumer)
        held = [r for r in self._journal.read() if isinstance(r, OptionsRecord) and r.consumer == record.consumer]
        if not held or held[-1].options != record.options:
            self._journal.append([record])

    def _step(self, budget: int) -> tuple[bool, int]:
        """One step of the tail: whether it moved, and by how many bytes."""
        step = self._tail.step(budget)
        for notice in step.notices:
            self._say(notice)
        self._stalled.note(step)
        self.held, self.waiting = step.held, step.waiting
        if step.tasks or step.moved:
            self._journal_start(step)
            if self.options.quarantine or self._may_lose():
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
        self._say(f"warning: {step.error.sentence()} Accepted: reading goes on at segment {to.segment}.")
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

    def _decodes(self, tasks: Sequence[FileTask], on_fault: OnFault) -> bool:
        """Whether the tasks can be read to their ends."""
        try:
            for planned in tasks:
                file = self._open_segment(planned.task.span.segment)
                for _ in self._reader.read(planned.task, file, on_fault, self._survey):
                    pass
        except (CdcError, FileNotFoundError):
            return False
        return True

    def _may_lose(self) -> bool:
        """Whether a commit of a native log may be passed over whose transaction is lost."""
        return self.options.accept_loss and self._survey.dropped is not None

    def _raise(self, at: Position, error: CdcError, data: bytes) -> None:
        raise error

    def _open_segment(self, segment: int) -> SegmentFile:
        file = file_now(self._survey, segment, self._tail.offset)
        if not self._on_driver:
            # Executors open it by its name: a descriptor that we still hold does not help them.
            file.path.stat()
        return file

    def _save(self) -> None:
        learnt = self._tail.learnt_at(self._marks.first.offset)
        state = msgspec.structs.replace(self._marks.state(self._first), learnt=learnt)
        self._consumer.save(self.name, state, moved=time.time(), program=self.options.program)
