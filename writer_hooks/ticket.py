"""Tickets: what an append gives. A ticket is a number, the end of its entry, compared with the log's durable end."""

from __future__ import annotations

from collections.abc import Generator

from tailer.position import Position
from writer_hooks.durable import DurableEnd, position_of


class Ticket:
    """The promise of an append. `done` when its bytes are durable, and never before; `wait` and `await` wait for it."""

    __slots__ = ("_durable", "_end")

    def __init__(self, durable: DurableEnd, end: int) -> None:
        self._durable = durable
        self._end = end

    @property
    def done(self) -> bool:
        return self._end <= self._durable.end

    @property
    def position(self) -> Position:
        """The end of its entry: what a store notes as applied, and `replay` and `discard_before` take."""
        return position_of(self._end)

    def wait(self, timeout: float | None = None) -> None:
        """Returns when the bytes are durable. Raises TimeoutError after `timeout` seconds, SystemFailedError when they
        cannot be made so."""
        if self._end > self._durable.end:
            self._durable.wait(self._end, timeout)

    def __await__(self) -> Generator[object, None, None]:
        return self._durable.wait_task(self._end)
