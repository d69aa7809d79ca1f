"""`SegmentLog`: what a service holds. Puts the parts together and decides nothing about bytes."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Unpack

from tailer.position import Position
from tailer.scan.record.record import Definition, decode_record
from writer_hooks.append_all import append_all
from writer_hooks.appender import AnyChange, AnyTable, Appender
from writer_hooks.buffer import SyncedSection
from writer_hooks.cap import Cap, Captured
from writer_hooks.compression import Compression, packer
from writer_hooks.create import Maker
from writer_hooks.discard import discard
from writer_hooks.disk import Files, RealFiles
from writer_hooks.durable import DurableEnd, position_of
from writer_hooks.ending import Ending, Shows
from writer_hooks.engine import Engine
from writer_hooks.hold import Lock, hold, opened
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
from writer_hooks.stats import Stats
from writer_hooks.subscribe import Subscribers
from writer_hooks.syncer import Syncer, SyncThread
from writer_hooks.ticket import Ticket
from writer_hooks.transaction import Transaction
from writer_hooks.writer_errors import SyncFailedError, dead_after, disk_error, not_opened


class SegmentLog(ReadHere):
    """A change log in a folder, with one writer: this object. Any thread or task may use it.

    Made by `SegmentLog.open`, ended by `close` (or as a context manager). One that is open when the program ends, or
    when nothing refers to it any more, is closed then, with a ResourceWarning. After a failed fsync it is dead:
    everything raises, and opening the log anew recovers what is durable.
    """

    def __init__(
        self,
        files: Files,
        places: Places,
        lock: Lock,
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
        self._transactions = 0
        ids = Ids(files, places.high, options.wall() // 1000, recovered.used)
        make = Maker(files, places, ids, self.boot, options, recovered.end.segment or None).make
        self._captured = Captured(files, places, options.segment_bytes, max(recovered.used, default=0))
        self._engine = engine = Engine(files, places, options, self._captured)
        self._durable = engine.durable = durable = DurableEnd(recovered.end, engine.demand, engine.ask)
        permit = None if engine.guard is None else engine.guard.permit
        self.appender = engine.appender = appender = Appender(durable, options, make(), recovered.last_ts, permit)
        self._publisher = engine.publisher = publisher = Publisher(
            files, places, options.publish_ms / 1000, self._captured.ended, engine.died, options.threads
        )
        pack, leads = packer(options.compression), options.threads and options.sync.kind == "batch"
        self._syncer = engine.syncer = syncer = Syncer(
            files, places, lock, durable, recovered.end, publisher, appender.seal, engine.died, pack, leads
        )
        self._subscribers = Subscribers(places, syncer.attach)
        self._thread = engine.thread = _sync_thread(engine, options)
        appender.supply(Spares(make, engine.tidy, engine.died, appender.lock, appender.changed, options.threads))
        self._ending = Ending(
            files, places, lock, durable, appender, syncer, self._thread, publisher, self._subscribers
        )
        if isinstance(files, RealFiles):
            # On a disk of a test's own, whoever drops a log means a process that died.
            opened(self._ending)
            weakref.finalize(self, self._ending.dropped).atexit = False

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
        where the log was durable), LossError (its newest segment is gone), SystemFailedError (the disk).
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
            lock.let_go(files)
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
        self._engine.tick()
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
            self._engine.died(error)
            raise dead_after(error) from error

    def stats(self) -> Stats:
        """Numbers of this moment."""
        return self._engine.stats()

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

    def show(self, monitor: Shows) -> None:
        """For `open`: `monitor` shows the log until it ends."""
        from writer_hooks.measures import Measures

        measures = Measures(
            str(self._places.folder),
            self._engine.stats,
            self._subscribers.living,
            self._options.cap,
            self._engine.used,
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
        if self._ending.forked is not None:
            raise self._ending.forked

    # What the parts call.

    def ticket(self, end: int) -> Ticket:
        return Ticket(self._durable, end)

    def relieve(self) -> None:
        """Waits while too much is not durable, before more is appended. Raises what keeps it from being so."""
        self._engine.relieve()

    def appended(self) -> None:
        """Something was appended that a sync may be waiting for."""
        self._engine.appended()


def _sync_thread(engine: Engine, options: Options) -> SyncThread | None:
    if not options.threads:
        return None
    return SyncThread(engine.syncer, options.sync, engine.look, options.tick_seconds, engine.died)


def _interruptible() -> bool:
    """Whether a signal handler's exception (Ctrl-C) may come up in this thread: no sync is left half done for one."""
    return threading.get_ident() == threading.main_thread().ident
