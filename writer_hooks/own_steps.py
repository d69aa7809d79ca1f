"""The steps of a reader in the writer's own process: from memory and, where it falls behind, from files.

Both ways are steps of one tail: what a section in memory saves is the look at the folder and the reading; definitions,
rows and positions are made by the same code. Hands nothing to anybody and writes no segment.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tailer.errors import CdcError
from tailer.framing.entry import scan_entries
from tailer.framing.section import Section
from tailer.position import Position
from tailer.rows.batch import RowKind
from tailer.rows.choice import AnyBatch
from tailer.segments.run import run_of
from tailer.tail.follow import WAIT_SECONDS, Say
from tailer.tail.kept import Saving
from tailer.tail.step import Step
from tailer.tail.tail import Tail
from writer_hooks.buffer import Absent, SectionBuffer, SyncedSection

if TYPE_CHECKING:
    from tailer.metrics.passage import Passage

Mode = Literal["buffer", "segments"]

SLICE_SECONDS: Final = 0.05
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


class Seen(NamedTuple):
    """What is told of a batch when it is handed out. `durable`: since when it is, in seconds since the epoch; None
    where it came from files."""

    rows: Mapping[RowKind, int]
    durable: float | None


class OwnSteps:
    """Of one reader, with its numbers. One thread at a time reads; another one may save, and ask for the numbers."""

    def __init__(
        self,
        tail: Tail,
        buffer: SectionBuffer,
        room: int,
        path_of: Callable[[int], Path],
        say: Say = lambda line: None,
        passage: Passage | None = None,
    ) -> None:
        """`say` takes notices, which are logged too. `passage` is told of rows where somebody measures them."""
        self.tail = tail
        self.passage = passage
        self._rows = 0
        self._handed: Position | None = None
        """Where somebody who reads ahead has handed rows out up to; None: where the tail stands."""
        self.saved_at = time.monotonic()
        self.segments: set[int] = set()
        """Those that rows were read of."""
        self._buffer = buffer
        self._room = room
        self._path_of = path_of
        self._say = say
        self._mode: Mode = "segments"
        self._switches = 0
        self._lag = 0.0
        self._durable: float | None = None
        self._saving = threading.Lock()
        self._passed = Position(0, 0)
        """Behind sections of a segment that has nothing for readers yet; its file goes if it never gets any."""
        buffer.hold(room)
        try:
            tail.open()
        except BaseException:
            buffer.release(room)
            tail.close()
            raise
        self.open = True
        self._committed = tail.offset.position
        self._learnt = tail.entries
        _log.info("subscription %s starts at %s, from segments", self._name, self._committed)

    @property
    def _name(self) -> str:
        return self.consumer or "(unnamed)"

    @property
    def consumer(self) -> str | None:
        """Whose position is kept; None keeps none."""
        return self.tail.options.consumer

    @property
    def position(self) -> Position:
        """Behind the steps that the tail was advanced over."""
        return self.tail.offset.position

    def seen(self, batch: AnyBatch) -> Seen | None:
        """A batch was read, and will be handed out; None where nobody measures."""
        return Seen(batch.kinds(), self._durable) if self.passage is not None and len(batch) else None

    def handed_out(self, rows: int, seen: Seen | None, behind: Position | None = None) -> None:
        """So many more rows. `behind`: where they end, for who reads ahead."""
        self._rows += rows
        self._handed = behind
        if self.passage is not None and seen is not None:
            self.passage.read(*seen)

    def taken(self) -> None:
        """Whoever got what was handed out so far has it."""
        if self.passage is not None and self.passage.waits:
            self.passage.delivered()

    def save(self, what: Saving) -> None:
        """Everything before it is safe. Durable when this returns."""
        self._buffer.check()
        with self._saving:
            self.tail.save_as(what)
        if self.passage is not None:
            self.passage.saved()
        self.saved_at = time.monotonic()
        self._committed = what.offset.position

    def stats(self) -> SubscriptionStats:
        """Numbers of this moment."""
        end = self._buffer.end
        position = self.position if self._handed is None else self._handed
        standing = self._standing() if self._handed is None else self._handed
        same = standing.segment == end.segment
        known = {*self.tail.segments(), *self._buffer.segments}
        return SubscriptionStats(
            mode=self._mode,
            switches=self._switches,
            buffer_used=self._buffer.used,
            segments=len(self.segments),
            entries=self.tail.entries - self._learnt,
            rows=self._rows,
            lag_segments=sum(standing.segment < each <= end.segment for each in known),
            lag_bytes=max(end.offset - (standing.offset if same else 0), 0),
            lag_ms=self._lag * 1000,
            position=position,
            committed=self._committed,
        )

    def close(self) -> None:
        """Ends it, and tells how much was left out in all; what was not saved comes again at the next start."""
        if self.open:
            self.open = False
            self._buffer.release(self._room)
            try:
                self._tell(self.tail.last_notices())
            finally:
                self.tail.close()

    def at_end(self) -> bool:
        """Whether the log is closed and everything of it was read."""
        return self._buffer.take(self._standing()) is Absent.CLOSED

    def next(self, until: float | None) -> Step | None:
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
                step = self._from_segments(min(left, SLICE_SECONDS))
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
            step = self.tail.handed(segment, place, run, self._path_of(segment))
        except FileNotFoundError:
            return None
        self._tell(step.notices)
        self._lag = time.monotonic() - section.synced
        self._durable = time.time() - self._lag
        self._switch("buffer")
        return step

    def _from_segments(self, patience: float) -> Step | None:
        """What the files have; None where that is nothing yet."""
        step = self.tail.step()
        self._tell(step.notices)
        if step.tasks or step.moved:
            self._durable = None
            self._switch("segments")
            return step
        if step.error is not None:
            self._accept(step.error)
        else:
            self.tail.wait(patience)
        return None

    def _tell(self, notices: Iterable[str]) -> None:
        for notice in notices:
            _log.info("subscription %s: %s", self._name, notice)
            self._say(notice)

    def _accept(self, error: CdcError) -> None:
        with self._saving:
            to = self.tail.accept(error)
        if to is None:
            raise error
        _log.warning("subscription %s: %s Accepted: it goes on at %s", self._name, error.sentence(), to)
        self._say(f"warning: {error.sentence()} Accepted: reading goes on at segment {to.segment}.")

    def _switch(self, mode: Mode) -> None:
        if mode != self._mode:
            self._mode = mode
            self._switches += 1
            _log.info("subscription %s reads from %s now, at %s", self._name, mode, self.position)
