"""What the page shows, as one JSON object of bounded size: numbers and names, and no row's data. Pure: values only.

What `cdc-tail status --output json` has too has the same name here and says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from tailer.node_page.facts import Served
from tailer.node_page.look import Look
from tailer.retention.status import CapStatus, CleanStatus, ConsumerStatus, ReadStatus, SegmentStatus, StateStatus

SEGMENTS_MAX: Final = 50
CONSUMERS_MAX: Final = 100
OTHERS_MAX: Final = 20
"""Of every other list."""

NAMES_MAX: Final = 5
"""Of consumers that need one segment, and of segments that one consumer lost."""

_Each = TypeVar("_Each")


class Counts(msgspec.Struct, frozen=True):
    """How many there are in all of what may be cut; segments by what became of them, and entries in quarantine."""

    segments: int
    done: int
    growing: int
    cleaned: int
    consumers: int
    reads: int
    quarantined: int
    quarantines: int
    problems: int
    notices: int


class Durable(msgspec.Struct, frozen=True):
    """Up to where the log is durable: the highest segment with a sidecar that promises something, and its end."""

    segment: int
    end: int


class QuarantineShown(msgspec.Struct, frozen=True):
    """Entries of one consumer on one node that are kept for one reason, an exit code. `consumer`: null for none."""

    consumer: str | None
    node: str
    code: int
    entries: int


class Seen(msgspec.Struct, frozen=True):
    """What the last look has seen. `at`: seconds since the epoch.

    Segments are the newest, the newest first, and each names some of those who need it; consumers are those that lag
    most, the furthest behind first.
    """

    at: float
    counts: Counts
    bytes: int
    durable: Durable | None
    waiting_for: int | None
    segments: list[SegmentStatus]
    cap: CapStatus
    volume_free: int
    clean: CleanStatus
    state: StateStatus
    consumers: list[ConsumerStatus]
    reads: list[ReadStatus]
    quarantine: list[QuarantineShown]
    problems: list[str]
    notices: list[str]


class Shown(msgspec.Struct, frozen=True):
    """One node now. `trouble`: why the last look failed, null where it did not; `seen`: null before the first one.

    `leases`: how many there are, of which `served` has some.
    """

    at: float
    node: str
    folder: str
    trouble: str | None
    leases: int
    served: Served
    seen: Seen | None


def shown(node: str, folder: str, look: Look | None, served: Served, at: float, trouble: str | None) -> Shown:
    """What a look has seen, and what the node says of itself. `at`: now, in seconds since the epoch."""
    some = msgspec.structs.replace(served, leases=served.leases[:OTHERS_MAX])
    return Shown(at, node, folder, trouble, len(served.leases), some, None if look is None else _seen(look))


def worst(consumers: Sequence[ConsumerStatus]) -> list[ConsumerStatus]:
    """Those that lag most, of so many as are told apart."""
    by_lag = sorted(consumers, key=lambda each: (-each.lag.seconds, -each.lag.bytes, each.consumer, each.node))
    return by_lag[:CONSUMERS_MAX]


def _seen(look: Look) -> Seen:
    status, quarantine = look.status, _quarantine(look)
    return Seen(
        at=look.at,
        counts=_counts(look),
        bytes=status.bytes,
        durable=_durable(status.segments),
        waiting_for=status.waiting_for,
        segments=[_segment(each) for each in reversed(status.segments[-SEGMENTS_MAX:])],
        cap=status.cap,
        volume_free=look.volume_free,
        clean=status.clean,
        state=status.state,
        consumers=[_consumer(each) for each in worst(status.consumers)],
        reads=_some(status.reads),
        quarantine=_some(quarantine),
        problems=_some(look.problems),
        notices=_some(status.notices),
    )


def _counts(look: Look) -> Counts:
    segments = look.status.segments
    cleaned = sum(each.cleaned for each in segments)
    done = sum(each.done and not each.cleaned for each in segments)
    return Counts(
        segments=len(segments),
        done=done,
        growing=len(segments) - done - cleaned,
        cleaned=cleaned,
        consumers=len(look.status.consumers),
        reads=len(look.status.reads),
        quarantined=sum(look.quarantine.values()),
        quarantines=len(look.quarantine),
        problems=len(look.problems),
        notices=len(look.status.notices),
    )


def _durable(segments: Sequence[SegmentStatus]) -> Durable | None:
    promised = (Durable(each.segment, each.end) for each in reversed(segments) if each.end)
    return next(promised, None)


def _segment(each: SegmentStatus) -> SegmentStatus:
    names, more = each.needed_by[:NAMES_MAX], len(each.needed_by) - NAMES_MAX
    return msgspec.structs.replace(each, needed_by=[*names, f"and {more} more"] if more > 0 else names)


def _consumer(each: ConsumerStatus) -> ConsumerStatus:
    # What a target says of itself is its own: it may repeat what it was sent.
    away = None if each.away is None else msgspec.structs.replace(each.away, error="")
    return msgspec.structs.replace(each, pending=each.pending[:NAMES_MAX], away=away)


def _quarantine(look: Look) -> list[QuarantineShown]:
    kept = [QuarantineShown(key.consumer, key.node, key.code, entries) for key, entries in look.quarantine.items()]
    return sorted(kept, key=lambda each: (-each.entries, each.consumer or "", each.node, each.code))


def _some(many: list[_Each]) -> list[_Each]:
    return many[:OTHERS_MAX]
