"""A query's side of the source: offsets in, offsets and partitions out, for all its nodes. Knows no pyspark.

Opened by the first call that only the process that runs the source makes. Nothing here depends on being closed: Spark
kills the process. Waits in short slices, and ends when the JVM that started it is gone.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tailer.errors import RefusedError
from tailer.options.to_spark import SourceOptions
from tailer.schema.typed import TypedTable
from tailer.segments.folder import check_folder
from tailer.segments.wake import POLL_SECONDS
from tailer.spark.backlog import BACKLOG, GIVEN_UP
from tailer.spark.executor import JobPacker
from tailer.spark.node import Node
from tailer.spark.offsets import Json, SourceOffset, decode_offset

SLICE_SECONDS: Final = 0.1
UNLIMITED: Final = 2**62


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
        self._nodes: dict[str, Node] = {}
        self._packer = JobPacker()
        self._tick = 0
        self._woken = clock()
        self._turn = 0
        self._last_end: Json | None = None
        self._available_now = False
        self._told: set[str] = set()

    def initial(self) -> Json:
        """`initialOffset`: the same each time, until a query has moved on from it."""
        return SourceOffset(0, {name: node.initial() for name, node in self._opened().items()}).as_json()

    def prepare_available_now(self) -> None:
        """The next `latest` freezes what there is: nothing that comes later is handed out, and nothing waits for it."""
        self._available_now = True

    def latest(self, start: Json | None, max_bytes: int | None) -> Json:
        """`latestOffset`: behind what may be read now, or `start` as it came when there is nothing new.

        `start` None (Spark 4.0, 4.1): the end of the last batch.
        """
        came = start or self._last_end or self.initial()
        offset = decode_offset(came)
        self._tick = offset.tick
        self._stand(offset)
        budget = max_bytes or UNLIMITED
        if self._available_now:
            return self._next_of_now(came, budget)
        deadline = self._clock() + self._options.wait_seconds
        while True:
            if self._plan(budget):
                return self._hand_out()
            if self._tick_is_due():
                self._tick += 1
                for node in self._nodes.values():
                    node.hand_out()
                return self._hand_out()
            left = deadline - self._clock()
            if left <= 0:
                return came
            self._await_hint(min(left, POLL_SECONDS))

    def report(self, batch_end: Json | None) -> Json | None:
        """`reportLatestOffset`: how far the log is, what of it lies behind `batch_end`, and what was given up."""
        if not self._nodes or batch_end is None or any(node.base is None for node in self._nodes.values()):
            return None
        ends = decode_offset(batch_end).nodes
        far = SourceOffset(self._tick, {name: node.newest() for name, node in self._nodes.items()})
        return {
            **far.as_json(),
            BACKLOG: {
                name: self._nodes[name].backlog(end) for name, end in sorted(ends.items()) if name in self._nodes
            },
            GIVEN_UP: {name: self._nodes[name].given_up.counts() for name in sorted(self._nodes)},
        }

    def partitions(self, start: Json, end: Json) -> list[bytes]:
        """The jobs of a batch, in log order per node. Empty ones where there are none, to keep workers alive."""
        self._last_end = end
        if start == end:
            return []
        first, last = decode_offset(start), decode_offset(end)
        self._check_nodes(last)
        if first.tick > last.tick or not first.nodes.keys() <= last.nodes.keys():
            raise RefusedError("the batch ends before it starts", remedy="Restore the checkpoint's offset files.")
        jobs = []
        for name, node in self._opened().items():
            # A node that is new in `end` begins there: its first rows are those of the next batch.
            if name in first.nodes and name in last.nodes:
                share = -(-self._options.min_partitions // len(last.nodes))
                for task in node.tasks(first.nodes[name], last.nodes[name], share):
                    jobs.append(self._packer.pack(task, node.folder, node.options, node.carried(task)))
        return jobs or [b""] * self._options.min_partitions

    def commit(self, end: Json) -> None:
        """`commit`: the consumers may move to `end`."""
        for name, offset in decode_offset(end).nodes.items():
            node = self._nodes.get(name)
            if node is not None and node.base is not None:
                node.move_consumer(offset)

    def close(self) -> None:
        """Give the consumers' locks back. Nothing is lost without: a process that ends does the same."""
        for node in self._nodes.values():
            node.close()
        self._nodes = {}

    def _opened(self) -> dict[str, Node]:
        """The nodes whose folder is there; of several nodes some may come later."""
        options = self._options
        if len(self._nodes) < len(options.folders):
            present = dict(options.present())
            for name, folder in options.folders:
                if name in present and name not in self._nodes:
                    once, on_driver = self._available_now, options.on_driver
                    self._nodes[name] = Node(
                        name, folder, options.of(name, once=once), self._form, say, on_driver=on_driver
                    )
                elif name not in present:
                    self._tell(f"node {name} has no log folder yet ({folder}): its rows come once it is there")
            self._nodes = {name: self._nodes[name] for name, _ in options.folders if name in self._nodes}
        return self._nodes

    def _tell(self, line: str) -> None:
        """Say something once."""
        if line not in self._told:
            self._told.add(line)
            say(line)

    def _stand(self, offset: SourceOffset) -> None:
        """Spark stands there. A node that is new starts where its first offset is, in the next offset."""
        self._check_nodes(offset)
        for name, node in self._opened().items():
            if name in offset.nodes:
                node.stand(offset.nodes[name])
                node.move_consumer(offset.nodes[name])
            elif node.base is None:
                node.handed = node.initial()

    def _check_nodes(self, offset: SourceOffset) -> None:
        known = {name for name, _ in self._options.folders}
        gone = sorted(offset.nodes.keys() - known)
        if gone:
            raise RefusedError(
                f"the checkpoint knows node {gone[0]!r}, which `path` does not name",
                expected=", ".join(sorted(offset.nodes)),
                found=", ".join(sorted(known)),
                remedy="Give its folder again (NODE=DIR,NODE=DIR), or start with a new checkpoint and consumer.",
            )
        for name, folder in self._options.folders:
            if name in offset.nodes and name not in self._nodes:
                check_folder(folder)

    def _plan(self, budget: int) -> bool:
        """Plan on in every node; whether there is something to hand out. The budget is shared, the turns rotate."""
        names = list(self._nodes)
        self._turn += 1
        turn = self._turn % len(names)
        left, found = budget, False
        for number, name in enumerate(names[turn:] + names[:turn]):
            share = max(left // (len(names) - number), 1)
            ready, used = self._nodes[name].plan(share)
            left -= used
            found = found or ready
        return found

    def _hand_out(self) -> Json:
        self._woken = self._clock()
        ends = {name: node.handed or node.base for name, node in self._nodes.items()}
        return SourceOffset(self._tick, {name: end for name, end in ends.items() if end is not None}).as_json()

    def _tick_is_due(self) -> bool:
        seconds = self._options.tick_seconds
        return seconds > 0 and self._clock() - self._woken >= seconds

    def _await_hint(self, seconds: float) -> None:
        """Until a folder may have changed: a look at it costs more than a slice of waiting."""
        until = self._clock() + seconds
        while (left := until - self._clock()) > 0 and not self._wait(min(left, SLICE_SECONDS)):
            pass

    def _wait(self, seconds: float) -> bool:
        self._check_parent()
        return any(node.wait(seconds / len(self._nodes)) for node in self._nodes.values())

    def _check_parent(self) -> None:
        if os.getppid() != self._parent:
            raise SystemExit("the JVM that started this source is gone")

    def _next_of_now(self, came: Json, budget: int) -> Json:
        """The next offset of a run that ends with what was there at its start."""
        unclear = list(self._nodes.values())
        while unclear := [node for node in unclear if not node.freeze()]:
            self._wait(SLICE_SECONDS)
        while not self._plan(budget):
            if not any(node.waiting for node in self._nodes.values()):
                for node in self._nodes.values():
                    if node.held is not None:
                        self._tell(held_warning(node.folder, node.held))
                return came
            self._wait(SLICE_SECONDS)
        return self._hand_out()


def held_warning(folder: Path, held: tuple[int, int]) -> str:
    """What is said where a run that does not wait ends before everything that is durable."""
    unfinished, behind = held
    return (
        f"warning: promised rows of segment {behind} and later are held back behind segment {unfinished} of {folder}, "
        "which is not finished; a later run goes on. If no server writes there any more: option stopped=true; if that "
        "segment was left behind: assumeFinishedAfter=SECONDS"
    )
