"""Writers that are woken as by a log where there is none: nothing is encoded, framed or kept.

Each row waits for the next sync, which a thread makes for all that have come: the same bytes, written bare and synced.
Then threads are let through as by a log, each by the one before it, and all tasks of a loop at once. What a log costs
on top of that is its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.writer_cases import SEGMENT_BYTES, Run, bare_file, in_tasks, in_threads

ROW = os.urandom(240)
"""About what a row of the benchmark takes in a log."""


class NullLog:
    """`wait` blocks a thread, `until` a task of `loop`, until what they stand for is synced."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._at = 0
        self._lock = threading.Lock()
        self._bell = _shut()
        self._gate = _shut()
        self._rows = 0
        self._futures: list[asyncio.Future[None]] = []
        self._stopping = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def wait(self) -> None:
        with self._lock:
            self._come()
            gate = self._gate
        gate.acquire()
        gate.release()

    def until(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            self._come()
            self._futures.append(future)
        return future

    def stop(self) -> None:
        with self._lock:
            self._stopping = True
            self._come()
        self._thread.join()

    def _come(self) -> None:
        self._rows += 1
        if self._rows == 1:
            self._bell.release()

    def _run(self) -> None:
        while True:
            self._bell.acquire()
            if self._stopping:
                return
            self._gather()
            with self._lock:
                rows, self._rows = self._rows, 0
                gate, self._gate = self._gate, _shut()
                futures, self._futures = self._futures, []
            self._sync(rows)
            gate.release()
            if futures:
                futures[0].get_loop().call_soon_threadsafe(_resolve, futures)

    def _gather(self) -> None:
        """Whoever the last sync has let go comes with this one."""
        before = 0
        while self._rows != before:
            before = self._rows
            time.sleep(0)

    def _sync(self, rows: int) -> None:
        data = ROW * rows
        if self._at + len(data) > SEGMENT_BYTES:
            self._at = 0
        os.pwrite(self._fd, data, self._at)
        self._at += len(data)
        os.fdatasync(self._fd)


def _shut() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


def _resolve(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        future.set_result(None)


@contextmanager
def _opened(folder: Path) -> Iterator[NullLog]:
    with bare_file(folder) as fd:
        log = NullLog(fd)
        try:
            yield log
        finally:
            log.stop()


def null_threads(folder: Path, writers: int, seconds: float) -> Run:
    """As many threads as a log would have."""

    def write(waits: list[float], number: int, stop: threading.Event) -> None:
        while not stop.is_set():
            began = time.perf_counter()
            log.wait()
            waits.append(time.perf_counter() - began)

    with _opened(folder) as log:
        return in_threads(write, writers, seconds)


def null_tasks(folder: Path, writers: int, seconds: float) -> Run:
    """As many tasks."""

    async def write(waits: list[float], number: int, until: float) -> None:
        loop = asyncio.get_running_loop()
        while (began := time.perf_counter()) < until:
            await log.until(loop)
            waits.append(time.perf_counter() - began)

    with _opened(folder) as log:
        return in_tasks(write, writers, seconds)
