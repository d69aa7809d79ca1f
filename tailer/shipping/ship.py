"""The loop of a shipper: the next file of each node by number, to the target, then its own place, then what may go.

Knows no target and no form.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from tailer.errors import LossError
from tailer.segments.looks import Pace
from tailer.shipping.removal import Keeping, remove_left_over, remove_sent
from tailer.shipping.shippers import Sent, Shipper, locked
from tailer.shipping.target import Target, check_follows, check_not_ahead, go_on_behind
from tailer.sinks.files.series import DataFile, Series, series_in
from tailer.sinks.outlet import TargetAwayError
from tailer.tail.patience import Patience, StoppedError

WAIT_SECONDS: Final = 0.5
"""From one look to the next, where nothing was to be sent."""

T = TypeVar("T")


class Shipping:
    """One run of a shipper. `files`: how many were sent."""

    def __init__(
        self,
        shipper: Shipper,
        target: Target,
        keeping: Keeping,
        patience: Patience,
        *,
        stopping: Callable[[], bool] = lambda: False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.files = 0
        self._shipper = shipper
        self._target = target
        self._keeping = keeping
        self._patience = patience
        self._stopping = stopping
        self._sleep = sleep
        self._stands: dict[str, Sent] = {}
        self._paces: dict[str, Pace] = {}
        self._unremoved: set[str] = set()

    def run(self, *, once: bool) -> None:
        """Ship what is there (`once`), or for ever, until `stopping`. Raises the documented errors."""
        try:
            while not self._stopping():
                busy = [self._turn(series) for series in series_in(self._shipper.folder)]
                if not any(busy):
                    if once:
                        return
                    self._sleep(WAIT_SECONDS)
        except StoppedError:
            # The target was away: what it lacks comes with the next run.
            return

    def _turn(self, series: Series) -> bool:
        """One file of a node; whether there was one."""
        stands = self._stands.get(series.node)
        if stands is None:
            stands = self._stands[series.node] = self._begin(series)
            remove_left_over(series, self._shipper.folder)
            self._remove(series)
        file = self._next(series, stands.upto + 1)
        if file is None:
            if series.node in self._unremoved:
                self._remove(series)
            return False
        check_follows(file, stands)
        file.check()
        self._patiently(lambda: self._target.send(file))
        self._stands[series.node] = Sent(stands.since, file.index.number, file.index.sha256)
        self._shipper.save(series.node, self._stands[series.node])
        self.files += 1
        self._unremoved.add(series.node)
        # To remove is to list all that waits, and behind a target that was away there is much: it is done now and then.
        if self._paces[series.node].due(time.time()):
            self._remove(series)
        return True

    def _begin(self, series: Series) -> Sent:
        """Where a node's files go on, registered before the first is read."""
        with locked(self._shipper.folder):
            held = self._shipper.sent(series.node)
            if held is None:
                first = series.numbers()[0]
                held = Sent(first - 1, first - 1)
                self._shipper.save(series.node, held)
        check_not_ahead(held, series)
        if not self._target.keeps_numbers:
            return held
        newest = series.newest()
        assert newest is not None, "the newest index is never removed"
        last_here: DataFile = newest
        stands = self._patiently(lambda: self._target.standing(last_here))
        with locked(self._shipper.folder):
            # A target that was set back needs again what it has lost: nobody may remove it from here on.
            upto = go_on_behind(held, stands, series, self._target.name)
            if upto == held.upto:
                return held
            last = series.file(upto)
            moved = Sent(held.since, upto, "" if last is None else last.index.sha256)
            self._shipper.save(series.node, moved)
        return moved

    def _next(self, series: Series, number: int) -> DataFile | None:
        """The file of that number; None where it is still to come. LossError where it is gone."""
        file = series.file(number)
        if file is None:
            numbers = series.numbers()
            if numbers and numbers[-1] > number and number not in numbers:
                raise LossError(
                    f"a data file that was not sent is gone: number {number}",
                    file=str(series.folder),
                    remedy="Restore it; or forget this shipper (--drop) to begin with what is still here.",
                )
        return file

    def _remove(self, series: Series) -> None:
        began = time.thread_time()
        remove_sent(series, self._shipper.folder, self._keeping)
        self._unremoved.discard(series.node)
        pace = self._paces.setdefault(series.node, Pace())
        pace.listed(time.time(), time.thread_time() - began)

    def _patiently(self, call: Callable[[], T]) -> T:
        while True:
            try:
                done = call()
            except TargetAwayError as error:
                self._patience.wait(error)
            else:
                self._patience.over()
                return done
