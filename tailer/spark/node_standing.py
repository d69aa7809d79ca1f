"""Where one node of a query stands: by the checkpoint, which decides, and by its consumer, which follows.

The consumer in the state folder keeps what a checkpoint cannot hold: the first offset, and what the planner remembered
at each offset that may come back. The lower half of `Node`, which plans. Plans nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import msgspec

from tailer.definitions.met import TablesMet
from tailer.errors import RefusedError
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.planning.batch_tasks import place
from tailer.planning.marks import Marks
from tailer.schema.typed import TypedTable
from tailer.state.consumers import Mark, NodeState
from tailer.state.journal_records import OptionsRecord, SegmentEndRecord
from tailer.state.offset import NodeOffset
from tailer.tail.node_log import node_log
from tailer.tail.open import tail_parts
from tailer.tail.tail import Tail

LOCK_SECONDS: Final = 10.0
"""How long a new reader waits for the lock of a dying predecessor."""

Say = Callable[[str], None]


class NodeStanding:
    """Of one node of a query; see `Node`."""

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
        self.name = name
        self._beat = beat
        self.place = place
        self.options = options
        parts = tail_parts(node_log(place, options), options, lock_seconds=LOCK_SECONDS)
        assert parts.consumer is not None
        self._parts = parts
        with ExitStack() as undo:
            undo.callback(parts.close)
            self._met = parts.definitions.tell(TablesMet())
            if options.schema_changes:
                parts.faults.keep_known_rows()
            self._tail = Tail(parts, form)
            undo.pop_all()
        self._consumer = parts.consumer
        self._journal = parts.journal
        self._survey = parts.survey
        self._say = say
        self._today = parts.row_options(form)
        self._on_driver = on_driver
        self._initial: NodeOffset | None = None
        self._first: NodeOffset | None = None
        self._marks = Marks([])
        self._planned: list[NodeOffset] = []
        self._silent = 0
        self.base: NodeOffset | None = None
        """Where Spark stands."""
        self.handed: NodeOffset | None = None
        """What was handed out from `base` and not taken yet."""

    @property
    def identity(self) -> str:
        """The random id of the state that its offsets are of."""
        return self._journal.id

    def close(self) -> None:
        for sentence in self._tail.last_notices():
            self._say(sentence)
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

    def _open_anew(self) -> None:
        self._parts.taken.registering(self._register)

    def _register(self) -> None:
        self._tail.begin()
        self._tail.note_begun()
        offset = self._before_oldest() if self._tail.offset.s == 0 else self._tail.offset
        self._journal_options()
        offset = self._journal.stamped(offset)
        self._tail.seek(offset, self._tail.memory)
        self._marks = Marks([Mark(offset, self._tail.memory, self._tail.restart())])
        self.base = self._first = offset
        self._hold()
        self._save()

    def _open_at(self, offset: NodeOffset, state: NodeState | None) -> None:
        if state is None:
            self._parts.taken.registering(lambda: self._go_on(offset, None))
        else:
            self._go_on(offset, state)

    def _go_on(self, offset: NodeOffset, state: NodeState | None) -> None:
        self._journal.check(offset)
        if state is None:
            self._say(f"consumer {self.options.consumer} is new here: it goes on where the checkpoint stands")
            self._parts.older.begin(min([offset.s, *(late for late, _ in offset.p)]))
            self._parts.arrivals.adopt(self._survey.look(offset))
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
        appeared = self._parts.arrivals.known()
        there = [segment for segment in self._survey.segments() if segment not in appeared]
        past = [r.segment for r in self._journal.read() if isinstance(r, SegmentEndRecord)]
        forgotten = self._journal.base.segment - 1
        return NodeOffset(s=min(there, default=max([*past, forgotten, 0]) + 1) - 1)

    def _journal_options(self) -> None:
        record = self._today.record(self.options.consumer)
        held = [r for r in self._journal.read() if isinstance(r, OptionsRecord) and r.consumer == record.consumer]
        if not held or held[-1].options != record.options:
            self._journal.append([record])

    def _save(self) -> None:
        learnt = self._tail.learnt_at(self._marks.first.offset)
        state = msgspec.structs.replace(self._marks.state(self._first), learnt=learnt)
        self._consumer.save(self.name, state, moved=time.time(), program=self.options.program)
