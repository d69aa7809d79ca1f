"""Nodes that left a query for good: when one may go, and what an offset keeps of it.

It may go when all of its log was read; what was not is a loss, that somebody must accept. From then on neither its name
nor its log comes back. Reads no log: the query's nodes do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tailer.errors import LossError, RefusedError
from tailer.options.to_spark import SourceOptions
from tailer.spark.node import Node
from tailer.spark.nodes import Nodes
from tailer.spark.offsets import SourceOffset
from tailer.state.offset import NodeOffset
from tailer.tail.away import reason
from tailer.tail.follow import Say
from tailer.tail.open import LEFT_SECONDS

ASK_SECONDS: Final = 1.0
REMIND_SECONDS: Final = 60.0

_ACCEPT: Final = "failOnDataLoss=false goes on without"


class RemovedNodes:
    """Of one query. `ids`: those that are gone, with the ids of their states, as the offsets have them."""

    def __init__(
        self, options: SourceOptions, nodes: Nodes, say: Say, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.ids: dict[str, str] = {}
        self._removed = set(options.removed)
        self._there = {name for name, _ in options.places}
        self._accept_loss = options.tail.accept_loss
        self._nodes = nodes
        self._say = say
        self._clock = clock
        self._leaving: dict[str, NodeOffset] = {}
        self._told: dict[str, float] = {}

    def take(self, offset: SourceOffset) -> None:
        """Spark stands there. RefusedError for a node that is named again."""
        self.ids = dict(offset.removed)
        self._leaving = {name: at for name, at in offset.nodes.items() if name in self._removed}
        if back := sorted(self.ids.keys() & (self._there - self._removed)):
            raise _gone(back[0], f"its name stands in `path` again ({back[0]})")

    def leaves(self, name: str) -> bool:
        """Whether a node is one that is to go."""
        return name in self._removed

    def settle(self) -> bool:
        """Let those go that may: whether one went. To be called behind a look. LossError for one that may not.

        RefusedError where another node has the log of one that is gone.
        """
        for node in self._nodes.all.values():
            if node.looked is not None and node.looked.identity in set(self.ids.values()) - {""}:
                was = next(name for name, id in self.ids.items() if id == node.looked.identity)
                raise _gone(was, f"node {node.name} has its log ({node.place})")
        going = [name for name, at in self._leaving.items() if name not in self.ids and self._may_go(name, at)]
        for name in going:
            self.ids[name] = self._leaving[name].id
            if name in self._nodes.all:
                self._nodes.drop(name)
        return bool(going)

    def reads(self, name: str, end: NodeOffset) -> bool:
        """Whether a node's part of a batch that left is to be read; LossError where that cannot be."""
        if name in self._there:
            return True
        self._lose(name, end, "`path` does not name its folder any more, and a batch that was planned has rows of it")
        return False

    def _may_go(self, name: str, at: NodeOffset) -> bool:
        node = self._nodes.all.get(name)
        if node is None:
            return self._lose(name, at, "`path` does not name its folder any more")
        if name in self._nodes.lost:
            return self._lose(name, at, reason(self._nodes.why(name)))
        if node.looked is None or node.offer is not None or node.busy:
            return False
        ended = self._nodes.ask({name: _ended}, ASK_SECONDS).get(name)
        if ended:
            self._say(f"node {name} was read to its end, {at.position}, and has left the query")
        elif ended is not None and self._accept_loss:
            return self._lose(name, at, "its last segment is not finished")
        elif ended is not None:
            self._remind(name, at)
        return bool(ended)

    def _remind(self, name: str, at: NodeOffset) -> None:
        now = self._clock()
        if now - self._told.get(name, -REMIND_SECONDS) >= REMIND_SECONDS:
            self._told[name] = now
            self._say(
                f"node {name} is to be removed, and stays until its last segment, read up to {at.position}, is "
                f"finished or did not change for {LEFT_SECONDS:.0f} s; {_ACCEPT} at once"
            )

    def _lose(self, name: str, at: NodeOffset, why: str) -> bool:
        """True where the loss is accepted."""
        what = f"node {name} is to be removed, and whether it was read to its end cannot be told: {why}"
        if not self._accept_loss:
            raise LossError(
                what,
                at=at.position,
                remedy=f"Name its folder in `path`, so that it is read to its end first; {_ACCEPT}.",
            )
        self._say(f"warning: {what}. Accepted: what it logged behind {at.position} is not read.")
        return True


def _ended(node: Node) -> bool:
    return node.ended


def _gone(name: str, found: str) -> RefusedError:
    return RefusedError(
        f"node {name} was removed from this query for good",
        expected="another log, under another name",
        found=found,
        remedy="A new server has a new log: give it a name of its own.",
    )
