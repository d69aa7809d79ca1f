"""Sidecars, behind the backs of those who wait: a thread publishes the newest durable end, and closes segments.

A sidecar may lag, never lead: what is offered here is durable. `DONE` of a segment is durable before the next one's
first sidecar appears. Knows no entry and no ticket.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from tailer.errors import CdcError
from tailer.framing.sidecar import Sidecar, encode_sidecar
from tailer.position import Position
from writer_hooks.disk import Files, replace, sync_file, sync_folder, unlink_if_there
from writer_hooks.open_segment import Segment
from writer_hooks.places import Places
from writer_hooks.writer_errors import GoneError, SyncFailedError, disk_error, is_gone

RETRY_SECONDS = 0.2
"""How long after a failed write (a full disk) it is tried again."""


class Published(NamedTuple):
    """What a sidecar is to say. `first`: its `min`."""

    segment: int
    first: int
    end: int
    restart: Position

    def text(self, done: bool) -> bytes:
        return encode_sidecar(Sidecar(self.end, done, self.first, self.restart))


class Ended(NamedTuple):
    """A segment that takes no more, all of it durable. `last`: its sidecar's content, None without tracked records."""

    segment: Segment
    last: Published | None


def write_done(files: Files, places: Places, last: Published) -> None:
    """The sidecar that says that nothing more will come, durable with its name."""
    replace(files, places.sidecar(last.segment), last.text(True), durable=True)
    sync_folder(files, places.cdc_raw)


class Publisher:
    """`finished` is called with each segment whose end is durably published; `died` hears of a failed fsync.

    With `threaded` False everything is done by the call that brings it, and what failed is done by the next one.
    """

    def __init__(
        self,
        files: Files,
        places: Places,
        seconds: float,
        finished: Callable[[Segment], None],
        died: Callable[[BaseException], None],
        threaded: bool,
    ) -> None:
        self._files = files
        self._places = places
        self._seconds = seconds
        self._finished = finished
        self._died = died
        self._busy = threading.Lock()
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._wanted: Published | None = None
        self._ended: deque[Ended] = deque()
        self._named = -1
        self._last = 0.0
        self._idle = False
        self._stopping = False
        self.trouble: CdcError | None = None
        """Why the last attempt failed; None after one that did not."""
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(target=self._run, name="segment-publisher", daemon=True)
            self._thread.start()

    def offer(self, published: Published) -> None:
        """A newer durable end; only the newest is published, at most once in `seconds`."""
        with self._lock:
            self._wanted = published
            if self._idle:
                self._news.notify()
        if self._thread is None:
            self._drain()

    def name(self, published: Published) -> None:
        """Returns when the segment has a sidecar whose name is durable: before the next one's first sync, so that
        recovery finds every segment that needs it. Raises OSError, SyncFailedError."""
        with self._busy:
            if self._named < published.segment:
                self._write_all_ended()
                self._publish(published)

    def end(self, ended: Ended) -> None:
        """No more will come of that segment."""
        with self._lock:
            if self._wanted is not None and self._wanted.segment == ended.segment.id:
                self._wanted = None
            self._ended.append(ended)
            self._news.notify()
        if self._thread is None:
            self._drain()

    def stop(self) -> CdcError | None:
        """Publishes what is left, ends the thread, and tells what could not be done."""
        self._join()
        try:
            self._drain()
        except SyncFailedError as error:
            self._died(error)
        return self.trouble

    def abandon(self) -> list[Segment]:
        """Ends without another write; the segments that were not closed."""
        with self._lock:
            left = [ended.segment for ended in self._ended]
            self._ended.clear()
            self._wanted = None
        self._join()
        return left

    def forget(self) -> list[Segment]:
        """`abandon` in a forked child, where nobody will let the locks go."""
        self._busy = threading.Lock()
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        return [ended.segment for ended in self._ended]

    def _join(self) -> None:
        with self._lock:
            self._stopping = True
            self._news.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            while self._wait():
                self._drain()
        except SyncFailedError as error:
            self._died(error)
        except BaseException as error:
            # Without this thread no reader would ever hear of anything again.
            self._died(error)
            raise

    def _wait(self) -> bool:
        """Until there is something to do, and it may be done; False when there will be nothing more."""
        with self._lock:
            while not (self._wanted or self._ended or self._stopping):
                self._idle = True
                self._news.wait()
                self._idle = False
            if self._stopping:
                return False
            pause = RETRY_SECONDS if self.trouble is not None else 0.0
            deadline = max(self._last + self._seconds, time.monotonic() + pause)
            while (left := deadline - time.monotonic()) > 0 and not self._stopping and (pause or not self._ended):
                self._news.wait(left)
        return True

    def _drain(self) -> None:
        """Everything that there is to do now. Raises SyncFailedError, also where the folder is gone."""
        with self._busy:
            try:
                self._write_all_ended()
                with self._lock:
                    wanted, self._wanted = self._wanted, None
                if wanted is not None:
                    self._publish_or_keep(wanted)
            except OSError as error:
                if is_gone(error):
                    raise GoneError(error, error.filename or self._places.cdc_raw) from error
                self.trouble = disk_error("a sidecar could not be written, it is tried again", error)
            else:
                self.trouble = None

    def _publish_or_keep(self, wanted: Published) -> None:
        try:
            self._publish(wanted)
        except OSError:
            with self._lock:
                self._wanted = self._wanted or wanted
            raise

    def _publish(self, published: Published) -> None:
        replace(self._files, self._places.sidecar(published.segment), published.text(False), durable=False)
        self._last = time.monotonic()
        if self._named < published.segment:
            sync_folder(self._files, self._places.cdc_raw)
            self._named = published.segment

    def _write_all_ended(self) -> None:
        while self._ended:
            ended = self._ended[0]
            self._close(ended)
            with self._lock:
                self._ended.popleft()
            self._finished(ended.segment)

    def _close(self, ended: Ended) -> None:
        segment = ended.segment
        self._files.truncate(segment.fd, segment.at)
        sync_file(self._files, segment.fd, self._places.own(segment.id))
        if ended.last is not None:
            write_done(self._files, self._places, ended.last)
        else:
            # Nobody but `replay` needs it, and a reader would wait for it: no sidecar will ever come.
            unlink_if_there(self._files, self._places.raw(segment.id))
        self._files.close(segment.give_fd())
