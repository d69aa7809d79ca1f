"""Subscriptions: a reader in the writer's own process, served from memory and, where it falls behind, from files.

Both ways are steps of one tail: what a section in memory saves is the look at the folder and the reading; definitions,
rows and positions are made by the same code. Writes no segment.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from tailer.errors import CdcError
from tailer.framing.entry import scan_entries
from tailer.framing.section import Section
from tailer.position import Position
from tailer.segments.run import run_of
from tailer.tail.follow import WAIT_SECONDS
from tailer.tail.step import Step
from tailer.tail.tail import Tail
from writer_hooks.buffer import Absent, SectionBuffer, SyncedSection

if TYPE_CHECKING:
    import pyarrow

Mode = Literal["buffer", "segments"]

_SLICE_SECONDS: Final = 0.05
"""How long the folder is waited for before the buffer is asked again."""

_log: Final = logging.getLogger("writer_hooks")


@dataclass(frozen=True, slots=True)
class SubscriptionStats:
    """Numbers of a subscription. `mode`: where the last rows came from. `segments`, `entries`: captured so far.

    `lag_segments`, `lag_bytes`: between its position and the durable end (of the newest segment only where they lie in
    different ones). `lag_ms`: from the fsync to the hand-over of the last section that came from the buffer.
    """

    mode: Mode
    switches: int
    buffer_used: int
    segments: int
    entries: int
    rows: int
    lag_segments: int
    lag_bytes: int
    lag_ms: float
    position: Position
    committed: Position


class Subscription:
    """Iterate over it, or `await` each batch of `async for`; `commit` what is safe. One thread or task at a time.

    Without rows to wait for, `take` gives None after its timeout; iteration ends when the log is closed and everything
    was handed out.
    """

    def __init__(self, tail: Tail, buffer: SectionBuffer, room: int, path_of: Callable[[int], Path]) -> None:
        self._tail = tail
        self._buffer = buffer
        self._room = room
        self._path_of = path_of
        self._mode: Mode = "segments"
        self._switches = 0
        self._segments: set[int] = set()
        self._rows = 0
        self._lag = 0.0
        self._unsafe = False
        self._saved_at = time.monotonic()
        self._batches: Iterator[pyarrow.RecordBatch] = iter(())
        self._thread: ThreadPoolExecutor | None = None
        self._open = False
        self._passed = Position(0, 0)
        """Behind sections of a segment that has nothing for readers yet; its file goes if it never gets any."""
        buffer.hold(room)
        try:
            tail.open()
        except BaseException:
            buffer.release(room)
            tail.close()
            raise
        self._open = True
        self._committed = tail.offset.position
        self._learnt = tail.entries
        _log.info("subscription %s starts at %s, from segments", self._name, self._committed)

    @property
    def _name(self) -> str:
        return self._tail.options.consumer or "(unnamed)"

    @property
    def consumer(self) -> str | None:
        """Whose position is kept; None keeps none."""
        return self._tail.options.consumer

    @property
    def open(self) -> bool:
        """Not closed yet."""
        return self._open

    @property
    def position(self) -> Position:
        """Behind everything that was handed out, but for the batches of the step in hand."""
        return self._tail.offset.position

    def take(self, timeout: float | None = None) -> pyarrow.RecordBatch | None:
        """The next rows; None when there are none within `timeout` seconds (for ever by default), or ever again."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            batch = next(self._batches, None)
            if batch is not None:
                self._rows += batch.num_rows
                self._unsafe = True
                return batch
            step = self._next_step(until)
            if step is None:
                return None
            self._batches = self._read(step)

    def commit(self) -> None:
        """Everything that was handed out is safe: a restart goes on behind it. Durable when this returns.

        In the middle of a step's batches the position stays before that step.
        """
        self._buffer.check()
        self._tail.save()
        self._unsafe = False
        self._saved_at = time.monotonic()
        self._committed = self.position

    def stats(self) -> SubscriptionStats:
        position, end = self.position, self._buffer.end
        standing = self._standing()
        same = standing.segment == end.segment
        known = {*self._tail.segments(), *self._buffer.segments}
        return SubscriptionStats(
            mode=self._mode,
            switches=self._switches,
            buffer_used=self._buffer.used,
            segments=len(self._segments),
            entries=self._tail.entries - self._learnt,
            rows=self._rows,
            lag_segments=sum(standing.segment < each <= end.segment for each in known),
            lag_bytes=max(end.offset - (standing.offset if same else 0), 0),
            lag_ms=self._lag * 1000,
            position=position,
            committed=self._committed,
        )

    def close(self) -> None:
        """Ends it; what was not committed comes again at the next start."""
        if self._open:
            self._open = False
            self._buffer.release(self._room)
            self._tail.close()
            if self._thread is not None:
                self._thread.shutdown()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        while (batch := self.take()) is not None:
            yield batch

    async def __aiter__(self) -> AsyncIterator[pyarrow.RecordBatch]:
        # Rows are made by the processor alone, so they are made in a thread: the loop stays free.
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="cdc-subscription")
        loop = asyncio.get_running_loop()
        while self._open:
            batch = await loop.run_in_executor(self._thread, self.take, _SLICE_SECONDS)
            if batch is not None:
                yield batch
            elif self._at_end():
                return

    def _at_end(self) -> bool:
        return self._buffer.take(self._standing()) is Absent.CLOSED

    def _read(self, step: Step) -> Iterator[pyarrow.RecordBatch]:
        """The step's batches; when the last is handed out, the tail stands behind the step."""
        last = None
        for task in step.tasks:
            self._segments.add(task.span.segment)
            for batch in self._tail.read(task):
                if last is not None:
                    yield last
                last = batch.to_arrow()
        self._tail.advance(step)
        if last is not None:
            yield last
        elif not self._unsafe and time.monotonic() - self._saved_at > WAIT_SECONDS:
            # Sections without rows for it: what it leaves behind may go.
            self.commit()

    def _next_step(self, until: float | None) -> Step | None:
        """A step that brings something; None when there is none in time, or no more at all."""
        while True:
            left = WAIT_SECONDS if until is None else max(until - time.monotonic(), 0.0)
            found = self._buffer.take(self._standing(), left if self._mode == "buffer" else 0.0)
            if isinstance(found, SyncedSection) and not found.captured:
                self._passed = found.end
                continue
            if isinstance(found, SyncedSection):
                step = self._from_buffer(found)
                if step is not None:
                    return step
            elif found is Absent.CLOSED:
                return None
            elif found is Absent.WAIT:
                self._switch("buffer")
            if found is Absent.BEHIND or isinstance(found, SyncedSection):
                last = self._buffer.closed
                step = self._from_segments(min(left, _SLICE_SECONDS))
                if step is not None or last:
                    return step
            if until is not None and time.monotonic() >= until:
                return None

    def _standing(self) -> Position:
        """What the next section of the buffer follows."""
        return max(self.position, self._passed)

    def _from_buffer(self, section: SyncedSection) -> Step | None:
        """The section's step; None where its file was discarded meanwhile."""
        segment = section.start.segment
        place = Section(section.start.offset, section.end.offset, section.at, section.next_at)
        entries = scan_entries(section.data)
        run = run_of(place, section.data, entries, native=True)
        try:
            step = self._tail.handed(segment, place, run, self._path_of(segment))
        except FileNotFoundError:
            return None
        self._lag = time.monotonic() - section.synced
        self._switch("buffer")
        return step

    def _from_segments(self, patience: float) -> Step | None:
        """What the files have; None where that is nothing yet."""
        step = self._tail.step()
        for notice in step.notices:
            _log.info("subscription %s: %s", self._name, notice)
        if step.tasks or step.moved:
            self._switch("segments")
            return step
        if step.error is not None:
            self._accept(step.error)
        else:
            self._tail.wait(patience)
        return None

    def _accept(self, error: CdcError) -> None:
        to = self._tail.accept(error)
        if to is None:
            raise error
        _log.warning("subscription %s: %s Accepted: it goes on at %s", self._name, error.sentence(), to)

    def _switch(self, mode: Mode) -> None:
        if mode != self._mode:
            self._mode = mode
            self._switches += 1
            _log.info("subscription %s reads from %s now, at %s", self._name, mode, self.position)
