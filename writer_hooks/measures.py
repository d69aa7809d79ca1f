"""The numbers of a log and of its subscribers, for monitoring. Reads what the parts say of themselves; touches no byte.

Loaded where a service asks for it alone.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from tailer.errors import UsageError
from tailer.metrics import declared as m
from tailer.metrics.monitor import Monitor
from tailer.metrics.samples import Durations, Sample
from tailer.options.listen import listen_of
from writer_hooks.cap import Cap
from writer_hooks.stats import Stats

if TYPE_CHECKING:
    from writer_hooks.own_steps import OwnSteps


_log: Final = logging.getLogger("writer_hooks")


class Shown(Protocol):
    """A log."""

    def show(self, monitor: Monitor) -> None: ...


Log = TypeVar("Log", bound=Shown)


def monitored(metrics: Any, make: Callable[[], Log]) -> Log:
    """The log that is made, shown where `metrics` says. UsageError where that cannot be had; then none is made."""
    monitor = _monitor(metrics)
    try:
        log = make()
    except BaseException:
        monitor.close()
        raise
    log.show(monitor)
    return log


def _monitor(metrics: Any) -> Monitor:
    if hasattr(metrics, "register"):
        return Monitor(None, os.environ, _log.info, registry=metrics)
    listen = listen_of(metrics)
    if listen is None:
        expected = "a port, HOST:PORT, or a CollectorRegistry"
        raise UsageError("metrics", expected=expected, found=repr(metrics))
    return Monitor(listen, os.environ, _log.info)


class Measures:
    """Of one log, with a `cap` or none."""

    def __init__(
        self,
        folder: str,
        stats: Callable[[], Stats],
        subscriptions: Callable[[], list[OwnSteps]],
        cap: Cap | None,
        used: Callable[[], int],
    ) -> None:
        """`used`: bytes in `cdc_raw`, as the cap counts them."""
        self._labels = (folder,)
        self._stats = stats
        self._subscriptions = subscriptions
        self._cap = cap
        self._used = used
        self._syncs = Durations()

    def synced(self, seconds: float) -> None:
        """An fsync took so long. Called by whoever syncs, one at a time."""
        self._syncs.add(seconds)

    def stuck(self) -> list[str]:
        dead = self._stats().dead
        return [] if dead is None else [dead]

    def unready(self) -> list[str]:
        stats = self._stats()
        return [each for each in (stats.dead, stats.trouble) if each is not None]

    def samples(self) -> Iterator[Sample]:
        """All of now."""
        stats, log = self._stats(), self._labels
        yield Sample(m.SYNCS, log, self._syncs.counted())
        yield Sample(m.ENTRIES, log, stats.appended_entries)
        yield Sample(m.APPENDED, log, stats.appended_bytes)
        yield Sample(m.UNSYNCED, log, stats.unsynced_bytes)
        yield Sample(m.ROLLS, log, stats.segments)
        yield Sample(m.OPEN, log, stats.open_transactions)
        yield Sample(m.OLDEST, log, stats.oldest_transaction)
        if self._cap is not None:
            yield Sample(m.CAP, log, self._cap.bytes)
            # A folder that cannot be listed now has no number now.
            with suppress(OSError):
                yield Sample(m.USED, log, self._used())
        yield Sample(m.DROPPED, log, stats.dropped)
        yield Sample(m.HOOK_FAILURES, log, stats.hook_failures)
        yield Sample(m.TROUBLE, log, stats.trouble is not None)
        yield Sample(m.DEAD, log, stats.dead is not None)
        for subscription in self._subscriptions():
            yield from self._of(subscription)

    def _of(self, subscription: OwnSteps) -> Iterator[Sample]:
        stats, labels = subscription.stats(), (*self._labels, subscription.consumer or m.NO_CONSUMER)
        yield Sample(m.FROM_BUFFER, labels, stats.mode == "buffer")
        yield Sample(m.SWITCHES, labels, stats.switches)
        yield Sample(m.SUBSCRIPTION_ROWS, labels, stats.rows)
        yield Sample(m.SUBSCRIPTION_BYTES, labels, stats.lag_bytes)
        yield Sample(m.SUBSCRIPTION_SEGMENTS, labels, stats.lag_segments)
        yield Sample(m.HANDOVER, labels, stats.lag_ms / 1000)
        if subscription.passage is not None:
            # By consumer and log: several logs of a process may have readers of one name.
            yield from subscription.passage.samples((subscription.consumer or m.NO_CONSUMER, *self._labels))
