"""What was served, in numbers: for a page, for monitoring, and for who looks after the node. Asked by any thread."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple


class LeaseNow(NamedTuple):
    """A name that a reader has. `since`, `ends`: seconds since the epoch."""

    consumer: str
    holder: str
    since: float
    ends: float


class ServedNow(NamedTuple):
    """Since the start: `bytes` of segments sent, `requests` by status, `errors` by word; and now: `waiting` readers,
    `connections`, `leases`. `rate`: the most bytes a second that leave, None without a limit."""

    bytes: int
    requests: dict[int, int]
    errors: dict[str, int]
    waiting: int
    connections: int
    leases: list[LeaseNow]
    rate: int | None


class Counts:
    """Of one server; what is of now is asked of `now`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = 0
        self._requests: Counter[int] = Counter()
        self._errors: Counter[str] = Counter()
        self.waiting: Callable[[], int] = lambda: 0
        self.connections: Callable[[], int] = lambda: 0
        self.leases: Callable[[], list[LeaseNow]] = list
        self.rate: int | None = None

    def sent(self, count: int) -> None:
        with self._lock:
            self._bytes += count

    def answered(self, status: int) -> None:
        with self._lock:
            self._requests[status] += 1

    def went_wrong(self, word: str) -> None:
        with self._lock:
            self._errors[word] += 1

    def now(self) -> ServedNow:
        """All of it."""
        with self._lock:
            requests, errors, sent = dict(self._requests), dict(self._errors), self._bytes
        return ServedNow(sent, requests, errors, self.waiting(), self.connections(), self.leases(), self.rate)
