"""A Python service that writes its own log with `writer_hooks`: single changes, and transactions that overlap."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from tests.simulation.consumers import IN_VAIN_MAX, ViolationError
from tests.simulation.operations import Operation
from tests.simulation.promises import Promises, kind_of, text_of, values_of
from tests.simulation.world import this_world

SEGMENT_BYTES: Final = 1 << 14
OPEN_MAX: Final = 3
"""So many transactions are open at once."""

PLAIN: Final = 2
"""The number of a write that is a change by itself."""

_DOES: Final = {
    "append": 12,
    "draft": 2,
    "begin": 3,
    "in one": 8,
    "commit": 4,
    "rollback": 1,
    "savepoint": 1,
    "back": 1,
}
"""How often it does each thing, of 32."""


class Item(msgspec.Struct):
    """`number`: in the order in which they were drawn."""

    number: int
    text: str


class NotedItem(Item):
    """As a later release of the service has it."""

    note: str


class _Open:
    """A transaction that is open: the items in it, and those that it had at its savepoint."""

    def __init__(self, transaction: Any) -> None:
        self.transaction = transaction
        self.items: list[int] = []
        self.saved: list[int] | None = None


class Service:
    """One run of it, in the process that calls `serve`: it ends with it, and the next one opens the same log. The later
    release of it may be followed by the earlier one."""

    def __init__(self, home: Path, promises: Promises, seed: int, run: int) -> None:
        from writer_hooks import Table, batch, group, periodic

        of_log, self._random = Random(f"{seed} log"), Random(f"{seed} run {run}")
        self._home, self._promises, self._seed = home, promises, seed
        self._compression = of_log.choice((None, "lz4", "zstd"))
        self._max_age = of_log.choice((None, None, 0.05))
        self._sync = self._random.choice((batch(), group(2), periodic(5)))
        self._is_later = self._random.random() < 0.3
        self._model: Any = NotedItem if self._is_later else Item
        self._items = Table.of(self._model, "shop.items", key=["number"])
        self._drafts = Table.of(Item, "shop.drafts", key=["number"], cdc=False)
        self._open: list[_Open] = []
        self._waiting: list[tuple[list[int], Any]] = []
        """Items with the ticket that says when they are durable."""

    def serve(self, operations: list[Operation]) -> int:
        """Until it is told to stop. `operations`: what it is to do, the next one first."""
        from tailer.errors import CdcError
        from writer_hooks import SegmentLog

        try:
            with SegmentLog.open(
                self._home, [self._items, self._drafts], sync=self._sync, segment_bytes=SEGMENT_BYTES,
                compression=self._compression, max_age=self._max_age,
            ) as log:  # fmt: skip
                self._promises.refused.clear()
                while True:
                    this_world().wait(lambda: bool(operations) or any(each.done for _, each in self._waiting), None)
                    operation = operations.pop(0) if operations else None
                    if operation is None:
                        pass
                    elif operation.what == "write":
                        self._write(log, operation.value, plain=operation.number == PLAIN)
                    elif operation.what == "drain":
                        return 0
                    elif self._waiting:
                        # A sync, in the words of this log; it rolls by itself.
                        self._waiting[-1][1].wait()
                        if self._random.random() < 0.2:
                            log.discard_before(log.end)
                    self._acknowledge()
        except CdcError as error:
            self._promises.refused.append(f"exit {error.code}: {error.sentence()}")
            if len(self._promises.refused) >= IN_VAIN_MAX:
                raise ViolationError(f"the service cannot open its log: {self._promises.refused[-1]}") from error
            time.sleep(0.01)
            return error.code

    def _write(self, log: Any, item: int, *, plain: bool) -> None:
        random = Random(f"{self._seed} item {item}")
        (what,) = ["append"] if plain else random.choices((*_DOES,), (*_DOES.values(),))
        if what == "draft":
            log.append(self._drafts.insert(Item(item, text_of(item))))
        elif what == "begin" and len(self._open) < OPEN_MAX:
            self._open.append(_Open(log.begin()))
        elif what in ("append", "begin") or not self._open:
            self._promises.appends(item)
            self._tried([item], lambda: log.append(self._change(item)))
        else:
            self._in_transaction(random.choice(self._open), what, item)

    def _in_transaction(self, each: _Open, what: str, item: int) -> None:
        match what:
            case "in one":
                each.transaction.append(self._change(item))
                each.items.append(item)
            case "commit":
                self._open.remove(each)
                self._promises.commits(each.items)
                self._tried(each.items, each.transaction.commit)
            case "rollback":
                self._open.remove(each)
                each.transaction.rollback()
            case "back" if each.saved is not None:
                each.transaction.rollback_to("here")
                each.items = [*each.saved]
            case _:
                each.transaction.savepoint("here")
                each.saved = [*each.items]

    def _change(self, item: int) -> Any:
        kind = kind_of(item)
        if kind == "delete_row":
            return self._items.delete({"number": item})
        if self._is_later:
            self._promises.notes(item)
        values = {"number": item, **values_of(item, noted=self._is_later)}
        return self._items.insert(self._model(**values)) if kind == "insert" else self._items.update(values)

    def _tried(self, items: list[int], append: Callable[[], Any]) -> None:
        """Append, and note a refusal: the log does not have the items then."""
        from tailer.errors import CdcError

        try:
            self._waiting.append((items, append()))
        except CdcError:
            self._promises.refuses(items)
            raise

    def _acknowledge(self) -> None:
        for items, ticket in self._waiting:
            if ticket.done:
                self._promises.acknowledged(items)
        self._waiting = [each for each in self._waiting if not each[1].done]
