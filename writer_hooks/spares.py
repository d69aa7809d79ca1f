"""The next segment, made ahead of its use by a thread of its own, so that nobody waits for it at a roll-over.

Knows neither entries nor syncs. `changed` is the condition of the lock under which segments are taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tailer.errors import CdcError
from writer_hooks.open_segment import Segment
from writer_hooks.writer_errors import SyncFailedError, dead_after, disk_error

WHAT = "no new segment could be made"


class Spares:
    """`make` makes a segment; `tidy` is done after each, by the same thread; `died` hears of a failed fsync.

    With `threaded` False a segment is made when it is taken, and `tidy` is left to the caller.
    """

    def __init__(
        self,
        make: Callable[[], Segment],
        tidy: Callable[[], None],
        died: Callable[[BaseException], None],
        lock: threading.Lock,
        changed: threading.Condition,
        threaded: bool,
    ) -> None:
        self._make = make
        self._tidy = tidy
        self._died = died
        self._lock = lock
        self._changed = changed
        self._ready: Segment | None = None
        self._error: CdcError | None = None
        self._wanted = threaded
        self._stopping = False
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(target=self._run, name="segment-spares", daemon=True)
            self._thread.start()

    def take(self, waited: bool) -> Segment | None:
        """The next segment; None: it is being made, `changed` tells when it is there. Called under the lock.

        Raises SystemFailedError where it cannot be made: with `waited`, else the failure is an old one and it is tried
        again first.
        """
        if self._thread is None:
            try:
                return self._make()
            except OSError as error:
                raise disk_error(WHAT, error) from error
            except SyncFailedError as error:
                self._died(error)
                raise dead_after(error) from error
        failure, self._error = self._error, None
        spare, self._ready = self._ready, None
        self._wanted = True
        self._changed.notify_all()
        if failure is not None and waited:
            raise failure
        return spare

    @property
    def ready(self) -> Segment | None:
        """The segment that nobody took yet."""
        return self._ready

    def stop(self) -> None:
        """Ends the thread. Not called under the lock."""
        with self._lock:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._make_until_stopped()
        except BaseException as error:
            # Without this thread whoever needs the next segment would wait for ever.
            self._died(error)
            raise

    def _make_until_stopped(self) -> None:
        while True:
            with self._lock:
                while not self._stopping and not (self._wanted and self._ready is None and self._error is None):
                    self._changed.wait()
                if self._stopping:
                    return
            spare, error = self._try()
            with self._lock:
                self._ready, self._error, self._wanted = spare, error, False
                self._changed.notify_all()
            self._tidy()

    def _try(self) -> tuple[Segment | None, CdcError | None]:
        try:
            return self._make(), None
        except OSError as error:
            return None, disk_error(WHAT, error)
        except SyncFailedError as failure:
            self._died(failure)
            return None, disk_error(WHAT, failure.error)
