"""All nodes of a query: who is worth a look, what came of it, and who is away. One wait for all of them.

Each node works in its own thread; here work is begun and its outcome taken, all in the thread that Spark calls. What
wakes the nodes is polled at once, so a wait costs the same for one and for a hundred. Knows no offset of a query.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from tailer.errors import CdcError
from tailer.segments.wake import POLL_SECONDS
from tailer.spark.node import Node
from tailer.spark.query_node import Away, QueryNode
from tailer.spark.turns import PASS_SECONDS, Turns
from tailer.tail.away import RETRY_SECONDS, LostNodes, silent
from tailer.tail.follow import Say

T = TypeVar("T")

ANSWER_SECONDS: Final = 5.0
"""So long a look without news waits for a node that does not answer; then it is left out of this look."""

GRACE_SECONDS: Final = 0.05
"""What one node has found waits so long for others that are being looked at, or as long as it took itself."""

SILENT_SECONDS: Final = 60.0
"""A node that has not answered for so long counts as away."""

LOOK_SHARE: Final = 0.003
LOOK_SECONDS_MAX: Final = 2.0
"""Where something tells of changes, nodes are looked at without it too: by so much of a core, at least this often."""

SLICE_SECONDS: Final = 0.1
"""So often a wait asks whether it is still worth it."""

CLOSE_SECONDS: Final = 5.0
"""How long what is being done is waited for when a query ends."""


class Nodes:
    """Of one query. `waits`: it goes on without nodes that are away; else their error is raised. `several`: errors say
    of which node they are.

    `check` is called during waits: it raises what ends them.
    """

    def __init__(
        self,
        say: Say,
        check: Callable[[], None],
        *,
        waits: bool,
        several: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lost = LostNodes(say, clock)
        self.all: dict[str, QueryNode] = {}
        self._once = False
        self._say = say
        self._check = check
        self._waits = waits
        self._several = several
        self._clock = clock
        self._retry: dict[str, float] = {}
        self._busy: set[QueryNode] = set()
        self._watched: dict[int, QueryNode] = {}
        self._poll = select.poll()
        self._reading, self._writing = os.pipe()
        for each in (self._reading, self._writing):
            os.set_blocking(each, False)
        self._poll.register(self._reading, select.POLLIN)
        self._due = self._all_due = clock()
        self.turns = Turns(self.answered, clock)
        self._closed = False

    def answered(self) -> None:
        """To be called by threads when something came of their work."""
        try:
            os.write(self._writing, b"\0")
        except BlockingIOError:
            # Full: whoever waits is woken as it is.
            return

    def run_once(self) -> None:
        """The run ends with what was there at its start: who is away meanwhile is left out of it."""
        self._once = True

    @property
    def active(self) -> list[QueryNode]:
        """Those that this run reads."""
        return [node for node in self.all.values() if not node.left_out]

    @property
    def offers(self) -> bool:
        """Whether one has something to hand out."""
        return any(node.offer is not None for node in self.all.values())

    def find(self, budget: int, until: float) -> bool:
        """Look at nodes until one has something to hand out, or the time is over: whether one has.

        `budget`: bytes of log for all of them, shared equally by those that are looked at.
        """
        first, grace = True, None
        # What was heard of since the last look.
        self._wait(self._clock())
        while True:
            now = self._clock()
            if not self.offers and (first or now < until):
                self._mark_due(now)
                self._begin_looks(self.active, budget)
            first = False
            self._take()
            now = self._clock()
            fresh = any(self._is_fresh(node, now) for node in self._busy)
            if self.offers:
                grace = grace or now + max(GRACE_SECONDS, now - min(node.begun for node in self.active if node.offer))
            if not fresh or (grace is not None and now >= grace):
                if grace is not None:
                    return True
                if now >= until:
                    return False
            self._wait(now + SLICE_SECONDS if fresh and grace is None else grace or until)

    def look(self, budget: int, seconds: float) -> bool:
        """One look at each active node, and all are waited for: whether one has something to hand out.

        Of whom nothing was heard for so many seconds counts as away.
        """
        for node in self.active:
            node.wake()
        self._begin_looks(self.active, budget)
        while busy := [node for node in self._busy if not node.left_out]:
            now = self._clock()
            for node in busy:
                if now - node.heard >= seconds:
                    self._away(node, silent(now - node.heard))
            self.pause()
            self._take()
        return self.offers

    def ask(self, work: Mapping[str, Callable[[Node], T]], seconds: float) -> dict[str, T]:
        """Have named nodes do their work, as far as they can at once: what came of it by name.

        Without those that are away, have not answered before, or do not answer in time.
        """
        return self._ask(self._idle(work), seconds, retry=False)

    def save(self, names: Iterable[str], seconds: float) -> None:
        """Have the consumers of named nodes follow what was committed, as `ask` does, all at once: each waits for its
        disk."""
        work = {name: self.all[name].save for name in names if name in self.all}
        self._ask(self._idle(work), seconds, retry=False, waits=True)

    def await_all(self, work: Mapping[str, Callable[[Node], T]], seconds: float, *, retry: bool = True) -> dict[str, T]:
        """Have named nodes do their work; those that are busy or away are waited for. What came of it by name, without
        those that were so for all of the time."""
        return self._ask(dict(work), seconds, retry=retry)

    def why(self, name: str) -> CdcError:
        """Why a node did not answer in time."""
        if name in self.lost:
            return self.lost.error(name)
        return silent(self._clock() - self.all[name].heard)

    def leave_out(self, name: str) -> None:
        """This run ends without what the node has more."""
        if not self.all[name].left_out:
            self.all[name].leave_out()
            self._say(f"warning: this run ends without what node {name} has more; a later run goes on there")

    def pause(self) -> None:
        """A slice of waiting, or until something wakes."""
        self._wait(self._clock() + SLICE_SECONDS)

    def drop(self, name: str) -> None:
        """The query has it no more."""
        node = self.all.pop(name)
        self._unwatch(node)
        self._busy.discard(node)
        self.lost.forget(name)
        node.close()
        node.ended(CLOSE_SECONDS)

    def close(self) -> None:
        """Give the consumers' locks back. Nothing is lost without: a process that ends does the same."""
        if self._closed:
            return
        self._closed = True
        self.turns.free()
        for node in self.all.values():
            self._unwatch(node)
            node.close()
        until = self._clock() + CLOSE_SECONDS
        ended = [node.ended(max(until - self._clock(), 0.0)) for node in self.all.values()]
        self.all = {}
        if all(ended):
            # One that hangs would write into whatever has the number by then.
            os.close(self._reading)
            os.close(self._writing)

    def _idle(self, work: Mapping[str, Callable[[Node], T]]) -> dict[str, Callable[[Node], T]]:
        return {name: each for name, each in work.items() if not (self.all[name].busy or name in self.lost)}

    def _ask(
        self, todo: dict[str, Callable[[Node], T]], seconds: float, *, retry: bool, waits: bool = False
    ) -> dict[str, T]:
        work, found, doing = dict(todo), dict[str, T](), set[str]()
        until = self._clock() + seconds
        while todo or doing:
            now = self._clock()
            for name in [name for name in todo if self._is_free(self.all[name], now)]:
                self._begun(self.all[name])
                self.all[name].begin(todo.pop(name), _into(found, name), waits=waits)
                doing.add(name)
            self._take()
            for name in [name for name in doing if name in found or not self.all[name].busy]:
                doing.remove(name)
                if name not in found and retry:
                    todo[name] = work[name]
            if now >= until and not any(self._is_fresh(self.all[name], now) for name in doing):
                break
            if todo or doing:
                self._wait(max(until, now + SLICE_SECONDS))
        return dict(found)

    def _mark_due(self, now: float) -> None:
        """Whom nobody tells of changes is looked at in any case, and all others once a while."""
        if now >= self._due:
            self._due = now + POLL_SECONDS
            every = now >= self._all_due
            if every:
                cost = sum(node.looked.cost for node in self.active if node.looked is not None)
                self._all_due = now + min(max(cost / LOOK_SHARE, POLL_SECONDS), LOOK_SECONDS_MAX)
            for node in self.active:
                if every or node.looked is None or node.looked.descriptor is None:
                    node.wake()

    def _begin_looks(self, nodes: list[QueryNode], budget: int) -> None:
        now = self._clock()
        ready = [node for node in nodes if node.stale and node.offer is None and self._is_free(node, now)]
        if ready:
            left = budget - sum(node.share for node in self._busy)
            share = max(left // len(ready), 1)
            for node in ready:
                self._begun(node)
                node.look(share)

    def _begun(self, node: QueryNode) -> None:
        self._unwatch(node)
        self._busy.add(node)

    def _is_free(self, node: QueryNode, now: float) -> bool:
        """Whether it can be given work: it is idle, and if it is away it is time to try again."""
        return not node.busy and (node.name not in self.lost or now >= self._retry.get(node.name, now))

    def _is_fresh(self, node: QueryNode, now: float) -> bool:
        """Whether an answer may come soon. Where nothing goes on without it, it is waited for in any case."""
        if not self._waits:
            return True
        return now - node.heard < ANSWER_SECONDS and node.name not in self.lost and not node.left_out

    def _take(self) -> None:
        """Take what came of all that was begun."""
        now = self._clock()
        for node in tuple(self._busy):
            self._take_from(node, now)
        if self.lost:
            self.lost.remind()

    def _take_from(self, node: QueryNode, now: float) -> None:
        try:
            found = node.settle()
        except Exception as error:
            self._busy.remove(node)
            if isinstance(error, CdcError):
                self._of(node, error)
            raise
        if found is not False:
            self._busy.remove(node)
        if isinstance(found, Away):
            self._away(node, found.error)
        elif found:
            self.lost.found(node.name)
            self._watch(node)
        elif now - node.heard >= SILENT_SECONDS and self._waits and node.name not in self.lost:
            self._away(node, silent(now - node.heard))

    def _away(self, node: QueryNode, error: CdcError) -> None:
        if not (self._waits or node.leaves):
            self._of(node, error)
            raise error
        self._retry[node.name] = self._clock() + RETRY_SECONDS
        self.lost.lose(node.name, error)
        if self._once:
            self.leave_out(node.name)

    def _of(self, node: QueryNode, error: CdcError) -> None:
        if self._several:
            error.tell(f"node {node.name}")

    def _watch(self, node: QueryNode) -> None:
        descriptor = None if node.looked is None else node.looked.descriptor
        if descriptor is not None and not node.stale:
            self._watched[descriptor] = node
            node.watch(descriptor)
            self._poll.register(descriptor, select.POLLIN)

    def _unwatch(self, node: QueryNode) -> None:
        if node.watched is not None:
            self._poll.unregister(node.watched)
            del self._watched[node.watched]
            node.watch(None)

    def _wait(self, until: float) -> None:
        """Until something wakes, or somebody answers; a slice at most."""
        self._check()
        left = min(max(until - self._clock(), 0.0), PASS_SECONDS if self.turns.waiting else SLICE_SECONDS)
        for descriptor, _ in self._poll.poll(left * 1000):
            if descriptor == self._reading:
                os.read(self._reading, 1 << 12)
            else:
                node = self._watched[descriptor]
                node.wake()
                self._unwatch(node)
        if self.turns.waiting:
            self.turns.pass_over()


def _into(found: dict[str, T], name: str) -> Callable[[T], None]:
    def give(value: T) -> None:
        found[name] = value

    return give
