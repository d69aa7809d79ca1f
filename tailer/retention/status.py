"""What `status` tells of a log folder: its segments, its consumers and their lag, what `clean` would free, the cap.

Values and how they are computed from looks that others took. Pure: no file, no clock.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from tailer.limits import MIB
from tailer.retention.needed import Decision, HeldSegment, Holder, holders
from tailer.state.away import Away
from tailer.state.consumers import ConsumerFile, NodeState
from tailer.state.holds import HoldFile
from tailer.state.offset import NodeOffset
from tailer.state.waiting import WaitingTable

CAP_MAX: Final = 4096 * MIB
CAP_SHARE: Final = 8
"""The server's default of `cdc_total_space`: the smaller of 4096 MiB and an eighth of the volume."""


class SegmentStatus(msgspec.Struct, frozen=True):
    """One segment. `end`: the durable end that its sidecar promises, null without one. `done`: it cannot grow any more.

    `needed_by`: consumers that hold it back. `cleaned`: it was deleted before, and a server linked it anew.
    """

    segment: int
    file: str
    bytes: int
    end: int | None
    done: bool
    links: int
    needed_by: list[str]
    cleaned: bool


class Lag(msgspec.Struct, frozen=True):
    """What waits for a consumer: logical bytes, segments, and for how many seconds at most something has waited."""

    bytes: int
    segments: int
    seconds: float


class Amount(msgspec.Struct, frozen=True):
    """Some segments and their bytes."""

    segments: int
    bytes: int


class ConsumerStatus(msgspec.Struct, frozen=True):
    """One consumer on one node. `delivered`: handed out; `committed`: known to be done, and what retention counts from.

    `moved`: seconds since the epoch. `lost`: losses it has accepted; `pending`: segments that `clean --force` took from
    it, which it will report. `away`: its run finds its target away; null where it does not. `waiting`: tables whose
    images wait in its target for a person.
    """

    consumer: str
    node: str
    delivered: str
    committed: str
    done: bool
    lag: Lag
    holds: Amount
    running: bool
    moved: float
    program: str
    host: str
    quarantined: int
    lost: int
    pending: list[int]
    away: Away | None = None
    waiting: list[WaitingTable] = []


class ReadStatus(msgspec.Struct, frozen=True, tag="read", tag_field="is"):
    """A batch read that holds segments from `segment` on, until it ends or at `until`, seconds since the epoch."""

    node: str
    segment: int
    until: float
    program: str
    host: str
    process: int


class CapStatus(msgspec.Struct, frozen=True):
    """How near the folder is to the limit at which a server stops writes, or deletes. `given`: not guessed by us."""

    bytes: int
    used: int
    share: float
    given: bool


class ServerStatus(msgspec.Struct, frozen=True):
    """What the server's own settings say. `enabled`: it captures changes; `sync`: how it makes them durable, within
    `delay` seconds, null where the file does not say."""

    file: str
    enabled: bool
    sync: str
    delay: float | None


class StateStatus(msgspec.Struct, frozen=True):
    """What is kept between runs. `bytes`: of the whole folder; `records`: of the journal, as far as they still count.

    `id`: of the state, null before its first writer. `floor`: offsets that stand below this segment are refused since
    the last compaction. `lowest`: below this segment nothing is needed any more, null without segments and consumers.
    """

    folder: str
    id: str | None
    bytes: int
    records: int
    floor: int
    lowest: int | None


class CleanStatus(msgspec.Struct, frozen=True):
    """What `clean` would take away now. `refused`: why it would not run; then this is what no known consumer needs."""

    segments: int
    bytes: int
    refused: str | None = None


class NodeStatus(msgspec.Struct, frozen=True, tag="node", tag_field="is"):
    """One node's log folder. `waiting_for`: an unfinished segment that holds the rows of later ones back.

    `notices`: what has a segment's name and is none. `server`: null where its settings were not given.
    """

    node: str
    folder: str
    segments: list[SegmentStatus]
    bytes: int
    waiting_for: int | None
    cap: CapStatus
    clean: CleanStatus
    state: StateStatus
    consumers: list[ConsumerStatus]
    problems: list[str]
    notices: list[str] = []
    reads: list[ReadStatus] = []
    server: ServerStatus | None = None


class AwayNode(msgspec.Struct, frozen=True, tag="away", tag_field="is"):
    """A node of several that nothing can be told of, and why."""

    node: str
    folder: str
    problem: str


class ConsumerLook(NamedTuple):
    """What was seen of one consumer. `quarantined` by node."""

    content: ConsumerFile
    running: bool
    quarantined: dict[str, int]
    lost: int
    pending: Collection[int]
    away: Away | None = None
    waiting: Sequence[WaitingTable] = ()


def read_status(hold: HoldFile) -> ReadStatus:
    return ReadStatus(hold.node, hold.segment, hold.until, hold.program, hold.host, hold.process)


def default_cap(volume_bytes: int) -> int:
    return min(CAP_MAX, volume_bytes // CAP_SHARE // MIB * MIB)


def cap_status(cap: int | None, used: int, volume_bytes: int) -> CapStatus:
    """`cap`: as the user gave it, None for the server's default on a volume of that size."""
    limit = default_cap(volume_bytes) if cap is None else cap
    return CapStatus(limit, used, round(used / limit, 4) if limit else 1.0, cap is not None)


def segment_statuses(
    segments: Iterable[HeldSegment], held_by: Sequence[Holder], cleaned: Container[int]
) -> list[SegmentStatus]:
    """Every log that is there, by id."""
    return [
        SegmentStatus(
            segment=held.segment,
            file=held.file,
            bytes=held.bytes,
            end=held.end if held.sidecar else None,
            done=held.finished,
            links=held.links,
            needed_by=[] if held.segment in cleaned else _names(held, held_by),
            cleaned=held.segment in cleaned,
        )
        for held in segments
        if held.log
    ]


def waiting_for(segments: Iterable[HeldSegment]) -> int | None:
    """The lowest unfinished segment with a sidecar, if a higher one has promised something."""
    promised = [held for held in segments if held.log and held.sidecar]
    first = next((held.segment for held in promised if not held.finished), None)
    if first is None or not any(held.segment > first and held.end > 0 for held in promised):
        return None
    return first


def clean_status(made: Decision, refused: str | None) -> CleanStatus:
    return CleanStatus(len(made.logs), made.freed, refused)


def consumer_statuses(look: ConsumerLook, segments: Sequence[HeldSegment], now: float) -> list[ConsumerStatus]:
    """One consumer on each node that it knows."""
    content = look.content
    return [
        ConsumerStatus(
            consumer=content.name,
            node=node,
            delivered=str(delivered(state).position),
            committed=str(state.offset.position),
            done=delivered(state).done,
            lag=lag(segments, delivered(state), now, content.moved),
            holds=_holds(content, node, segments),
            running=look.running,
            moved=content.moved,
            program=content.program,
            host=content.host,
            quarantined=look.quarantined.get(node, 0),
            lost=look.lost,
            pending=sorted(look.pending),
            away=look.away,
            waiting=list(look.waiting),
        )
        for node, state in sorted(content.nodes.items())
    ]


def delivered(state: NodeState) -> NodeOffset:
    """The last offset that was handed out, as far as the consumer file tells; the committed one if it tells nothing."""
    return state.ahead[-1].offset if state.ahead else state.offset


def lag(segments: Iterable[HeldSegment], at: NodeOffset, now: float, moved: float) -> Lag:
    """What sidecars promise beyond a position.

    The seconds run from when the oldest of it was published, or from the consumer's last move where that is earlier: a
    sidecar that is written over and over says only when it was written last.
    """
    promised = [held for held in segments if held.log and held.sidecar]
    waiting = [(rest, held.published) for held in promised if (rest := at.left(held.segment, held.end))]
    if not waiting:
        return Lag(0, 0, 0.0)
    since = min(moved or now, *(published for _, published in waiting))
    return Lag(sum(rest for rest, _ in waiting), len(waiting), round(max(0.0, now - since), 3))


def _names(held: HeldSegment, held_by: Iterable[Holder]) -> list[str]:
    return sorted({each.consumer for each in held_by if each.need(held) is not None})


def _holds(content: ConsumerFile, node: str, segments: Iterable[HeldSegment]) -> Amount:
    alone = msgspec.structs.replace(content, nodes={node: content.nodes[node]})
    held = [each for each in segments if each.log and any(one.need(each) for one in holders([alone]))]
    return Amount(len(held), sum(each.bytes for each in held))
