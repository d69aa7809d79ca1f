"""The tables of a query's snapshot: those that the logs of its nodes show together. Knows no offset of a query.

One node's log is not enough: it may be behind a gap, or behind the other logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tailer.rebuild import Table
from tailer.spark.newest import successor
from tailer.spark.node import Node
from tailer.spark.nodes import Nodes
from tailer.spark.query_node import QueryNode
from tailer.tail.snapshot.tables import LogTables

ASK_SECONDS: Final = 1.0


class NodeTables:
    """Of one query. A node that does not answer counts with its last answer."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._told: dict[str, LogTables] = {}

    def ask(self) -> list[Table] | None:
        """The tables by all nodes; None as long as one has not answered yet: it may be the only one that knows a
        table."""
        nodes = self._nodes
        self._told |= nodes.ask(dict.fromkeys(nodes.all, Node.tables), ASK_SECONDS)
        if busy := [node.name for node in self._silent() if node.name not in nodes.lost]:
            self._told |= nodes.await_all(dict.fromkeys(busy, Node.tables), ASK_SECONDS, retry=False)
        # Reading waits for a node without a position anyway. Nothing waits for one that has a position and is away.
        if not self._told or any(node.at is None or node.name not in nodes.lost for node in self._silent()):
            return None
        return tables_of([self._told[name] for name in nodes.all if name in self._told])

    def _silent(self) -> list[QueryNode]:
        return [node for node in self._nodes.active if not node.leaves and node.name not in self._told]


def tables_of(told: Iterable[LogTables]) -> list[Table]:
    """The chosen tables that any log shows, by the newer definition of each. A table is gone where the log that has
    seen most of its id shows it dropped."""
    logs = list(told)
    lives: dict[str, tuple[int, bool]] = {}
    for log in logs:
        for id, life in log.lives.items():
            lives[id] = max(lives.get(id, life), life)
    found: dict[str, Table] = {}
    for table in (each for log in logs for each in log.chosen):
        id = table.definition.id
        if lives[id][1]:
            found[id] = successor(found[id], table) if id in found else table
    return list(found.values())
