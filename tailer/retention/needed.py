"""Which segments are needed, by whom, and what `clean` may take away (architecture section 8). Pure: no file, no clock.

Segment ids are compared, never offsets of sidecars.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from tailer.position import Position
from tailer.state.consumers import ConsumerFile
from tailer.state.holds import HoldFile
from tailer.state.offset import Memory, NodeOffset

SETTLED_SECONDS: Final = 60.0
"""A captured segment is left alone for so long after its last change: the server may be deleting it itself."""

BARE_SECONDS: Final = 600.0
"""The same for one without sidecar: its server has let go of it, and would have deleted it by then."""


_SHOWN: Final = 5
"""Segments that a notice names."""

BATCH_READ: Final = "(batch read)"
"""How it is named among consumers, of which none can be called that."""


class Ages(NamedTuple):
    """Seconds since a segment's last change (ctime) before it may be deleted."""

    captured: float = SETTLED_SECONDS
    bare: float = BARE_SECONDS


AGES: Final = Ages()


@dataclass(frozen=True, slots=True)
class HeldSegment:
    """What one look shows of a segment. `changed` and `written` are seconds of wall time (ctime and mtime).

    `bytes`: of both files. `restart`: what a native log's sidecar says of open transactions. `end`: the durable end it
    promises, `published`: when it was written; both 0 without one.
    """

    segment: int
    log: bool
    sidecar: bool
    finished: bool
    links: int
    bytes: int
    changed: float
    written: float
    restart: Position | None = None
    file: str = ""
    end: int = 0
    published: float = 0.0


class Need(StrEnum):
    """Why a consumer holds a segment."""

    UNREAD = "unread"
    LATE = "late"
    WITNESS = "witness"
    """Read, and kept until the next one is being read: if it goes first, somebody else has deleted here."""


@dataclass(frozen=True, slots=True)
class Holder:
    """One node's part of a consumer, as far as it holds segments back.

    `forgotten`: of segments below it nobody knows any more whether they were read (`CleanedFile`). `reads_once`: a
    batch read, to which nothing below where it began is of interest.
    """

    consumer: str
    offset: NodeOffset
    memory: Memory
    restart: Position
    forgotten: int = 0
    reads_once: bool = False

    def need(self, held: HeldSegment) -> Need | None:
        """Why this consumer needs a segment; None if it does not."""
        segment = held.segment
        if segment > self.restart.segment:
            return Need.UNREAD
        if segment == self.restart.segment:
            read = self.offset.done and self.restart == self.offset.position
            return Need.WITNESS if read else Need.UNREAD
        listed = any(segment == late for late, _ in self.offset.p) or segment in self.memory.holes
        if listed:
            return None if held.finished and not held.sidecar else Need.LATE
        return Need.LATE if self._unknown(segment) else None

    def unexplained(self, segment: int) -> bool:
        """It has appeared below where the consumer began, and its record does not say that it was there before."""
        memory, late = self.memory, (at for at, _ in self.offset.p)
        listed = segment in memory.explained or segment in memory.holes or segment in late
        return memory.lost_below <= segment < self._begun and not (listed or self.reads_once)

    def _unknown(self, segment: int) -> bool:
        """It has turned up, and the consumer is still to be told (`planning/plan.py`)."""
        known_from = max(self._begun, self.memory.lost_below)
        return known_from <= segment < self.forgotten or self.unexplained(segment)

    @property
    def _begun(self) -> int:
        """Where the consumer began; one that did not run since an earlier version never said so."""
        return self.memory.begun or min(self.memory.start, self.offset.s)

    def past(self, segment: int) -> bool:
        """It stands behind a segment, or has recorded that it is lost."""
        if segment < self.memory.lost_below:
            return True
        appeared = self.unexplained(segment) or (segment in self.memory.holes and segment < self._begun)
        if appeared or any(segment == late for late, _ in self.offset.p):
            return False
        read = self.offset.done and self.restart == self.offset.position
        return segment < self.restart.segment or (segment == self.restart.segment and read)


def holders(consumers: Iterable[ConsumerFile], forgotten: int = 0) -> list[Holder]:
    """What every consumer of a state folder holds back. One without any position holds everything."""
    found = []
    for each in consumers:
        for state in each.nodes.values():
            found.append(Holder(each.name, state.offset, state.memory, Position(*state.restart), forgotten))
        if not each.nodes:
            found.append(Holder(each.name, NodeOffset(), Memory(), Position(0, 0)))
    return found


def batch_reads(holds: Iterable[HoldFile]) -> list[Holder]:
    """What batch reads hold back while they run."""
    return [
        Holder(
            BATCH_READ,
            NodeOffset(0, held.segment, 0, False),
            Memory(),
            Position(held.segment, 0),
            reads_once=True,
        )
        for held in holds
    ]


def open_from(segments: Iterable[HeldSegment]) -> int | None:
    """The segment from which on a transaction may be open, by the newest sidecar; None where no sidecar tells."""
    told = [held for held in segments if held.restart is not None]
    newest = max(told, key=lambda held: held.segment, default=None)
    return None if newest is None or newest.restart is None else newest.restart.segment


class Limits(NamedTuple):
    """What may be kept: seconds since a segment was last written, bytes of the whole folder. `force`: needed or not."""

    max_age: float | None = None
    max_bytes: int | None = None
    force: bool = False


NO_LIMITS: Final = Limits()


@dataclass(slots=True)
class Decision:
    """What to take away, by ascending id. `lost`: consumers that lose a segment by it. `sidecars`: without a log.

    `over`: segments beyond a limit that stay because they are needed. `kept`: all that stay only because of consumers,
    `waiting`: of these by id the consumers that have not read them. `left`: bytes of the folder then; `cap`: of those
    there is room for, None where nobody says. `notices`: about what is passed by.
    """

    logs: list[HeldSegment] = field(default_factory=list)
    sidecars: list[HeldSegment] = field(default_factory=list)
    lost: dict[int, list[str]] = field(default_factory=dict)
    over: list[HeldSegment] = field(default_factory=list)
    kept: list[HeldSegment] = field(default_factory=list)
    waiting: dict[int, list[str]] = field(default_factory=dict)
    left: int = 0
    cap: int | None = None
    notices: list[str] = field(default_factory=list)

    @property
    def freed(self) -> int:
        return sum(held.bytes for held in (*self.logs, *self.sidecars))


def decide(
    segments: Sequence[HeldSegment],
    held_by: Sequence[Holder],
    cleaned: Container[int],
    now: float,
    *,
    limits: Limits = NO_LIMITS,
    ages: Ages = AGES,
    other_bytes: int = 0,
) -> Decision:
    """What one run of `clean` takes away. `other_bytes`: of files in the folder that are neither log nor sidecar."""
    made = Decision()
    floor = open_from(segments)
    kept: list[HeldSegment] = []
    for held in sorted(segments, key=lambda held: held.segment):
        if not held.log:
            gone = held.segment in cleaned or all(each.past(held.segment) for each in held_by)
            if gone and now - held.changed >= ages.captured:
                made.sidecars.append(held)
        elif _may_go(held, floor, now, ages):
            known = held.segment in cleaned
            if known or not any(each.need(held) for each in held_by):
                made.logs.append(held)
            else:
                kept.append(held)
    total = other_bytes + sum(held.bytes for held in segments) - made.freed
    for held in _beyond(kept, limits, now, total):
        if limits.force:
            made.logs.append(held)
            if losers := _losers(held, held_by):
                made.lost[held.segment] = losers
        else:
            made.over.append(held)
    made.logs.sort(key=lambda held: held.segment)
    made.left = other_bytes + sum(held.bytes for held in segments) - made.freed
    going = {held.segment for held in made.logs}
    made.kept = [held for held in kept if held.segment not in going]
    made.waiting = {held.segment: readers for held in made.kept if (readers := _unread_by(held, held_by))}
    made.notices += _unexplained(made.kept, held_by)
    return made


def _unexplained(kept: Sequence[HeldSegment], held_by: Sequence[Holder]) -> list[str]:
    """What is said of segments that stay because no consumer's record says what they are."""
    found: dict[str, list[int]] = {}
    for held in kept:
        for each in held_by:
            if each.unexplained(held.segment):
                found.setdefault(each.consumer, []).append(held.segment)
    return [
        f"{_names(segments)} kept: {'it has' if len(segments) == 1 else 'they have'} appeared below where consumer "
        f"{consumer} began, which has neither read nor accepted {'it' if len(segments) == 1 else 'them'}. Its next run "
        "says what helps"
        for consumer, segments in sorted(found.items())
    ]


def _names(segments: Sequence[int]) -> str:
    shown = ", ".join(map(str, segments[:_SHOWN]))
    more = f" and {len(segments) - _SHOWN} more" if len(segments) > _SHOWN else ""
    return f"segment {shown} is" if len(segments) == 1 else f"segments {shown}{more} are"


def _may_go(held: HeldSegment, floor: int | None, now: float, ages: Ages) -> bool:
    """Nobody writes it, nobody but a consumer needs it, and its server is not deleting it just now."""
    if not held.finished or (floor is not None and held.segment >= floor):
        return False
    age = now - held.changed
    return age >= ages.captured if held.sidecar else held.links == 1 and age >= ages.bare


def _beyond(kept: Sequence[HeldSegment], limits: Limits, now: float, total: int) -> Iterator[HeldSegment]:
    """Of what consumers alone hold back, oldest first: what is over a limit."""
    for held in kept:
        old = limits.max_age is not None and now - held.written > limits.max_age
        large = limits.max_bytes is not None and total > limits.max_bytes
        if old or large:
            total -= held.bytes
            yield held


def _losers(held: HeldSegment, held_by: Iterable[Holder]) -> list[str]:
    """Who loses changes with it. One without sidecar held no captured change."""
    return _unread_by(held, held_by) if held.sidecar else []


def _unread_by(held: HeldSegment, held_by: Iterable[Holder]) -> list[str]:
    """Who has not read it."""
    return sorted({each.consumer for each in held_by if each.need(held) in (Need.UNREAD, Need.LATE)})
