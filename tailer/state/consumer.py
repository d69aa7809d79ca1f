"""A consumer held by this process: its position in its file, what it remembers of segments in the journal.

Both are durable before `save` returns, the journal first: a file names records that are there. Decides nothing.
"""

from __future__ import annotations

import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from tailer.options.names import check_name
from tailer.state.away import AwayNote
from tailer.state.consumers import (
    LOCK_SECONDS,
    VERSION,
    ConsumerFile,
    NodeState,
    consumer_path,
    lock_path,
    read_consumer,
    take_consumer,
    write_consumer,
)
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal import Journal
from tailer.state.remembered import Remembered, recalled
from tailer.state.waiting import WaitingTable, write_waiting


class KeptConsumer(ABC):
    """A consumer, held until `close`; where its file is kept is for others to say. `journal`: of its state.

    `content`: its file, with what it remembers of segments.
    """

    def __init__(self, name: str, content: ConsumerFile, journal: Journal) -> None:
        self.name = name
        self.journal = journal
        self.content = recalled(content, journal)
        self._remembered: dict[str, Remembered] = {}

    @abstractmethod
    def _write(self, kept: ConsumerFile) -> None:
        """Replace the file: durable when this returns."""

    @abstractmethod
    def close(self) -> None:
        """Give the name back."""

    def node(self, node: str) -> NodeState | None:
        """Where this consumer stands in a node's log; None before its first move."""
        return self.content.nodes.get(node)

    def save(self, node: str, state: NodeState, *, moved: float, program: str) -> None:
        """Write the node's new state: durable when this returns."""
        nodes = {each: self._keep(each, state if each == node else held) for each, held in self.content.nodes.items()}
        if node not in nodes:
            nodes[node] = self._keep(node, state)
        kept = ConsumerFile(self.name, nodes, VERSION, moved, program, socket.gethostname())
        self._write(kept)
        remembered = {**self.content.nodes, node: state}
        self.content = ConsumerFile(self.name, remembered, VERSION, moved, program, kept.host)

    def forget(self, node: str, *, moved: float, program: str) -> None:
        """Leave a node out of the file from now on: durable when this returns."""
        nodes = {each: held for each, held in self.content.nodes.items() if each != node}
        kept = {each: self._keep(each, held) for each, held in nodes.items()}
        host = socket.gethostname()
        self._write(ConsumerFile(self.name, kept, VERSION, moved, program, host))
        self.content = ConsumerFile(self.name, nodes, VERSION, moved, program, host)

    def _keep(self, node: str, state: NodeState) -> NodeState:
        if node not in self._remembered:
            self._remembered[node] = Remembered(self.journal, self.name, node, self.node(node))
        return self._remembered[node].keep(state)


class Consumer(KeptConsumer):
    """A consumer of a state folder. A second process with the same name is refused (exit 6).

    `lock_seconds`: how long to wait for a predecessor that is about to die. `away`: where a target that is away is told
    of.
    """

    def __init__(self, state: Path, name: str, lock_seconds: float = LOCK_SECONDS) -> None:
        self._state = state
        self._lock = take_consumer(state, check_name(name), lock_seconds)
        try:
            content = read_consumer(consumer_path(state, name), name)
            journal = FolderJournal(state)
            # Before the first offset leaves: it says whose it is.
            journal.identify()
            super().__init__(name, content, journal)
        except BaseException:
            os.close(self._lock)
            raise
        self.away = AwayNote(self._lock, lock_path(state, name))

    def report_waiting(self, tables: Sequence[WaitingTable]) -> None:
        """Write which tables' images wait for a person, for `status`."""
        write_waiting(self._state, self.name, tables)

    def _write(self, kept: ConsumerFile) -> None:
        write_consumer(self._state, kept)

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
