"""One node as its query sees it: what was handed out of it, whether it answers, and what is to be done there.

What touches the node itself runs in its thread (`node_thread.py`); all else is the query's, and asks no file system.
Knows no other node.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tailer.errors import CdcError, SystemFailedError
from tailer.options.log_place import LogPlace
from tailer.planning.absent import MOUNT
from tailer.planning.batch_tasks import FileTask
from tailer.segments.folder import check_folder
from tailer.spark.backlog import NodeProgress
from tailer.spark.carry import CarriedSpan
from tailer.spark.executor import JobPacker
from tailer.spark.node import Node
from tailer.spark.node_thread import NodeThread
from tailer.spark.turns import Turns
from tailer.state.offset import NodeOffset
from tailer.tail.away import documented, lost_by, lost_while_open, nothing_at

T = TypeVar("T")


class Away(NamedTuple):
    """What came of work at a node that is away."""

    error: CdcError


class Made(NamedTuple):
    """The jobs from one offset to another, with the log's bytes in them."""

    start: NodeOffset
    end: NodeOffset
    jobs: list[bytes]


class Looked(NamedTuple):
    """What a look at a node came to.

    `target`: where it stood. `offer`: what may be handed out from there, None where there is nothing new; `used`: bytes
    of log up to there. `again`: look again at once. `descriptor`: readable when it is worth another look; None where
    nothing tells. `cost`: seconds of processor. `made`: the jobs up to `offer`, where they do not need the node.
    """

    target: NodeOffset | None
    offer: NodeOffset | None
    used: int
    again: bool
    descriptor: int | None
    identity: str
    held: tuple[int, int] | None
    waiting: bool
    cost: float
    made: Made | None


class QueryNode:
    """Of one query. `open_node`: opens it, called in its thread, again after it was away. `turns`,
    `answered`: see `NodeThread`. `leaves`: it is to go for good.

    `target`: where Spark stands; None as long as its offsets do not have this node. `offer`: what may be handed out
    from there. `committed`: what Spark has committed; the consumer follows when the node answers. `looked`: what the
    last look from the target came to. `progress`: as it was told last. `stale`: it is worth a look. `frozen`: no look
    shows anything new. `left_out`: this run ends without it. `begun`: when what is being done was begun, `heard`: when
    it was last seen to go on, and `share`: how many bytes of log it looks for. `watched`: the descriptor that is waited
    at for it.
    """

    def __init__(
        self,
        name: str,
        place: LogPlace,
        state: Path | None,
        open_node: Callable[[], Node],
        turns: Turns,
        answered: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        leaves: bool = False,
    ) -> None:
        self.name = name
        self.place = place
        self.leaves = leaves
        self._state = state
        self._open_node = open_node
        self._clock = clock
        self._thread: NodeThread[Any] = NodeThread(name, turns, answered)
        self._give: Callable[[Any], None] | None = None
        self._node: Node | None = None
        self._moved: NodeOffset | None = None
        self._packer = JobPacker()
        self._made: Made | None = None
        self.target: NodeOffset | None = None
        self.offer: NodeOffset | None = None
        self.committed: NodeOffset | None = None
        self.looked: Looked | None = None
        self.progress: NodeProgress | None = None
        self.stale, self.frozen, self.left_out = True, False, False
        self.begun, self.heard, self.share = 0.0, 0.0, 0
        self.watched: int | None = None

    @property
    def busy(self) -> bool:
        return self._thread.busy

    @property
    def at(self) -> NodeOffset | None:
        """What an offset that leaves now says of it."""
        return self.offer or self.target

    def stand(self, target: NodeOffset) -> None:
        """Spark stands there."""
        if target != self.target:
            self.target, self.offer, self.looked, self.stale = target, None, None, True
            self._made = None

    def commit(self, committed: NodeOffset | None) -> None:
        """Spark has committed it."""
        self.committed = committed or self.committed

    def beat(self) -> None:
        """In the thread: what is being done goes on."""
        self.heard = self._clock()

    def wake(self) -> None:
        """It is worth a look."""
        self.stale = True

    def watch(self, descriptor: int | None) -> None:
        """That is waited at for it."""
        self.watched = descriptor

    def leave_out(self) -> None:
        """This run ends without it."""
        self.left_out = True

    def take_silent(self, offer: NodeOffset | None) -> None:
        """What `silent` gave."""
        self.offer = offer

    def take_progress(self, progress: NodeProgress | None) -> None:
        """What the node told of itself, if anything."""
        self.progress = progress or self.progress

    def take_frozen(self, frozen: bool) -> None:
        """What `freeze` gave."""
        self.frozen = frozen

    def begin(self, work: Callable[[Node], T], give: Callable[[T], None], *, waits: bool = False) -> None:
        """Begin work at the node, which is opened if need be. What comes of it is given by `settle`. `waits`: see
        `NodeThread.begin`."""
        known = self.target
        self._give, self.share = give, 0
        self.begun = self.heard = self._clock()
        self._thread.begin(lambda: self._guarded(work, known), waits=waits)

    def settle(self) -> Away | bool:
        """Give what has come of the work: whether something has. Raises what it raised."""
        outcome = self._thread.take()
        if outcome is None:
            return False
        found = outcome.get()
        if isinstance(found, Away):
            # Opened anew, it stands where Spark does, and plans the same again.
            self.offer, self.looked, self.stale = None, None, True
            return found
        assert self._give is not None
        self._give(found)
        return True

    def look(self, budget: int) -> None:
        """Begin a look, for about so many bytes of log."""
        target, committed = self.target, self.committed
        self.stale = False
        self.begin(lambda node: self._look(node, target, committed, budget), self._take_look)
        self.share = budget

    def freeze(self, node: Node) -> bool:
        """The work that makes the node plan what is there now, and nothing more; see `Node.freeze`."""
        self._stand(node, self.target)
        return node.freeze()

    def save(self, node: Node) -> None:
        """The work that lets the consumer follow what was committed."""
        self._follow(node, self.committed)

    def tasks(self, start: NodeOffset, end: NodeOffset, pieces: int, wait: float) -> Callable[[Node], list[bytes]]:
        """The work that makes the jobs of a batch; see `Node.tasks`. `wait`: how long a task waits for the node."""

        def work(node: Node) -> list[bytes]:
            found = node.tasks(start, end, pieces)
            jobs = [self._packed(node, task, node.carried(task), wait) for task in found]
            return [*jobs, *node.told(start, end, found)]

        return work

    def made(self, start: NodeOffset, end: NodeOffset) -> list[bytes] | None:
        """The jobs of a batch that were made when it was planned, from bytes that were here: it waits for nobody."""
        made = self._made
        return made.jobs if made is not None and (made.start, made.end) == (start, end) else None

    def close(self) -> None:
        """Give the consumer's lock back, behind what is being done."""
        self._thread.end(self._let_go)

    def ended(self, seconds: float) -> bool:
        """Whether the thread has ended, within so many seconds."""
        return self._thread.ended(seconds)

    def _take_look(self, looked: Looked) -> None:
        if looked.target != self.target:
            self.stale = True
            return
        self.offer, self.looked = looked.offer, looked
        # Kept where the node goes away before the batch is asked for: the offset has left then.
        self._made = looked.made or self._made
        self.stale = self.stale or looked.again

    def _guarded(self, work: Callable[[Node], T], known: NodeOffset | None) -> T | Away:
        """In the thread. A node that was away is opened anew, as by a new run: what was seen of it before tells
        nothing."""
        judge = lost_by if self._node is None else lost_while_open
        try:
            return work(self._opened(known))
        except (CdcError, OSError) as error:
            if not judge(error, self.place, self._state):
                raise
            self._let_go()
            return Away(documented(error))

    def _opened(self, known: NodeOffset | None) -> Node:
        if self._node is None:
            if known is not None and known.id and nothing_at(self.place, self._state):
                # A new state would be made beside it, which is not that of the offset.
                check_folder(Path(str(self.place)))
                told = f"neither its log nor its state is there, and it was read up to {known.position}"
                raise SystemFailedError(told, file=str(self.place), remedy=MOUNT)
            self._node, self._moved = self._open_node(), None
        return self._node

    def _look(self, node: Node, target: NodeOffset | None, committed: NodeOffset | None, budget: int) -> Looked:
        began = time.thread_time()
        self._stand(node, target)
        self._follow(node, target, committed)
        found, used = node.plan(budget)
        made = self._make(node, target) if found and target is not None else None
        return Looked(
            target,
            node.handed if found else None,
            used,
            node.listen(),
            node.descriptor,
            node.identity,
            node.held,
            node.waiting,
            time.thread_time() - began,
            made,
        )

    def _make(self, node: Node, target: NodeOffset) -> Made | None:
        """The jobs of a node elsewhere that has just shown the bytes of a small batch. Whether it is there while they
        are read is no matter then, nor how slow the way to it is: others' rows in the batch do not wait for it."""
        end = node.handed
        if end is not None and self.made(target, end) is not None:
            return self._made
        if isinstance(self.place, Path) or end is None or not node.is_small(target):
            return None
        tasks = node.tasks(target, end)
        jobs = [self._packed(node, task, node.carried(task, whole=True)) for task in tasks]
        return Made(target, end, [*jobs, *node.told(target, end, tasks)])

    def _packed(self, node: Node, task: FileTask, carried: CarriedSpan | None, wait: float = 0.0) -> bytes:
        return self._packer.pack(task, node.place, node.options, carried, wait=wait)

    def _stand(self, node: Node, target: NodeOffset | None) -> None:
        if target is not None:
            node.stand(target)
        elif node.base is None:
            # What is new begins where its first offset is, in the next one that leaves.
            node.handed = node.initial()

    def _follow(self, node: Node, *upto: NodeOffset | None) -> None:
        """The consumer follows; what Spark stands at is committed too. Never back."""
        for each in upto:
            if each is not None and each != self._moved and node.base is not None:
                node.move_consumer(each)
                self._moved = each

    def _let_go(self) -> None:
        if self._node is not None:
            self._node.close()
            self._node = None
