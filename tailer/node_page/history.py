"""How far each consumer was behind during the last hour: the worst of each half minute. Values only; knows no clock.

However often it is told and however long it runs, it keeps so much and no more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from tailer.retention.status import ConsumerStatus

STEP_SECONDS: Final = 30
STEPS: Final = 120
"""So many steps are an hour."""

KEPT_MAX: Final = 200
"""Consumers (each on its node) of which it is kept; of those that come beyond it is not."""


class Past(msgspec.Struct, frozen=True):
    """One consumer on a node: the highest lag of each step, the oldest first, null where nobody looked.

    The last step is the one of now; there are `STEPS` of them.
    """

    consumer: str
    node: str
    bytes: list[int | None]
    seconds: list[float | None]


class _Worst(NamedTuple):
    """Of one step, counted from the epoch."""

    step: int
    bytes: int
    seconds: float


class LagHistory:
    """Of one folder's consumers."""

    def __init__(self, kept_max: int = KEPT_MAX) -> None:
        self._kept_max = kept_max
        self._worst: dict[tuple[str, str], deque[_Worst]] = {}

    def add(self, consumers: Iterable[ConsumerStatus], now: float) -> None:
        """What a look has shown. `now`: seconds since the epoch."""
        step = step_of(now)
        for key in [key for key, worst in self._worst.items() if worst[-1].step <= step - STEPS]:
            del self._worst[key]
        for each in consumers:
            key = each.consumer, each.node
            if key not in self._worst and len(self._worst) >= self._kept_max:
                continue
            worst = self._worst.setdefault(key, deque(maxlen=STEPS))
            new = _Worst(step, each.lag.bytes, each.lag.seconds)
            # A clock that was set back adds to the newest step there is.
            if worst and worst[-1].step >= step:
                last = worst.pop()
                new = _Worst(last.step, max(last.bytes, new.bytes), max(last.seconds, new.seconds))
            worst.append(new)

    def past(self, now: float) -> list[Past]:
        """The last hour of every consumer that was seen in it."""
        first = step_of(now) - STEPS + 1
        made = []
        for (consumer, node), worst in sorted(self._worst.items()):
            bytes_: list[int | None] = [None] * STEPS
            seconds: list[float | None] = [None] * STEPS
            for each in worst:
                if 0 <= each.step - first < STEPS:
                    bytes_[each.step - first], seconds[each.step - first] = each.bytes, each.seconds
            made.append(Past(consumer, node, bytes_, seconds))
        return made


def step_of(now: float) -> int:
    """The number of a moment's step, counted from the epoch."""
    return int(now // STEP_SECONDS)
