"""What is told of a node's loop as it goes, for whoever measures it. Knows no metric, no sink and no clock.

A loop that nobody watches tells `NO_WATCH`, which does nothing.
"""

from __future__ import annotations

from typing import Final, Protocol

from tailer.errors import CdcError
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.state.offset import NodeOffset
from tailer.tail.step import Step
from tailer.tail.tail import Tail


class Watch(Protocol):
    """Told by one node's loop, in the loop's own thread. Each call is quick and raises nothing; each says that the loop
    turns."""

    def began(self, tail: Tail) -> None:
        """The tail is open: it stands somewhere, and its consumer is registered. Once, before the loop's first look."""
        ...

    def looked(self, step: Step) -> None:
        """A look and a plan, whether they bring something or not."""
        ...

    def read(self, task: ReadTask, batch: AnyBatch, durable: float | None = None) -> None:
        """Rows of a task are there. The target does not have them yet.

        `durable`: since when they are, in seconds since the epoch, where the loop did not learn of it by a look.
        """
        ...

    def delivered(self, behind: NodeOffset) -> None:
        """All rows that were read so far are where they go: a sink took them, or an outlet committed them. The offset
        stands behind them. Also where a step had no rows."""
        ...

    def saved(self) -> None:
        """A position was made durable: the consumer's, or with an outlet the target's."""
        ...

    def away(self, error: CdcError | None) -> None:
        """The target cannot be reached, which is tried again: told at each try that fails. None: it is there again."""
        ...

    def left_out(self, rows: int) -> None:
        """So many rows were refused by the target and put into quarantine. They count as read, and as delivered."""
        ...


class NoWatch:
    """Nobody watches."""

    def began(self, tail: Tail) -> None: ...

    def looked(self, step: Step) -> None: ...

    def read(self, task: ReadTask, batch: AnyBatch, durable: float | None = None) -> None: ...

    def delivered(self, behind: NodeOffset) -> None: ...

    def saved(self) -> None: ...

    def away(self, error: CdcError | None) -> None: ...

    def left_out(self, rows: int) -> None: ...


NO_WATCH: Final = NoWatch()
