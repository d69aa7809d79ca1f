"""`SegmentLog`: what a service holds. Puts the parts together and decides nothing about bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Unpack

from tailer.errors import CdcError
from tailer.position import Position
from tailer.scan.record.record import Definition, decode_record
from writer_hooks.append_all import append_all
from writer_hooks.appender import AnyChange, AnyTable, Appender
from writer_hooks.buffer import SyncedSection
from writer_hooks.cap import Cap, Captured, Guard
from writer_hooks.compression import Compression, packer
from writer_hooks.create import Maker
from writer_hooks.discard import discard
from writer_hooks.disk import Files, RealFiles
from writer_hooks.durable import DurableEnd, position_of
from writer_hooks.ending import Ending, Shows
from writer_hooks.failed import write_failed
from writer_hooks.hold import dies_in_child, hold
from writer_hooks.log_options import BATCH, MAX_UNSYNCED, SEGMENT_BYTES, Options, Stand
from writer_hooks.own_replay import Replayed, models_of, replay
from writer_hooks.own_restart import NOWHERE
from writer_hooks.places import Places
from writer_hooks.policy import SyncPolicy
from writer_hooks.publisher import Publisher
from writer_hooks.read_here import ReadHere
from writer_hooks.recovery import Recovered
from writer_hooks.segment_ids import Ids
from writer_hooks.spares import Spares
from writer_hooks.stats import Stats, numbers
from writer_hooks.subscribe import Subscribers
from writer_hooks.syncer import Syncer, SyncThread
from writer_hooks.ticket import Ticket
from writer_hooks.transaction import Transaction
from writer_hooks.uninterrupted import uninterrupted
from writer_hooks.writer_errors import SyncFailedError, dead_after, disk_error, forked, not_opened


class SegmentLog(ReadHere):
    """A change log in a folder, with one writer: this object. Any thread or task may use it.

    Made by `SegmentLog.open`, ended by `close` (or as a context manager). After a failed fsync it is dead: everything
    raises, and opening the log anew recovers what is durable.
    """

    def __init__(
        self,
        files: Files,
        places: Places,
        lock: int,
        recovered: Recovered,
        options: Options,
        tables: Sequence[AnyTable],
    ) -> None:
        """For `open`, which has the lock and has recovered."""
        self.tables = tuple(tables)
        self.boot = options.token()
        self._files = files
        self._places = places
        self._options = options
        self._leads = options.sync.kind == "batch"
        self._rings = options.sync.kind == "periodic"
        self._forked: CdcError | None = None
        self._transactions = 0
        ids = Ids(files, places.high, options.wall() // 1000, recovered.used)
        self._maker = Maker(files, places, ids, self.boot, options, recovered.end.segment or None)
        self._durable = DurableEnd(recovered.end, self._demand, self._ask)
        self._captured = Captured(files, places, options.segment_bytes, max(recovered.used, default=0))
        self._guard = self._guard_of(options)
        permit = None if self._guard is None else self._guard.permit
        make, threads = self._maker.make, options.threads
        self.appender = appender = Appender(self._durable, options, make(), recovered.last_ts, permit)
        self._publisher = Publisher(files, places, options.publish_ms / 1000, self._captured.ended, self._died, threads)
        pack, leads = packer(options.compression), threads and self._leads
        self._syncer = Syncer(
            files, places, self._durable, recovered.end, self._publisher, appender.seal, self._died, pack, leads
        )
        self._subscribers = Subscribers(places, self._syncer.attach)
        self._thread = self._sync_thread(options)
        appender.supply(Spares(make, self._tidy, self._died, appender.lock, appender.changed, threads))
        self._ending = Ending(
            files, places, lock, self._durable, appender, self._syncer, self._thread, self._publisher, self._subscribers
        )
        dies_in_child(self)

    @classmethod
    def open(
        cls,
        folder: Path | str,
        tables: Sequence[AnyTable] = (),
        *,
        sync: SyncPolicy = BATCH,
        segment_bytes: int = SEGMENT_BYTES,
        max_age: float | None = None,
        compression: Compression = None,
        cap: Cap | None = None,
        max_unsynced: int = MAX_UNSYNCED,
        publish_ms: float = 5.0,
        threads: bool = True,
        metrics: Any = None,
        files: Files | None = None,
        **tests: Unpack[Stand],
    ) -> SegmentLog:
        """Opens the log in `folder`, which must exist, and recovers what a run before has left.

        `tables`: those whose changes will be appended; any other may be, too. `sync`: `batch()` (the default),
        `group(ms)` or `periodic(ms)`. `segment_bytes` (32 MiB): the size of a segment, before compression. `max_age`:
        seconds after its first captured change that a segment ends at the latest. `compression`: `lz4` or `zstd`.
        `cap`: a `Cap` of what may lie in `cdc_raw`. `max_unsynced` (16 MiB): when about so much is not yet durable, an
        append waits. `publish_ms` (5): a sidecar is written at most so often. `metrics`: where /metrics, /healthz and
        /readyz are served, a port or `HOST:PORT`; or a registry of `prometheus_client`, which the numbers go into.

        `threads` False: no background thread. A sync then happens in `sync`, `close`, `Ticket.wait` (however long it
        takes) and in an append that begins a new segment or has too much before it; sidecars are written, and the cap
        kept, right after it, and a segment is made when it is needed: everything in the calls of one thread, always in
        the same order. An exception from a signal handler in the middle of a sync then kills the log. `files`,
        `clock` (seconds, any origin), `wall` (microseconds since the epoch), `boot_id` (the machine's run) and `token`
        (16 hex digits, this run's) are for tests.

        Raises UsageError (no folder, no permission, an option), RefusedError (another writer), CorruptError (damage
        where the log was durable), SystemFailedError (the disk).
        """
        options = Options(sync, segment_bytes, max_age, compression, cap, max_unsynced, publish_ms, threads, **tests)
        options.check()
        places = Places(Path(folder))
        return cls._open(files if files is not None else RealFiles(), places, options, tables, metrics)

    @classmethod
    def _open(
        cls, files: Files, places: Places, options: Options, tables: Sequence[AnyTable], metrics: Any = None
    ) -> SegmentLog:
        if metrics is not None:
            from writer_hooks.measures import monitored

            return monitored(metrics, partial(cls._open, files, places, options, tables))
        lock, recovered = hold(files, places, options)
        try:
            return cls(files, places, lock, recovered, options, tables)
        except BaseException as error:
            files.close(lock)
            if isinstance(error, OSError | SyncFailedError):
                raise not_opened(error, places.folder) from error
            raise

    def append(self, change: AnyChange) -> Ticket:
        """Appends a change that counts by itself. The ticket is done when it is durable.

        Raises UsageError (too large), RefusedError (the cap; a log that is closed or dead), SystemFailedError (no
        space): then nothing was appended.
        """
        appender = self.appender
        if appender.full:
            self.relieve()
        end = appender.append(change)
        if appender.attention:
            self.appended()
        return Ticket(self._durable, end)

    def append_many(self, changes: Iterable[AnyChange]) -> Ticket:
        """Appends changes that count each by itself, in their order, at less cost. The ticket is the last one's.

        Raises as `append` does: then the changes before it are appended, and a note of the error says how many. Where
        the iterable raises, what it gave before is appended.
        """
        return append_all(self, changes)

    def begin(self, *, wait: bool = False) -> Transaction:
        """A new transaction; any number may be open at once. `wait`: its block ends when the commit is durable."""
        self.relieve()
        with self.appender.lock:
            self._transactions += 1
            number = self._transactions
        return Transaction(self, number, wait)

    async def room(self) -> None:
        """Returns when an append does not have to wait because too much is not durable: for tasks, whose event loop
        that would block. Raises what keeps it from being so."""
        if self.appender.full:
            await self.ticket(self.appender.last())

    def sync(self) -> None:
        """Returns when everything is durable that was appended before. Raises SystemFailedError where it cannot be."""
        self._check_ours()
        self._durable.check_may_wait()
        end = self.appender.last()
        self._tick()
        if self._thread is not None and _interruptible():
            self._thread.urge()
        else:
            self._syncer.run()
            if self._syncer.trouble is not None and self._durable.end < end:
                raise self._syncer.trouble
        self._durable.wait(end)

    @property
    def end(self) -> Position:
        """How far the log is durable: the end of its last section, `0:0` before there is one."""
        return position_of(self._durable.end)

    @property
    def hooks(self) -> list[Callable[[SyncedSection], None]]:
        """Called with each section after its fsync, in order; tickets are done by then. They must be quick.

        What one raises is logged (`writer_hooks`) and counted in `stats`; the log and the other hooks go on. One that
        waits for this log gets RefusedError.
        """
        return self._syncer.hooks

    def replay(
        self,
        since: Position | Literal["earliest"] = "earliest",
        *,
        into: type[object] | Sequence[type[object]] = (),
    ) -> Iterator[Replayed]:
        """Committed changes of all tables, in the order in which they count, up to what is durable now.

        Those whose entry (in a transaction: whose commit) begins at `since` or later. `into`: classes that declare
        tables of the log; `RowValues.value` is then a value of that class, of each row that was inserted. Memory is
        bounded, whatever the size of a transaction. Raises UsageError for a class that none of the log's tables was
        declared by (and `rows` for a row that it does not take), LossError where what it needs is gone, CorruptError
        where it does not check.
        """
        self._check_ours()
        models = models_of(self.tables, [into] if isinstance(into, type) else into)
        start = NOWHERE if since == "earliest" else since
        given = [record for table in self.tables if isinstance(record := decode_record(table.definition), Definition)]
        return replay(self._files, self._places, start, self.end, given=given, into=models)

    def discard_before(self, position: Position) -> int:
        """Deletes the writer's segments that `replay(position)` does not need: how many.

        For a service whose own store is durable up to there. Readers' files stay, `cdc-tail clean` is for them. Never
        deleted are the segment being written and what an open transaction has changes in.
        """
        self._check_ours()
        with self.appender.lock:
            self.appender.roll_back_forgotten()
            keep = min([self.appender.segment.id, *(each.segment for each in self.appender.firsts_any())])
        try:
            return discard(self._files, self._places, position, self.end, keep, self._captured.finished)
        except OSError as error:
            raise disk_error("segments could not be discarded", error) from error
        except SyncFailedError as error:
            self._died(error)
            raise dead_after(error) from error

    def stats(self) -> Stats:
        """Numbers of this moment."""
        dead, trouble = self._durable.dead, self._publisher.trouble
        dropped = 0
        if self._guard is not None:
            dropped, trouble = self._guard.dropped, trouble or self._guard.trouble
        return numbers(self.appender, self._syncer, self.end, dropped, dead, trouble)

    def close(self) -> None:
        """Syncs, rolls open transactions back, ends the segment, and lets the folder go. Again: nothing.

        Raises SystemFailedError where the last changes could not be made durable, or a sidecar not be written; the
        folder is let go nevertheless, and the next open recovers. A dead log is let go without an error.
        """
        self._ending.close()

    def __enter__(self) -> SegmentLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def forget(self) -> None:
        """This is a forked child: the log is the parent's."""
        self._forked = forked()
        self._ending.forget(self._forked)

    def show(self, monitor: Shows) -> None:
        """For `open`: `monitor` shows the log until it ends."""
        from writer_hooks.measures import Measures

        measures = Measures(
            str(self._places.folder),
            self.stats,
            self._subscribers.living,
            self._options.cap,
            lambda: sum(self._captured.sizes(self.appender.segment.id).values()),
        )
        self._subscribers.measure()
        self._syncer.time(measures.synced)
        monitor.add(measures)
        self._ending.watch(monitor)

    def _readers(self) -> Subscribers:
        self._check_ours()
        self._durable.check_may_wait()
        return self._subscribers

    def _check_ours(self) -> None:
        if self._forked is not None:
            raise self._forked

    # What the parts call.

    def ticket(self, end: int) -> Ticket:
        return Ticket(self._durable, end)

    def relieve(self) -> None:
        """Waits while too much is not durable, before more is appended. Raises what keeps it from being so."""
        if self.appender.full:
            end = self.appender.last()
            self._demand()
            self._durable.wait(end)

    def appended(self) -> None:
        """Something was appended that a sync may be waiting for."""
        appender = self.appender
        if self._thread is None:
            self._tick()
            if appender.rolled and not self._durable.in_hook:
                self._syncer.run()
                self._tidy()
            return
        appender.attended()
        if self._rings or appender.rolled:
            self._thread.ring()

    def _demand(self) -> None:
        if self._thread is None:
            self._syncer.run()
        elif not self._leads or not self._syncer.alone or not uninterrupted(self._syncer.try_run):
            # Who is alone and finds nobody at it syncs himself: to hand it over and be woken takes longer than a fast
            # disk. Of several none does, so that none comes late for the next one.
            self._thread.ring()

    def _ask(self) -> None:
        if self._thread is None:
            self._syncer.run()
        else:
            self._thread.ring()

    def _tick(self) -> None:
        if self._options.max_age is not None:
            self.appender.roll_when_old(self._options.max_age)

    def _sync_thread(self, options: Options) -> SyncThread | None:
        if not options.threads:
            return None
        return SyncThread(self._syncer, options.sync, self._tick, options.tick_seconds, self._died)

    def _guard_of(self, options: Options) -> Guard | None:
        if options.cap is None:
            return None
        return Guard(self._files, self._places, self._captured, options.cap, options.clock, self._abort)

    def _tidy(self) -> None:
        """After each new segment: there may be too many."""
        if self._guard is None:
            return
        try:
            self._guard.drop(self.appender.segment.id)
        except SyncFailedError as error:
            self._died(error)

    def _abort(self, segment: int) -> None:
        self.appender.abort_below(segment, "changes of it were dropped from cdc_raw, which was at its cap")

    def _died(self, error: BaseException) -> None:
        dead = dead_after(error)
        if not self._durable.stop(dead):
            return
        self.appender.refuse(dead)
        try:
            write_failed(self._files, self._places.failed, self._options.boot_id(), self.end)
        except (OSError, SyncFailedError) as failure:
            # Recovery writes every tail over itself, which has to do.
            dead.add_note(f"{self._places.failed} could not be written: {failure}")
        self._durable.release()
        if self._thread is not None:
            with self.appender.lock:
                self.appender.changed.notify_all()


def _interruptible() -> bool:
    """Whether a signal handler's exception (Ctrl-C) may come up in this thread: no sync is left half done for one."""
    return threading.get_ident() == threading.main_thread().ident
