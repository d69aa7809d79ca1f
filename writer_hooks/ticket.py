"""Tickets: what an append gives. A ticket is a number, the end of its entry, compared with the log's durable end."""

from __future__ import annotations

from collections.abc import Generator

import msgspec

from tailer.position import Position
from writer_hooks.durable import DurableEnd, position_of


class Ticket(msgspec.Struct, eq=False, gc=False):
    """The promise of an append. `done` when its bytes are durable, and never before; `wait` and `await` wait for it."""

    # A Struct, as each append makes one: it is made in a third of the time.
    _durable: DurableEnd
    _end: int

    def __repr__(self) -> str:
        return f"<Ticket {self.position}{' done' if self.done else ''}>"

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
