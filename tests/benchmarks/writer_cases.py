"""What the writer's benchmark runs: many writers on one log, the bare disk under the same bytes, SQLite's inserts.

Each gives what it did and how long it took; nothing here sums anything up.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from writer_hooks import SegmentLog, Table
from writer_hooks.change import Change
from writer_hooks.disk import RealFiles
from writer_hooks.policy import SyncPolicy

SEGMENT_BYTES = 32 << 20
VALUE = b"x" * 160
"""With its key, its record and the entry's frame such a row takes about 200 bytes in the log."""


class Order(msgspec.Struct):
    """A row."""

    id: int
    value: bytes


ORDERS = Table.of(Order, "bench.orders", key=["id"])


class Run(NamedTuple):
    """What a case did: rows, seconds, and for each row how long until it was durable."""

    rows: int
    seconds: float
    waits: list[float]

    @property
    def rate(self) -> float:
        return self.rows / self.seconds


class WatchedFiles(RealFiles):
    """The real disk, which notes what was written to the segments between their syncs."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self._pending: list[int] = []
        self.watching = False

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, at: int) -> int:
        # The spare's zeros are written ahead, and no part of what a sync costs.
        if self.watching and len(data) < 1 << 20:
            self._pending.append(len(data))
        return super().pwrite(fd, data, at)

    def fdatasync(self, fd: int) -> None:
        super().fdatasync(fd)
        if self.watching and self._pending:
            self.groups.append(self._pending)
            self._pending = []


def change(number: int) -> Change:
    return ORDERS.insert(Order(number, VALUE))


@contextmanager
def opened(folder: Path, sync: SyncPolicy, files: RealFiles | None = None) -> Iterator[SegmentLog]:
    """A new log that is ready: its first segment is there, and the spare."""
    folder.mkdir(parents=True)
    log = SegmentLog.open(folder, tables=[ORDERS], sync=sync, segment_bytes=SEGMENT_BYTES, files=files or RealFiles())
    try:
        log.append(change(0)).wait()
        time.sleep(0.3)
        yield log
    finally:
        log.close()
        shutil.rmtree(folder)


def threads(log: SegmentLog, writers: int, seconds: float) -> Run:
    """Each thread appends a row, waits until it is durable, and appends the next."""

    def write(waits: list[float], number: int, stop: threading.Event) -> None:
        while not stop.is_set():
            began = time.perf_counter()
            log.append(change(number)).wait()
            waits.append(time.perf_counter() - began)

    return in_threads(write, writers, seconds)


def in_threads(write: Callable[[list[float], int, threading.Event], None], writers: int, seconds: float) -> Run:
    """What so many threads do at once, until they are told to stop: `write` notes how long each row took."""
    waits: list[list[float]] = [[] for _ in range(writers)]
    barrier = threading.Barrier(writers + 1)
    stop = threading.Event()

    def begin(mine: list[float], number: int) -> None:
        barrier.wait()
        write(mine, number, stop)

    started = [threading.Thread(target=begin, args=(mine, number)) for number, mine in enumerate(waits)]
    for thread in started:
        thread.start()
    barrier.wait()
    began = time.perf_counter()
    time.sleep(seconds)
    stop.set()
    for thread in started:
        thread.join()
    took = time.perf_counter() - began
    return Run(sum(map(len, waits)), took, [wait for mine in waits for wait in mine])


def tasks(log: SegmentLog, writers: int, seconds: float) -> Run:
    """The same with tasks of one event loop."""

    async def write(waits: list[float], number: int, until: float) -> None:
        while (began := time.perf_counter()) < until:
            await log.append(change(number))
            waits.append(time.perf_counter() - began)

    return in_tasks(write, writers, seconds)


def in_tasks(
    write: Callable[[list[float], int, float], Coroutine[object, None, None]], writers: int, seconds: float
) -> Run:
    """What so many tasks of one loop do at once, until that time."""
    waits: list[float] = []

    async def together() -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(write(waits, number, until) for number in range(writers)))

    began = time.perf_counter()
    asyncio.run(together())
    return Run(len(waits), time.perf_counter() - began, waits)


def one_core(log: SegmentLog, rows: int) -> Run:
    """One thread that encodes rows and appends them and does not wait; the last is durable when the clock stops."""
    began = time.perf_counter()
    append, insert = log.append, ORDERS.insert
    ticket = append(change(0))
    for number in range(1, rows):
        ticket = append(insert(Order(number, VALUE)))
    ticket.wait()
    return Run(rows, time.perf_counter() - began, [])


def one_core_many(log: SegmentLog, rows: int) -> Run:
    """The same rows, appended many at once."""
    began = time.perf_counter()
    insert = ORDERS.insert
    log.append_many(insert(Order(number, VALUE)) for number in range(rows)).wait()
    return Run(rows, time.perf_counter() - began, [])


def many_a_sync(log: SegmentLog, rows: int, together: int) -> Run:
    """One thread that encodes and appends so many at once, and waits until they are durable."""
    insert = ORDERS.insert
    waits: list[float] = []
    began = now = time.perf_counter()
    for first in range(0, rows, together):
        log.append_many([insert(Order(number, VALUE)) for number in range(first, first + together)]).wait()
        done = time.perf_counter()
        waits.append(done - now)
        now = done
    return Run(len(waits) * together, now - began, waits)


def floor(folder: Path, groups: list[list[int]], rows: int) -> Run:
    """The bare disk: the same writes between the same syncs, into a file whose zeros are there and durable."""
    with bare_file(folder) as fd:
        data = memoryview(os.urandom(1 << 20))
        waits = []
        at = 0
        began = time.perf_counter()
        for group in groups:
            start = time.perf_counter()
            for length in group:
                if at + length > SEGMENT_BYTES:
                    at = 0
                os.pwrite(fd, data[:length], at)
                at += length
            os.fdatasync(fd)
            waits.append(time.perf_counter() - start)
        return Run(rows, time.perf_counter() - began, waits)


@contextmanager
def bare_file(folder: Path) -> Iterator[int]:
    """A file of a segment's size whose zeros are there and durable."""
    path = folder / "bare"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        for at in range(0, SEGMENT_BYTES, 1 << 20):
            os.pwrite(fd, bytes(1 << 20), at)
        os.fsync(fd)
        yield fd
    finally:
        os.close(fd)
        path.unlink()


def sqlite(folder: Path, synchronous: str, seconds: float) -> Run:
    """SQLite in WAL mode: one connection, a transaction a row. More connections would wait for each other."""
    path = folder / f"{synchronous.lower()}.db"
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, value BLOB)")
        waits: list[float] = []
        began = now = time.perf_counter()
        while now < began + seconds:
            connection.execute("INSERT INTO orders (value) VALUES (?)", (VALUE,))
            done = time.perf_counter()
            waits.append(done - now)
            now = done
        return Run(len(waits), now - began, waits)
    finally:
        connection.close()


WRITERS: dict[str, Callable[[SegmentLog, int, float], Run]] = {"threads": threads, "tasks": tasks}
