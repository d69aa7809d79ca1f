"""What a tail says may be read now. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tailer.errors import CdcError
from tailer.planning.plan import Edge
from tailer.reading.task import ReadTask
from tailer.state.offset import Memory, NodeOffset


@dataclass(slots=True)
class Step:
    """What may be read now. `tasks` in log order; `offset` stands behind them, to be saved once they were delivered.

    `error`: what stands in the way, raised when nothing is left before it. `held`, `absent`, `edges`: see `plan.Plan`.
    """

    tasks: list[ReadTask]
    offset: NodeOffset
    memory: Memory
    moved: bool
    notices: list[str] = field(default_factory=list)
    error: CdcError | None = None
    held: tuple[int, int] | None = None
    waiting: bool = False
    finished: bool = False
    absent: bool = False
    edges: Mapping[int, Edge] = field(default_factory=dict)

    @property
    def brings(self) -> bool:
        """Whether there is something to deliver, or a new place to stand at."""
        return bool(self.tasks) or self.moved
