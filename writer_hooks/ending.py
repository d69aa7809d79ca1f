"""How a log ends: by `close`, with the program, when nothing refers to it any more, or in a forked child.

Knows no change, and not the `SegmentLog` itself.
"""

from __future__ import annotations

import _thread
import logging
import os
import threading
import warnings
from typing import Any, Final, Protocol

from tailer.errors import CdcError
from writer_hooks.appender import Appender
from writer_hooks.create import remove_segment
from writer_hooks.disk import Files
from writer_hooks.durable import DurableEnd
from writer_hooks.hold import Lock, ended
from writer_hooks.open_segment import Segment
from writer_hooks.places import Places
from writer_hooks.publisher import Publisher
from writer_hooks.subscribe import Subscribers
from writer_hooks.syncer import Syncer, SyncThread
from writer_hooks.writer_errors import closed, disk_error

EXIT_SECONDS: Final = 60.0
"""How long the end of a program waits for another thread that is closing a log."""

_log: Final = logging.getLogger("writer_hooks")


class Shows(Protocol):
    """What shows a log's numbers. `forget`: this is a forked child, and it is the parent's."""

    def add(self, part: Any) -> None: ...

    def close(self) -> None: ...

    def forget(self) -> None: ...


class Ending:
    """The parts of a log that are ended, and its lock, which is let go last."""

    def __init__(
        self,
        files: Files,
        places: Places,
        lock: Lock,
        durable: DurableEnd,
        appender: Appender,
        syncer: Syncer,
        thread: SyncThread | None,
        publisher: Publisher,
        subscribers: Subscribers,
    ) -> None:
        self._files = files
        self._places = places
        self._lock: Lock | None = lock
        self._durable = durable
        self._appender = appender
        self._syncer = syncer
        self._thread = thread
        self._publisher = publisher
        self._subscribers = subscribers
        self._guard = threading.Lock()
        self._closed = False
        self._done = threading.Event()
        self._monitor: Shows | None = None
        self.forked: CdcError | None = None
        """What everything is refused with in a forked child."""
        self.unheld = False
        """Nothing refers to the log any more: it is being closed."""

    @property
    def folder(self) -> str:
        """The log's, as every name of it leads there."""
        return os.path.realpath(self._places.folder)

    def watch(self, monitor: Shows) -> None:
        """It ends with the log."""
        self._monitor = monitor

    def close(self) -> None:
        """See `SegmentLog.close`."""
        with self._guard:
            if self._closed:
                return
            self._durable.check_may_wait()
            self._closed = True
        try:
            trouble = self._finish()
        finally:
            # Also when Ctrl-C has ended the wait for the last sync.
            self._durable.stop(closed())
            self._appender.refuse(closed())
            self._durable.release()
            self._subscribers.close()
            if self._monitor is not None:
                self._monitor.close()
            try:
                self._let_go()
            finally:
                ended(self)
                self._done.set()
        if trouble is not None:
            raise trouble

    def dropped(self) -> None:
        """Nothing refers to the log any more. Returns at once: whoever collects it may hold any lock of its parts."""
        if self._closed or self._lock is None:
            return
        self.unheld = True
        try:
            self._warn("nothing refers to it any more")
        finally:
            try:
                _thread.start_new_thread(self._close_or_log, ())
            except RuntimeError:
                # The program is ending, which closes it.
                self.unheld = False

    def end_program(self) -> None:
        """The program ends: what was appended is made durable, or it is logged why not."""
        if not self._closed:
            try:
                self._warn("the program ends")
            finally:
                self._close_or_log()
        elif not self._done.wait(EXIT_SECONDS):
            _log.error("the log %s is still being closed after %s s", self._places.folder, EXIT_SECONDS)

    def wait(self, timeout: float) -> None:
        """Returns when the log has let its folder go."""
        self._done.wait(timeout)

    def _warn(self, why: str) -> None:
        # Of a dead log nothing can be lost that its errors did not name.
        if self._durable.dead is None:
            what = f"the log {self._places.folder} was not closed, and is closed now: {why}"
            warnings.warn(what, ResourceWarning, stacklevel=2)

    def _close_or_log(self) -> None:
        try:
            self.close()
        except CdcError as error:
            _log.error("the log %s was not closed, and its last changes may be lost: %s", self._places.folder, error)

    def forget(self, error: CdcError) -> None:
        """This is a forked child: the log is the parent's. Nothing is written, its descriptors are closed.

        Threads of the parent that held a lock are not here to let it go, so that every lock is made anew.
        """
        self.forked = error
        self._closed = True
        self._guard = threading.Lock()
        self._done = threading.Event()
        self._done.set()
        if self._monitor is not None:
            self._monitor.forget()
        self._durable.forget(error)
        self._appender.forget(error)
        self._subscribers.forget(error)
        for segment in self._and_spare([*self._publisher.forget(), *self._syncer.forget()]):
            self._close_file(segment)
        self._let_go_lock()

    def _finish(self) -> CdcError | None:
        """The last sync and publication, and the end of the threads: what was not complete (None of a dead log)."""
        alive = self._durable.dead is None
        if alive:
            self._appender.end(closed())
        if self._thread is not None:
            self._thread.stop(finish=alive)
        elif alive:
            self._syncer.finish()
        self._appender.spares.stop()
        if not alive:
            return None
        # Each of the two may have died.
        unpublished = self._publisher.stop() if self._durable.dead is None else None
        return self._durable.dead or unpublished or self._syncer.trouble

    def _let_go(self) -> None:
        left = [*self._syncer.left(), *self._publisher.abandon()]
        self._appender.spares.stop()
        segments = self._and_spare(left)
        try:
            for segment in segments:
                # All of them, before a name that cannot be deleted ends it.
                self._close_file(segment)
            for segment in segments:
                if segment.empty:
                    remove_segment(self._files, self._places, segment.id)
        except OSError as error:
            raise disk_error("the log was closed, and its empty segments could not be removed", error) from error
        finally:
            self._let_go_lock()

    def _and_spare(self, left: list[Segment]) -> list[Segment]:
        spare = self._appender.spares.ready
        return [*left, self._appender.segment] if spare is None else [*left, self._appender.segment, spare]

    def _close_file(self, segment: Segment) -> None:
        fd = segment.give_fd()
        if fd >= 0:
            self._files.close(fd)

    def _let_go_lock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.let_go(self._files)
