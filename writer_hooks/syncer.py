"""Syncs: one write and one fdatasync for everybody who waits. Knows no record; sections come to it complete.

A segment's last fdatasync and the durable name of its sidecar come before the next segment's first fdatasync, so only
the newest segment can have a tail that is not durable.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from tailer.errors import CdcError
from tailer.framing.section import MARKER_BYTES, encode_section
from tailer.position import Position
from tailer.system_errors import NO_SPACE
from writer_hooks.bell import Bell
from writer_hooks.buffer import SyncedSection
from writer_hooks.disk import Files, sync_data, write_all
from writer_hooks.durable import DurableEnd, Group, key_of
from writer_hooks.hold import Lock
from writer_hooks.newest_segment import write_newest
from writer_hooks.open_segment import Section, Segment
from writer_hooks.places import Places
from writer_hooks.policy import SyncPolicy
from writer_hooks.presence import Presence
from writer_hooks.publisher import Ended, Published, Publisher
from writer_hooks.writer_errors import SyncFailedError, disk_error

Step = Section | Segment
"""What is to be synced, in order: sections, and segments that end."""

_log: Final = logging.getLogger("writer_hooks")

_PATIENCE: Final = 0.0001
"""Seconds in which a thread that was let go comes back, if it has nothing else to do and the machine neither: who does
not is waited for so long, or for a tenth of a sync that takes longer, as far as the disk does not stand still."""
_PATIENCE_MAX: Final = 0.002


class Written(NamedTuple):
    """A section in the file, at its file offsets."""

    section: Section
    at: int
    next_at: int


Pack = Callable[[memoryview], bytes] | None


class Syncer:
    """`seal` gives what was appended, and those who wait for it; `died` hears of what cannot be mended.

    `end`: of the log's last section. `gathers`: whether a sync waits a moment for those that the last one has let go.

    `hooks` are called with each durable section, in order, by the thread that synced it: they must be quick. What they
    raise is logged, counted in `hook_failures`, and nothing else: the section is durable.
    """

    def __init__(
        self,
        files: Files,
        places: Places,
        lock: Lock,
        durable: DurableEnd,
        end: Position,
        publisher: Publisher,
        seal: Callable[[], tuple[list[Step], Group]],
        died: Callable[[BaseException], None],
        pack: Pack,
        gathers: bool,
    ) -> None:
        self._files = files
        self._places = places
        self._durable = durable
        self._publisher = publisher
        self._seal = seal
        self._died = died
        self._pack = pack
        self._gathers = gathers
        self._writers, self._patience = 0, _PATIENCE
        self._mutex = threading.Lock()
        self._steps: deque[Step] = deque()
        self._written: list[Written] = []
        self._synced: deque[Written] = deque()
        self._offer: Published | None = None
        self._last: Published | None = None
        self.hooks: list[Callable[[SyncedSection], None]] = []
        self.hook_failures = 0
        self._prev, self._noted = end, 0
        self.presence = Presence(files, places, lock.identity)
        self.flushed = 0
        """Bytes of all sections that are durable."""
        self.syncs = 0
        self._closing = False
        """No transaction is open any more, and none will be."""
        self._timed: Callable[[float], None] | None = None
        self.trouble: CdcError | None = None
        """Why the last sync was not complete; None after one that was."""

    def run(self) -> None:
        """Makes everything durable that was appended before the call. Errors go to those who wait."""
        self._durable.check_may_wait()
        with self._mutex:
            self._run(0)

    @property
    def alone(self) -> bool:
        """Whether, as it looks, there is one writer and no other."""
        return self._writers <= 1

    def try_run(self) -> bool:
        """The same, for a writer; False and nothing done where another thread is at it."""
        if not self._mutex.acquire(blocking=False):
            return False
        try:
            self._run(1)
        finally:
            self._mutex.release()
        return True

    def finish(self) -> None:
        """The last sync: behind it there is nothing more."""
        self._closing = True
        self.run()

    def left(self) -> list[Segment]:
        """The segments of what could not be synced."""
        with self._mutex:
            return [step.segment if isinstance(step, Section) else step for step in self._steps]

    def forget(self) -> list[Segment]:
        """`left` in a forked child: who was syncing is not here, and will not let the mutex go."""
        self._mutex = threading.Lock()
        return self.left()

    def _run(self, writers: int) -> None:
        """`writers`: how many are at this sync and do not wait."""
        if self._durable.dead is not None:
            return
        if self._gathers and not self.alone:
            # Each of those that the last sync has let go would need one of its own.
            self._durable.coming.gather(self._writers, self._patience)
        began = time.monotonic()
        try:
            group = self._sync_all()
        except BaseException as error:
            # Also Ctrl-C in the thread that syncs: what it has left half done must not be gone on with.
            self._died(error)
            raise
        if group is not None:
            self._patience = min(max(_PATIENCE, (time.monotonic() - began) / 10), _PATIENCE_MAX)
            self._writers = group.threads + self._durable.coming.threads + writers
            self._durable.settle(group, self.trouble)
            self._feed()
            self._publish()

    def _sync_all(self) -> Group | None:
        """Those to be told that it has come to an end, durable or to be tried again; None where the log has died."""
        steps, group = self._seal()
        self._steps.extend(steps)
        self.trouble = None
        try:
            self._sync()
        except _StoppedError:
            return None
        except SyncFailedError as error:
            self._died(error)
            return None
        except OSError as error:
            if error.errno not in NO_SPACE:
                self._died(error)
                return None
            self.trouble = disk_error("what was appended is not durable yet", error)
        return group

    def _publish(self) -> None:
        try:
            if self._offer is not None:
                self._publisher.offer(self._offer)
                self._offer = None
        except SyncFailedError as error:
            self._died(error)

    def _sync(self) -> None:
        while self._steps:
            step = self._steps[0]
            if isinstance(step, Section):
                self._write(step)
            else:
                self._end(step)
            self._steps.popleft()
        self._flush()

    def _write(self, section: Section) -> None:
        segment = section.segment
        if segment.id != self._noted:
            # Before the first entry: what was acknowledged must be missed where its segment is gone.
            write_newest(self._files, self._places, segment.id)
            self._noted = segment.id
        packed = encode_section(section.plain, segment.id, segment.at, self._pack)
        write_all(self._files, segment.fd, packed, segment.at)
        self._written.append(Written(section, segment.at, segment.at + len(packed)))
        segment.wrote(len(packed))

    def _flush(self) -> None:
        if not self._written:
            return
        last = self._written[-1].section
        began = 0.0 if self._timed is None else time.monotonic()
        sync_data(self._files, last.segment.fd, self._places.own(last.segment.id))
        if self._timed is not None:
            self._timed(time.monotonic() - began)
        self.syncs += 1
        # Before anybody hears of it: the file may have been deleted or moved with all that it holds.
        self.presence.check(last.segment)
        if not self._durable.advance(key_of(last.position)):
            raise _StoppedError
        self.flushed += sum(len(written.section.plain) for written in self._written)
        self._synced += self._written
        self._written = []
        if last.first is not None:
            self._offer = self._last = Published(last.segment.id, last.first, last.end, last.restart)

    def _end(self, segment: Segment) -> None:
        self._flush()
        last = self._last
        if last is not None:
            if self._closing:
                # No transaction outlives the log, whether there was room to say so in the segment or not.
                last = last._replace(restart=Position(last.segment, last.end))
            self._publisher.name(last)
        self._last = self._offer = None
        self._publisher.end(Ended(segment, last))

    def time(self, timed: Callable[[float], None]) -> None:
        """From now on `timed` is told of each fsync how many seconds it took."""
        self._timed = timed

    def attach(self, hook: Callable[[SyncedSection], None]) -> Position:
        """Adds a hook: it gets every section behind the position that is returned."""
        with self._mutex:
            self.hooks.append(hook)
            return self._prev

    def _feed(self) -> None:
        now = time.monotonic() if self.hooks else 0.0
        while self._synced:
            section, at, next_at = self._synced.popleft()
            prev, self._prev = self._prev, section.position
            if self.hooks:
                end = section.position
                start = Position(end.segment, section.start)
                data = bytes(memoryview(section.plain)[MARKER_BYTES:])
                self._tell(
                    SyncedSection(prev, start, end, at, next_at, data, section.restart, now, section.first is not None)
                )

    def _tell(self, section: SyncedSection) -> None:
        with self._durable.telling():
            for hook in self.hooks:
                try:
                    hook(section)
                except Exception:
                    self.hook_failures += 1
                    _log.exception("a hook failed at the section that ends at %s", section.end)


class _StoppedError(Exception):
    """The log died while this sync was under way."""


class SyncThread:
    """Syncs by a policy, for those who cannot do it themselves: tasks, groups, whoever must be back in time or may be
    interrupted, and bytes that nobody waits for.

    `died` hears of what ended the thread, so that nobody waits for it in vain.
    """

    def __init__(
        self,
        syncer: Syncer,
        policy: SyncPolicy,
        tick: Callable[[], None],
        tick_seconds: float,
        died: Callable[[BaseException], None],
    ) -> None:
        self._syncer = syncer
        self._died = died
        self._seconds = policy.seconds
        self._tick = tick
        self._tick_seconds = tick_seconds
        self._bell = Bell()
        self._rung = False
        self._at_once = Bell()
        self._stopping = False
        self._finishing = False
        self._thread = threading.Thread(target=self._run, name="segment-syncer", daemon=True)
        self._thread.start()

    def ring(self) -> None:
        """A sync is wanted; returns at once."""
        if not self._rung:
            self._rung = True
            self._bell.ring()

    def urge(self) -> None:
        """The same, whatever time the policy would let pass before it."""
        self._at_once.ring()
        self.ring()

    def stop(self, *, finish: bool) -> None:
        """Returns when the thread has ended; with `finish`, behind the log's last sync."""
        self._finishing = finish
        self._stopping = True
        self.urge()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._sync_until_stopped()
        except BaseException as error:
            self._died(error)
            raise

    def _sync_until_stopped(self) -> None:
        last = 0.0
        while True:
            rung = self._bell.hear(self._tick_seconds)
            self._at_once.hear(last + self._seconds - time.monotonic() if self._seconds and rung else 0.0)
            self._rung = False
            if self._stopping:
                break
            last = time.monotonic()
            self._tick()
            self._syncer.run()
        if self._finishing:
            self._syncer.finish()
