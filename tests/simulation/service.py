"""A Python service that writes its own log with `writer_hooks`, and what it was promised: no acknowledged write is
lost, and what a reader was given stays."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.simulation.consumers import IN_VAIN_MAX, ViolationError
from tests.simulation.operations import Operation

SEGMENT_BYTES: Final = 1 << 14


class Item(msgspec.Struct):
    """`number`: in the order in which they were appended."""

    number: int
    text: str


class Promises:
    """Of one service: known to the one who checks, whatever becomes of the service's processes."""

    node: str | None = None
    back = False

    def __init__(self) -> None:
        self.appended: list[int] = []
        self.acknowledged: set[int] = set()
        self.refused: list[str] = []
        """What the runs in turn ended with that could not open the log."""
        self._order: list[int] = []
        """The rows of the log, as the first reader was given them."""
        self._numbers: dict[int, int] = {}
        self._places: list[tuple[int, int]] = []
        """Segment and offset of each row."""

    def number_of(self, row: dict[str, Any]) -> int:
        item = json.loads(row["partition_key"])["number"]
        said = row["keyspace"], row["table"], row["op"], json.loads(row["columns"])
        if said != ("shop", "items", "insert", {"text": text_of(item)}):
            raise ViolationError(f"the row of item {item} differs: {said}")
        if item in self._numbers:
            return self._numbers[item]
        if item not in self.appended:
            raise ViolationError(f"item {item} came, which was never appended")
        if self._order and item < self._order[-1]:
            raise ViolationError(f"item {item} came behind item {self._order[-1]}")
        self._numbers[item] = len(self._order)
        self._places.append((row["segment"], row["offset"]))
        self._order.append(item)
        return self._numbers[item]

    def place_of(self, number: int) -> tuple[int, int]:
        raise NotImplementedError("no service's clock goes back")

    def entry_of(self, number: int) -> tuple[int, str]:
        """The row's own, of those that came to somebody."""
        number = min(number, len(self._places) - 1)
        return number, "{}:{}".format(*self._places[number])

    def first_of(self, segment: int) -> int:
        """The number of the first row that stands in a segment or behind it."""
        return next((number for number, (each, _) in enumerate(self._places) if each >= segment), len(self._places))

    def count(self) -> int:
        """What was acknowledged and came to nobody yet comes behind the others."""
        return len(self._order) + len(self.acknowledged - self._numbers.keys())


def text_of(item: int) -> str:
    return f"item {item}" + "." * (item % 50 * 20)


class Service:
    """One run of it, in the process that calls `serve`: it ends with it, and the next one opens the same log."""

    def __init__(self, home: Path, promises: Promises) -> None:
        self._home, self._promises = home, promises

    def serve(self, next_operation: Callable[[], Operation | None]) -> int:
        """Until it is told to stop."""
        from tailer.errors import CdcError
        from writer_hooks import SegmentLog, Table, group

        items, waiting = Table.of(Item, "shop.items", key=["number"]), list[tuple[int, Any]]()
        try:
            with SegmentLog.open(self._home, [items], sync=group(2), segment_bytes=SEGMENT_BYTES) as log:
                self._promises.refused.clear()
                while True:
                    operation = next_operation()
                    if operation is None:
                        time.sleep(0.002)
                    elif operation.what == "write":
                        self._promises.appended.append(operation.value)
                        ticket = log.append(items.insert(Item(operation.value, text_of(operation.value))))
                        waiting.append((operation.value, ticket))
                    elif operation.what == "drain":
                        return 0
                    elif waiting:
                        # A sync, in the words of this log; it rolls by itself.
                        waiting[-1][1].wait()
                    self._promises.acknowledged |= {item for item, ticket in waiting if ticket.done}
                    waiting = [each for each in waiting if not each[1].done]
        except CdcError as error:
            self._promises.refused.append(f"exit {error.code}: {error.sentence()}")
            if len(self._promises.refused) >= IN_VAIN_MAX:
                raise ViolationError(f"the service cannot open its log: {self._promises.refused[-1]}") from error
            time.sleep(0.01)
            return error.code
