"""A consumer held by this process: its position in its file, what it remembers of segments in the journal.

Both are durable before `save` returns, the journal first: a file names records that are there. Decides nothing.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from tailer.options.names import check_name
from tailer.state.consumers import (
    LOCK_SECONDS,
    VERSION,
    ConsumerFile,
    NodeState,
    consumer_path,
    read_consumer,
    take_consumer,
    write_consumer,
)
from tailer.state.journal import Journal
from tailer.state.remembered import Remembered, recalled


class Consumer:
    """A consumer, held until `close`. A second process with the same name is refused (exit 6).

    `lock_seconds`: how long to wait for a predecessor that is about to die. `journal`: of its state, which has an id.
    """

    def __init__(self, state: Path, name: str, lock_seconds: float = LOCK_SECONDS) -> None:
        self.name = check_name(name)
        self._state = state
        self._lock = take_consumer(state, name, lock_seconds)
        try:
            content = read_consumer(consumer_path(state, name), name)
            self.journal = Journal(state)
            # Before the first offset leaves: it says whose it is.
            self.journal.identify()
            self.content = recalled(content, self.journal)
        except BaseException:
            os.close(self._lock)
            raise
        self._remembered: dict[str, Remembered] = {}

    def node(self, node: str) -> NodeState | None:
        """Where this consumer stands in a node's log; None before its first move."""
        return self.content.nodes.get(node)

    def save(self, node: str, state: NodeState, *, moved: float, program: str) -> None:
        """Write the node's new state: durable when this returns."""
        nodes = {each: self._keep(each, state if each == node else held) for each, held in self.content.nodes.items()}
        if node not in nodes:
            nodes[node] = self._keep(node, state)
        kept = ConsumerFile(self.name, nodes, VERSION, moved, program, socket.gethostname())
        write_consumer(self._state, kept)
        remembered = {**self.content.nodes, node: state}
        self.content = ConsumerFile(self.name, remembered, VERSION, moved, program, kept.host)

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _keep(self, node: str, state: NodeState) -> NodeState:
        if node not in self._remembered:
            self._remembered[node] = Remembered(self.journal, self.name, node, self.node(node))
        return self._remembered[node].keep(state)
