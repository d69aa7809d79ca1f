"""What the parts of an open log call of one another: to sync, to end a segment, to die.

Nothing here refers to the `SegmentLog` that a program holds, so that one that it has dropped is noticed.
"""

from __future__ import annotations

from tailer.errors import CdcError
from writer_hooks.appender import Appender
from writer_hooks.cap import Captured, Guard
from writer_hooks.disk import Files
from writer_hooks.durable import DurableEnd, position_of
from writer_hooks.failed import write_failed
from writer_hooks.log_options import Options
from writer_hooks.places import Places
from writer_hooks.publisher import Publisher
from writer_hooks.stats import Stats, numbers
from writer_hooks.syncer import Syncer, SyncThread
from writer_hooks.uninterrupted import uninterrupted
from writer_hooks.writer_errors import GoneError, SyncFailedError, dead_after


class Engine:
    """The parts are given to it by who puts them together, before anything is appended."""

    durable: DurableEnd
    appender: Appender
    publisher: Publisher
    syncer: Syncer
    thread: SyncThread | None

    def __init__(self, files: Files, places: Places, options: Options, captured: Captured) -> None:
        self._files = files
        self._places = places
        self._options = options
        self._leads = options.sync.kind == "batch"
        self._rings = options.sync.kind == "periodic"
        self.captured = captured
        self.guard: Guard | None = None
        if options.cap is not None:
            self.guard = Guard(files, places, captured, options.cap, options.clock, self._abort)

    def relieve(self) -> None:
        """Waits while too much is not durable. Raises what keeps it from being so."""
        if self.appender.full:
            end = self.appender.last()
            self.demand()
            self.durable.wait(end)

    def appended(self) -> None:
        """Something was appended that a sync may be waiting for."""
        appender = self.appender
        if self.thread is None:
            self.tick()
            if appender.rolled and not self.durable.in_hook:
                self.syncer.run()
                self.tidy()
            return
        appender.attended()
        if self._rings or appender.rolled:
            self.thread.ring()

    def demand(self) -> None:
        """A sync, by this thread where that is best."""
        if self.thread is None:
            self.syncer.run()
        elif not self._leads or not self.syncer.alone or not uninterrupted(self.syncer.try_run):
            # Who is alone and finds nobody at it syncs himself: to hand it over and be woken takes longer than a fast
            # disk. Of several none does, so that none comes late for the next one.
            self.thread.ring()

    def ask(self) -> None:
        """A sync, by another thread where there is one."""
        if self.thread is None:
            self.syncer.run()
        else:
            self.thread.ring()

    def tick(self) -> None:
        """Now and then: a segment may have become old."""
        if self._options.max_age is not None:
            self.appender.roll_when_old(self._options.max_age)

    def look(self) -> None:
        """`tick`, for the thread that syncs: now and then it looks whether the files of an idle log are still there.
        Each sync sees that by itself; the publisher only where there is something for readers, and not of `commitlog`.
        """
        self.tick()
        segment = self.appender.segment
        try:
            self.syncer.presence.look(segment)
        except GoneError as error:
            # What has ended meanwhile may lose its name.
            if self.appender.segment is segment and self.appender.refusal is None:
                self.died(error)

    def tidy(self) -> None:
        """After each new segment: there may be too many."""
        if self.guard is None:
            return
        try:
            self.guard.drop(self.appender.segment.id)
        except SyncFailedError as error:
            self.died(error)

    def died(self, error: BaseException) -> None:
        """Nothing can go on: everybody who waits gets the error, and whoever appends."""
        dead = dead_after(error)
        if not self.durable.stop(dead):
            return
        self.appender.refuse(dead)
        if not isinstance(error, GoneError):
            # Else no fsync has failed, and the folder may be another writer's, whose entries no open would believe.
            self._note_end(dead)
        self.durable.release()
        if self.thread is not None:
            with self.appender.lock:
                self.appender.changed.notify_all()

    def _note_end(self, dead: CdcError) -> None:
        try:
            end = position_of(self.durable.end)
            write_failed(self._files, self._places.failed, self._options.boot_id(), end)
        except (OSError, SyncFailedError) as failure:
            # Recovery writes every tail over itself, which has to do.
            dead.add_note(f"{self._places.failed} could not be written: {failure}")

    def stats(self) -> Stats:
        """Numbers of this moment."""
        dead, trouble = self.durable.dead, self.publisher.trouble
        dropped = 0
        if self.guard is not None:
            dropped, trouble = self.guard.dropped, trouble or self.guard.trouble
        return numbers(self.appender, self.syncer, position_of(self.durable.end), dropped, dead, trouble)

    def used(self) -> int:
        """Bytes in `cdc_raw`, as the cap counts them."""
        return sum(self.captured.sizes(self.appender.segment.id).values())

    def _abort(self, segment: int) -> None:
        self.appender.abort_below(segment, "changes of it were dropped from cdc_raw, which was at its cap")
