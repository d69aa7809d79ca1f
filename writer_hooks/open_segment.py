"""The segment that is appended to: its open section in memory, and what is known of it. Touches no disk.

An offset is known as soon as an entry is appended: the section begins where the last one ended, and ends with a `state`
record of fixed length.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tailer.framing.entry import encode_entry
from tailer.framing.section import MARKER_BYTES
from tailer.limits import ENTRY_OVERHEAD, OFFSET_MAX
from tailer.position import Position
from tailer.scan.record.record import STATE_BYTES, encode_state

STATE_ENTRY_BYTES: Final = STATE_BYTES + ENTRY_OVERHEAD

SECTION_SPARE: Final = MARKER_BYTES + STATE_ENTRY_BYTES
"""What a section takes beside its entries: a marker and a `state` record."""


class Section(NamedTuple):
    """A section whose entries are complete. `plain`: its bytes, with room for the marker at their beginning.

    `first`: where the segment's first section with tracked records begins, None if there is none up to here.
    """

    segment: Segment
    start: int
    end: int
    plain: bytearray
    first: int | None
    restart: Position

    @property
    def position(self) -> Position:
        return Position(self.segment.id, self.end)


class Segment:
    """One segment. `at`: file offset where its next section goes; `written`: the logical end of what was written."""

    def __init__(self, id: int, fd: int, header_length: int, size: int) -> None:
        self.id = id
        self.fd = fd
        self.header_length = header_length
        self.size = min(size, OFFSET_MAX)
        self.at = header_length
        self.end = header_length
        self.restart = Position(id, header_length)
        self.defined: set[bytes] = set()
        """Fingerprints of the definitions that the segment has."""
        self.first: int | None = None
        self.tracked_since: float | None = None
        self.permitted = False
        self.start = header_length
        self.plain = bytearray(MARKER_BYTES)
        self.limit = self._limit()

    @property
    def empty(self) -> bool:
        """Nothing was ever appended."""
        return self.start == self.header_length and len(self.plain) == MARKER_BYTES

    @property
    def pending(self) -> int:
        """Bytes of the open section's entries."""
        return len(self.plain) - MARKER_BYTES

    @property
    def place(self) -> Position:
        """Where the next entry begins."""
        return Position(self.id, self.start + len(self.plain))

    @property
    def section_start(self) -> Position:
        return Position(self.id, self.start)

    def _limit(self) -> int:
        return self.size - self.start - STATE_ENTRY_BYTES

    def fits(self, size: int) -> bool:
        """Whether entries of that many bytes, heads and checksums included, still go into this segment."""
        return len(self.plain) + size <= self.limit

    def add(self, payload: bytes) -> None:
        """Appends an entry; the caller has seen that it fits. All at once, as Ctrl-C may come between two steps."""
        self.plain += encode_entry(payload)

    def allow(self) -> None:
        """The cap lets changes of cdc tables into this segment."""
        self.permitted = True

    def wrote(self, length: int) -> None:
        """A section of that many bytes stands in the file."""
        self.at += length

    def give_fd(self) -> int:
        """The descriptor, which the caller closes; -1 where it was given before."""
        fd, self.fd = self.fd, -1
        return fd

    def track(self, now: float) -> None:
        """The open section holds a tracked record."""
        if self.first is None:
            self.first = self.start
            self.tracked_since = now

    def seal(self, restart: Position | None, restart_any: Position | None, last_ts: int) -> Section | None:
        """Ends the open section with its `state` and begins the next one; None where nothing was appended.

        None for a restart means that no transaction is open: the section's own end. `last_ts`: of the writer's clock.
        """
        if len(self.plain) == MARKER_BYTES:
            return None
        plain = self.plain
        end = Position(self.id, self.start + len(plain) + STATE_ENTRY_BYTES)
        plain += encode_entry(encode_state(restart or end, restart_any or end, last_ts))
        section = Section(self, self.start, end.offset, plain, self.first, restart or end)
        self.start = end.offset
        self.plain = bytearray(MARKER_BYTES)
        self.limit = self._limit()
        return section


def entry_bytes(payload: bytes) -> int:
    """What a payload takes in a section."""
    return len(payload) + ENTRY_OVERHEAD
