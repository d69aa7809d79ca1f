"""`cdc-tail stream` in a process of its own, again and again over one checkpoint, and what that checkpoint tells.

Knows Spark's checkpoint as far as the place of each node stands in it. Chooses no options.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from tailer.position import Position
from tests.helpers import repeated
from tests.server.followers import CommandFollower

_REMOVED = "removed"
"""In the place of a node that left, which was read to its end."""


class Checkpoint:
    """One that a query keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def nodes(self) -> Mapping[str, Mapping[str, Any]]:
        """Each node's place in the newest batch that was committed."""
        commits = self._commits()
        return self._planned(commits[-1]) if commits else {}

    def newest(self) -> Mapping[str, Any]:
        """The offset of the newest batch that was committed; nothing before there is one."""
        commits = self._commits()
        return self._offset(commits[-1]) if commits else {}

    def ends(self) -> list[dict[str, Position]]:
        """Of each batch that was committed, in their order, the place behind it in each node's log, but for nodes that
        left the query."""
        planned = [self._planned(number) for number in self._commits()]
        return [{name: _place(at) for name, at in nodes.items() if _REMOVED not in at} for nodes in planned]

    def read_to(self, node: str, end: Position) -> bool:
        """Whether a batch that was committed ends at that place of the node's log, or behind it."""
        at = self.nodes().get(node)
        return at is not None and (_REMOVED in at or _place(at) >= end)

    def _commits(self) -> list[int]:
        return sorted(int(file.name) for file in (self.folder / "commits").glob("[0-9]*"))

    def _planned(self, number: int) -> Mapping[str, Mapping[str, Any]]:
        found: Mapping[str, Mapping[str, Any]] = self._offset(number)["nodes"]
        return found

    def _offset(self, number: int) -> Mapping[str, Any]:
        offset = (self.folder / "offsets" / str(number)).read_text().splitlines()[-1]
        found: Mapping[str, Any] = json.loads(offset)
        return found


class SparkCommand(CommandFollower):
    """Where Spark's ten seconds for a Python worker ended it, it goes on from its checkpoint, as the tests that this
    happens to are repeated."""

    what: ClassVar[str]
    """How it is told of."""

    _said_before, _repeated = 0, 0

    def _run(self) -> None:
        self._said_before = self._errors.stat().st_size if self._errors.exists() else 0
        super()._run()

    def _look_after(self) -> None:
        process = self._process
        if process is not None and process.poll() is not None and self._repeated < repeated.TIMES:
            said = self._errors.read_bytes()[self._said_before :].decode(errors="replace")
            if repeated.MESSAGE.search(said):
                self._repeated += 1
                repeated.told.append(self.what)
                self._run()
                return
        super()._look_after()


def _place(at: Mapping[str, Any]) -> Position:
    return Position(at["s"], at["o"])
