"""A query's side of the source: offsets in, offsets and partitions out, for all its nodes. Knows no pyspark.

Opened by the first call that only the process that runs the source makes. Nothing here depends on being closed: Spark
kills the process. Waits in short slices, and ends when the JVM that started it is gone.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tailer.errors import CdcError, RefusedError, SystemFailedError
from tailer.options.amounts import moment_of
from tailer.options.log_place import LogPlace
from tailer.options.to_spark import SourceOptions
from tailer.rebuild.facts import Place
from tailer.schema.typed import TypedTable
from tailer.spark.backlog import BACKLOG, GIVEN_UP, LOST, NodeProgress
from tailer.spark.node import Node
from tailer.spark.node_tables import NodeTables
from tailer.spark.nodes import SLICE_SECONDS, Nodes
from tailer.spark.offsets import Json, SourceOffset, decode_offset
from tailer.spark.query_node import QueryNode
from tailer.spark.query_snapshot import QuerySnapshot
from tailer.spark.removed_nodes import RemovedNodes
from tailer.state.offset import NodeOffset
from tailer.tail.away import reason
from tailer.tail.node_log import state_of

UNLIMITED: Final = 2**62
FIRST_SECONDS: Final = 10.0
"""So long the first offset waits for nodes that do not answer, if they may come later."""

TELL_SECONDS: Final = 1.0
SILENT_TAKEN_SECONDS: Final = 30.0
"""What is read of a node without rows of interest leaves with a batch of others' rows this often: it costs a task."""

"""So long a batch waits for what is told of it, and for positions that are saved behind it."""


def say(line: str) -> None:
    """A line for the driver's log; what a source runner prints ends there."""
    sys.stderr.write(f"cdc_tail: {line}\n")
    sys.stderr.flush()


class Planner:
    """Plans a query's micro-batches."""

    def __init__(
        self, options: SourceOptions, form: TypedTable | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._options = options
        self._form = form
        self._clock = clock
        self._parent = os.getppid()
        self._nodes = Nodes(say, self._check_parent, waits=options.waits, several=options.several, clock=clock)
        self._removed = RemovedNodes(options, self._nodes, say)
        self._places = dict(options.places)
        for name in self._places:
            if not self._removed.leaves(name):
                self._node(name)
        self._task_wait = options.task_wait
        self._tick = 0
        self._woken = self._silent_taken = clock()
        self._last_end: Json | None = None
        self._first: Json | None = None
        self._available_now = False
        self._told: set[str] = set()
        self._tables = NodeTables(self._nodes)
        self._snapshot = QuerySnapshot(options, self._read_to, say, clock)

    def initial(self) -> Json:
        """`initialOffset`: the same each time, until a query has moved on from it. Nodes that are away come later."""
        later = self._may_come_later
        work = dict.fromkeys(self._nodes.all, Node.initial)
        wait = FIRST_SECONDS if later and len(work) > 1 else self._patience
        found = self._nodes.await_all(work, wait, retry=False)
        missing = [name for name in work if name not in found]
        if missing and (not later or not found):
            raise self._missed(missing[0])
        snapshot = self._snapshot.initial(found) if self._options.snapshots else None
        self._first = SourceOffset(0, found, snapshot=snapshot).as_json()
        return self._first

    def prepare_available_now(self) -> None:
        """The next `latest` freezes what there is: nothing that comes later is handed out, and nothing waits for it."""
        self._available_now = True
        self._nodes.run_once()

    def latest(self, start: Json | None, max_bytes: int | None) -> Json:
        """`latestOffset`: behind what may be read now, or `start` as it came when there is nothing new.

        `start` None (Spark 4.0, 4.1): the end of the last batch.
        """
        came = start or self._last_end or self.initial()
        self._stand(decode_offset(came))
        self._tell_tables()
        budget = max_bytes or UNLIMITED
        if self._available_now:
            return self._next_of_now(came, budget)
        deadline = self._clock() + self._options.wait_seconds
        found = self._find(budget, min(deadline, self._tick_due()))
        self._check_new()
        if self._removed.settle() or found:
            if self._clock() - self._silent_taken >= SILENT_TAKEN_SECONDS:
                self._take_silent()
            return self._hand_out()
        if self._clock() >= self._tick_due():
            self._tick += 1
            self._take_silent()
            return self._hand_out()
        return came

    def report(self, batch_end: Json | None) -> Json | None:
        """`reportLatestOffset`: how far the log is, what of it lies behind `batch_end`, what was given up, and who is
        away."""
        nodes = self._nodes.all
        if batch_end is None:
            return None
        ends = decode_offset(batch_end).nodes
        work = {name: _progress(ends.get(name)) for name in nodes}
        for name, found in self._nodes.ask(work, TELL_SECONDS).items():
            nodes[name].take_progress(found)
        known = {name: node.progress for name, node in nodes.items() if node.progress is not None}
        if not known:
            return None
        newest = {name: each.newest for name, each in known.items()}
        far = SourceOffset(self._tick, newest, self._removed.ids, self._snapshot.handed)
        lost = {name: round(seconds) for name, seconds in self._nodes.lost.seconds().items()}
        return {
            **far.as_json(),
            BACKLOG: {name: known[name].waits for name in sorted(known) if name in ends},
            GIVEN_UP: {name: known[name].given_up for name in sorted(known)},
            **({LOST: {name: lost[name] for name in sorted(lost)}} if lost else {}),
        }

    def partitions(self, start: Json, end: Json) -> list[bytes]:
        """The jobs of a batch, in log order per node. Empty ones where there are none, to keep workers alive.

        Waits for a node that is away: a batch that left once is read whole. SystemFailedError where that takes too
        long.
        """
        self._last_end = end
        if start == end:
            return []
        first, last = decode_offset(start), decode_offset(end)
        self._check_nodes(last)
        known = last.nodes.keys() | last.removed.keys()
        # A first offset that was asked for again may have nodes that came since.
        if first.tick > last.tick or not (first.nodes.keys() <= known or start == self._first):
            raise RefusedError("the batch ends before it starts", remedy="Restore the checkpoint's offset files.")
        # A node that is new in `end` begins there: its first rows are those of the next batch.
        spans = {
            name: (first.nodes[name], at)
            for name, at in last.nodes.items()
            if name in first.nodes and first.nodes[name] != at and self._removed.reads(name, at)
        }
        jobs = [*self._snapshot.jobs(first.snapshot, last.snapshot), *self._jobs(spans)]
        return jobs or [b""] * self._options.min_partitions

    def commit(self, end: Json) -> None:
        """`commit`: the consumers may move to `end`. Of nodes that do not answer they do when those are back."""
        offset = decode_offset(end)
        ends = offset.nodes
        for name, node in self._nodes.all.items():
            node.commit(ends.get(name))
        self._nodes.save(ends, TELL_SECONDS)
        self._snapshot.commit(offset.snapshot)

    def close(self) -> None:
        """Give the consumers' locks back. Nothing is lost without: a process that ends does the same."""
        self._snapshot.close()
        self._nodes.close()

    def _find(self, budget: int, until: float) -> bool:
        """Wait for something to hand out: rows of the logs, or of the snapshot."""
        while True:
            read = self._snapshot.offer(budget)
            now = self._clock()
            slice_ = min(until, now + SLICE_SECONDS) if self._snapshot.active else until
            found = self._nodes.find(budget, now if read else slice_)
            if found or read or self._clock() >= until:
                return found or read

    def _tell_tables(self) -> None:
        """Have the snapshot know the tables that the logs show."""
        if self._snapshot.needs_tables() and (tables := self._tables.ask()) is not None:
            self._snapshot.take_tables(tables)

    def _read_to(self) -> dict[str, Place]:
        """Where the log of each node that stands is read to."""
        standing = {name: node.at for name, node in list(self._nodes.all.items())}
        return {name: (at.s, at.o) for name, at in standing.items() if at is not None}

    @property
    def _may_come_later(self) -> bool:
        """Whether a node may come after the query has begun. But for the beginning of its log, where it begins would
        depend on when."""
        start = self._options.tail.start
        return self._options.waits and not (start == "latest" or moment_of(start) is not None)

    def _missed(self, name: str) -> CdcError:
        error = self._nodes.why(name)
        error.tell(f"node {name} is away, and is to begin at {self._options.tail.start}")
        return error

    def _check_new(self) -> None:
        """That no node that is new is away which may not come later."""
        for name, node in self._nodes.all.items():
            if node.target is None and name in self._nodes.lost and not self._may_come_later:
                raise self._missed(name)

    @property
    def _patience(self) -> float:
        """How long a node is waited for where nothing goes on without it."""
        return self._options.node_wait if self._options.waits else float("inf")

    def _node(self, name: str) -> QueryNode:
        """A node that `path` names; one that is to leave is opened when an offset has it."""
        options, place, nodes = self._options, self._places[name], self._nodes

        def opened() -> Node:
            tail, on_driver = options.of(name, once=self._available_now), options.on_driver
            tail = replace(tail, left=self._removed.leaves(name))
            return Node(name, place, tail, self._form, say, on_driver=on_driver, beat=nodes.all[name].beat)

        if name not in nodes.all:
            state = state_of(place, options.of(name, once=False))
            leaves = self._removed.leaves(name)
            nodes.all[name] = QueryNode(
                name, place, state, opened, nodes.turns, nodes.answered, self._clock, leaves=leaves
            )
        return nodes.all[name]

    def _stand(self, offset: SourceOffset) -> None:
        """Spark stands there. A node that is new starts where its first offset is, in the next offset."""
        self._check_nodes(offset)
        self._tick = offset.tick
        self._removed.take(offset)
        self._snapshot.stand(offset.snapshot)
        for name, at in offset.nodes.items():
            if name in self._places:
                self._node(name).stand(at)

    def _check_nodes(self, offset: SourceOffset) -> None:
        known = self._places.keys()
        gone = sorted(offset.nodes.keys() - known - set(self._options.removed))
        if gone:
            raise RefusedError(
                f"the checkpoint knows node {gone[0]!r}, which `path` does not name",
                expected=", ".join(sorted(offset.nodes)),
                found=", ".join(sorted(known)),
                remedy="Give its folder again (NODE=DIR,NODE=DIR); if it left for good: option "
                f"removedNodes={','.join(gone)}; or start with a new checkpoint and consumer.",
            )

    def _jobs(self, spans: dict[str, tuple[NodeOffset, NodeOffset]]) -> list[bytes]:
        pieces = -(-self._options.min_partitions // max(len(spans), 1))
        work, made = {}, dict[str, list[bytes]]()
        for name, (start, end) in spans.items():
            node = self._node(name)
            jobs = node.made(start, end)
            if jobs is not None and pieces == 1:
                made[name] = jobs
                continue
            if node.target is None:
                node.stand(start)
            work[name] = node.tasks(start, end, pieces, self._task_wait)
        made |= self._nodes.await_all(work, self._patience)
        if missing := sorted(work.keys() - made.keys()):
            error = self._nodes.why(missing[0])
            raise SystemFailedError(
                f"node {missing[0]} was away for {self._options.node_wait:g} s, and a batch that was planned has rows "
                f"of it: {reason(error)}",
                remedy="Start the query again when the node is back: it waits longer with option nodeWait.",
            )
        return [job for name in spans for job in made[name]]

    def _take_silent(self) -> None:
        """What lies in the log without rows of interest leaves with a tick, or now and then with others' rows.

        Or a node without any would never move in a query that others keep busy, nor be read to its end.
        """
        self._silent_taken = self._clock()
        nodes = {name: each for name, each in self._nodes.all.items() if each.looked is not None and each.offer is None}
        for name, offer in self._nodes.ask(dict.fromkeys(nodes, _silent), TELL_SECONDS).items():
            nodes[name].take_silent(offer)

    def _hand_out(self) -> Json:
        self._woken = self._clock()
        ends = {name: node.at for name, node in self._nodes.all.items()}
        held = {name: end for name, end in ends.items() if end is not None}
        return SourceOffset(self._tick, held, self._removed.ids, self._snapshot.handed).as_json()

    def _tick_due(self) -> float:
        seconds = self._options.tick_seconds
        return self._woken + seconds if seconds > 0 else float("inf")

    def _check_parent(self) -> None:
        if os.getppid() != self._parent:
            raise SystemExit("the JVM that started this source is gone")

    def _next_of_now(self, came: Json, budget: int) -> Json:
        """The next offset of a run that ends with what was there at its start."""
        nodes, wait = self._nodes, self._patience
        while unclear := {node.name: node.freeze for node in nodes.active if not node.frozen}:
            found = nodes.await_all(unclear, wait, retry=False)
            for name in unclear:
                if name not in found:
                    nodes.leave_out(name)
                nodes.all[name].take_frozen(found.get(name, False))
            if not all(found.values()):
                nodes.pause()
        while self._snapshot.active:
            if self._snapshot.offer(budget):
                return self._hand_out()
            nodes.pause()
            self._check_parent()
            self._tell_tables()
        while not nodes.look(budget, wait):
            if not any(node.looked is not None and node.looked.waiting for node in nodes.active):
                if self._removed.settle():
                    break
                for node in nodes.active:
                    if node.looked is not None and node.looked.held is not None:
                        self._tell(held_warning(node.place, node.looked.held))
                return came
            nodes.pause()
        return self._hand_out()

    def _tell(self, line: str) -> None:
        """Say something once."""
        if line not in self._told:
            self._told.add(line)
            say(line)


def _progress(end: NodeOffset | None) -> Callable[[Node], NodeProgress | None]:
    return lambda node: node.progress(end)


def _silent(node: Node) -> NodeOffset | None:
    return node.handed if node.hand_out() else None


def held_warning(place: LogPlace, held: tuple[int, int]) -> str:
    """What is said where a run that does not wait ends before everything that is durable."""
    unfinished, behind = held
    return (
        f"warning: promised rows of segment {behind} and later are held back behind segment {unfinished} of {place}, "
        "which is not finished; a later run goes on. If no server writes there any more: option stopped=true; if that "
        "segment was left behind: assumeFinishedAfter=SECONDS"
    )
