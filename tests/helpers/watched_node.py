"""A node to look at: a log that grows, consumers that read it when they are told to, and what goes wrong."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

from tailer.options.tail import TailOptions
from tailer.retention.clean import clean
from tailer.retention.needed import Ages
from tailer.tail.follow import steps
from tailer.tail.tail import Tail
from tests.helpers.log_writer import create_payload, insert_payload, simple_table
from tests.helpers.logs.growing import GrowingLog
from tests.helpers.tails import open_tail

FIRST_SEGMENT = 1_764_000_000_001
ORDERS = simple_table("shop", "orders", 1)
UNKNOWN = simple_table("shop", "nobody_defined_this", 2)


class WatchedNode:
    """Its log lies in `folder`. Consumers whose tail is open are running; `close` ends all."""

    def __init__(self, parent: Path, node: str = "local") -> None:
        self._node = node
        self._log = GrowingLog(parent, FIRST_SEGMENT)
        self.folder = self._log.folder
        self._open: dict[str, Tail] = {}
        self._end = ExitStack()
        self._rows = 0
        self._log.section([create_payload(ORDERS)])
        self._log.publish()

    def write(self, rows: int = 1) -> None:
        """So many rows, durable and promised."""
        self._log.section(
            insert_payload(ORDERS, number, "a", number) for number in range(self._rows, self._rows + rows)
        )
        self._rows += rows
        self._log.publish()

    def write_unknown(self, rows: int = 1) -> None:
        """Rows of a table that nothing defines."""
        self._log.section([insert_payload(UNKNOWN, number, "a", number) for number in range(rows)])
        self._log.publish()

    def roll(self) -> None:
        """The next segment begins."""
        self._log.roll_over()
        self._log.publish()

    def read(self, consumer: str) -> None:
        """The consumer reads all there is, and runs from then on; what it cannot read it leaves out."""
        if consumer not in self._open:
            options = TailOptions(node=self._node, consumer=consumer, on_error="quarantine", settle_seconds=0.0)
            self._open[consumer] = self._end.enter_context(open_tail(self.folder, options))
        tail = self._open[consumer]
        for step in steps(tail, once=True, say=lambda line: None):
            for task in step.tasks:
                for _ in tail.read(task):
                    pass
            tail.advance(step)
            tail.save()

    def stop(self, consumer: str) -> None:
        """It runs no more, and keeps its place."""
        with closing(self._open.pop(consumer)):
            pass

    def clean(self) -> None:
        """What nobody needs goes."""
        clean(self.folder, ages=Ages(0.0, 0.0))

    def close(self) -> None:
        self._end.close()
        self._log.finish()
