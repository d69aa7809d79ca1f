"""The edge of retention: looks at a folder and its state, and takes away what `needed.py` says may go.

The ids are recorded, durably, before the first log goes; then each log, then its sidecar, then the folder is synced.
Killed anywhere and run again, the rest goes. Knows no command line.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from tailer.errors import RefusedError, UsageError
from tailer.on_disk import sync_folder
from tailer.planning.sighting import COMPLETED, Closed
from tailer.planning.survey import Survey
from tailer.retention.archive import Seen, archive, unchanged
from tailer.retention.forget import Floor, floor_of, wanted
from tailer.retention.forget_dropped import forget_dropped
from tailer.retention.forget_memory import FORGET_AFTER_SECONDS, amount, forgotten_below, holes_of, put_together
from tailer.retention.needed import (
    AGES,
    NO_LIMITS,
    Ages,
    Decision,
    HeldSegment,
    Holder,
    Limits,
    batch_reads,
    decide,
    holders,
)
from tailer.retention.rights import check_rights
from tailer.retention.status import default_cap
from tailer.segments.folder import DROPPED, Listing
from tailer.segments.log_folder import NAME, probably
from tailer.segments.looks import look
from tailer.segments.source import FolderSource
from tailer.state.cleaned import CleanedFile, read_cleaned, write_cleaned
from tailer.state.consumers import ConsumerFile, consumer_names
from tailer.state.folder_journal import FolderJournal
from tailer.state.holds import HoldFile, drop_ended, read_holds
from tailer.state.ids import NO_IDS, Ids
from tailer.state.journal import Journal
from tailer.state.journal_records import AnyRecord, SegmentEndRecord
from tailer.state.lock import state_lock
from tailer.state.log_folder import log_state, state_folder
from tailer.state.modes import make_folder
from tailer.state.offset import NodeOffset
from tailer.state.remembered import registered
from tailer.stores.store import Store
from tailer.system_errors import told

FORGOTTEN_AT_LEAST: Final = 200
"""Records of the journal that must have become needless before it is compacted: a run each minute rewrites nothing."""

LOCK_SECONDS: Final = 10.0
"""How long a run waits for another one, or for a consumer that starts."""

NOT_CAPTURED: Final = "no sidecar was ever in this folder"


@dataclass(frozen=True, slots=True)
class CleanOptions:
    """What a user asks of a run. `no_consumers`: clean though nobody is registered. `stopped`: nobody writes here.

    `forget_after`: seconds after which ids that were cleaned or never there need not be remembered any more. `cap`:
    what there is room for, if it is not a server's default. `archive`: what goes is put there first.
    """

    limits: Limits = NO_LIMITS
    no_consumers: bool = False
    stopped: bool = False
    dry_run: bool = False
    forget_after: float = FORGET_AFTER_SECONDS
    cap: int | None = None
    archive: Store | None = None


ALL_THAT_MAY_GO: Final = CleanOptions()


def clean(
    folder: Path,
    options: CleanOptions = ALL_THAT_MAY_GO,
    *,
    ages: Ages = AGES,
    clock: Callable[[], float] = time.time,
    lock_seconds: float = LOCK_SECONDS,
) -> Decision:
    """One run: what it took away (a dry run: would take). RefusedError without a consumer, or one not understood.

    UsageError where nothing shows that a log is kept in the folder: what is deleted there may be a server's own.
    """
    state = log_state(folder)
    captures_nothing = _captures_nothing(folder, state)
    if not options.no_consumers:
        _refuse_without_consumers(folder, consumer_names(state))
    if captures_nothing:
        return Decision(notices=[f"{NOT_CAPTURED}: nothing was captured yet, and nothing is deleted"])
    archived: dict[int, Seen] | None = None
    if not options.dry_run:
        check_rights(folder, state)
        if options.archive is not None:
            # Without the lock: an upload takes long, and consumers start meanwhile. Under it all is asked again.
            now = _judge(folder, state, options, ages, clock)
            archived = archive(folder, options.archive, now.journal, now.made.logs, now.record.segments)
    with contextlib.nullcontext() if options.dry_run else state_lock(state, lock_seconds):
        now = _judge(folder, state, options, ages, clock)
        made = now.made
        if archived is not None:
            _leave_out(made, unchanged(folder, archived))
        if not options.dry_run:
            held = [each.segment for each in now.holds]
            floor = floor_now(folder, now.known, held, now.journal)
            below = _forgotten(now.record, now.known, floor, clock(), options.forget_after)
            _record(state, now.record, made, now.known, below)
            _take_away(folder, made)
            _forget(folder, state, below, held)
            drop_ended(state, clock())
    return made


class _Now(NamedTuple):
    """What the state says at one moment, and what may go by it."""

    journal: Journal
    known: Sequence[ConsumerFile]
    record: CleanedFile
    holds: Sequence[HoldFile]
    made: Decision


def _judge(folder: Path, state: Path, options: CleanOptions, ages: Ages, clock: Callable[[], float]) -> _Now:
    journal = FolderJournal(state, writable=False)
    known = registered(state, journal)
    if not options.no_consumers:
        _refuse_without_consumers(folder, [each.name for each in known])
    record = read_cleaned(state)
    holds = read_holds(state, clock())
    held_by = [*holders(known, record.forgotten), *batch_reads(holds)]
    return _Now(journal, known, record, holds, look_and_decide(folder, held_by, record, options, ages, clock))


def _leave_out(made: Decision, archived: Container[int]) -> None:
    """What is not in the archive as it is now goes another time."""
    left = [held for held in made.logs if held.segment not in archived]
    made.logs = [held for held in made.logs if held.segment in archived]
    made.left += sum(held.bytes for held in left)
    for held in left:
        made.lost.pop(held.segment, None)


def floor_now(folder: Path, consumers: Iterable[ConsumerFile], held: Iterable[int], journal: Journal) -> Floor:
    """What everybody is behind now. `held`: from where on batch reads hold.

    Nobody is behind anything where the folder is empty: its file system may not be mounted.
    """
    listing = look(folder)
    present = {*listing.logs, *listing.sidecars}
    return floor_of(consumers, present, journal.count, held) if present else Floor(0, 0)


def _forgotten(record: CleanedFile, known: Sequence[ConsumerFile], floor: Floor, now: float, after: float) -> int:
    held = [record.segments, record.bare, *holes_of(known)]
    return forgotten_below(held, record.forgotten, floor.segment, now, after)


def _forget(folder: Path, state: Path, below: int, held: Sequence[int]) -> None:
    """Leave out of the journal what nobody needs any more, where that is worth writing it anew.

    `held`: from where on batch reads hold.

    Consumers are asked once more, and under the lock under which they register: those that moved are further now.
    """
    read = FolderJournal(state, writable=False)
    known = registered(state, read)
    floor = floor_now(folder, known, held, read)

    def left(records: Sequence[AnyRecord]) -> Sequence[AnyRecord]:
        return put_together(wanted(records, floor), known, below)

    records = read.read()
    needless = amount(records) - amount(left(records))
    if needless >= FORGOTTEN_AT_LEAST and floor.segment >= read.base.segment:
        FolderJournal(state).compact(floor.segment, left)
    # A drop leaves what its consumer said while that is little, or while something else of the consumer is left.
    forget_dropped(state)


def look_and_decide(
    folder: Path,
    held_by: Sequence[Holder],
    record: CleanedFile,
    options: CleanOptions,
    ages: Ages = AGES,
    clock: Callable[[], float] = time.time,
) -> Decision:
    """What a run would take away now. Changes nothing."""
    ends = FolderJournal(state_folder(folder), writable=False).segment_ends(None)
    segments, notices = held_segments(folder, ends, options.stopped, clock)
    other = max(0, folder_bytes(folder) - sum(held.bytes for held in segments))
    made = decide(segments, held_by, record, clock(), limits=options.limits, ages=ages, other_bytes=other)
    made.notices += notices
    made.cap = _cap(folder, segments) if options.cap is None else options.cap
    return made


def _cap(folder: Path, segments: Iterable[HeldSegment]) -> int | None:
    """A server's default; None for a service's own log, which has no other than it was given."""
    if any(held.restart is not None for held in segments) or (folder / DROPPED).exists():
        return None
    volume = os.statvfs(folder)
    return default_cap(volume.f_blocks * volume.f_frsize)


class HeldSegments(NamedTuple):
    """The segments of a folder as retention sees them. `notices`: about what only has the name of one."""

    segments: list[HeldSegment]
    notices: list[str]


def held_segments(
    folder: Path,
    ends: Iterable[SegmentEndRecord] = (),
    stopped: bool = False,
    clock: Callable[[], float] = time.time,
) -> HeldSegments:
    """Every segment of the folder, also those that were cleaned and have come back.

    `ends`: the log ends on record that hold for everybody; whoever saw a segment finished, it stays so. One whose log
    or sidecar is no regular file is left out: what it holds cannot be told.
    """
    with contextlib.closing(Survey(FolderSource(folder), stopped=stopped, clock=clock)) as survey:
        survey.closed.update({record.segment: Closed(record.end, record.published) for record in ends})
        survey.look(NodeOffset())
        listing = look(folder)
        finished = {segment for segment in listing.logs if survey.sighting(segment).finished is not None}
    return HeldSegments(list(_held(folder, listing, finished)), listing.notices())


def folder_bytes(folder: Path) -> int:
    """Every byte in the folder, as the server counts it against its limit."""
    total = 0
    with os.scandir(folder) as found:
        for file in found:
            with contextlib.suppress(FileNotFoundError):
                total += file.stat(follow_symlinks=False).st_size
    return total


def _held(folder: Path, listing: Listing, finished: set[int]) -> Iterator[HeldSegment]:
    for segment in sorted({*listing.logs, *listing.sidecars} - listing.odd):
        log, sidecar = listing.logs.get(segment), listing.sidecars.get(segment)
        size = 0
        if sidecar is not None:
            with contextlib.suppress(FileNotFoundError):
                size = (folder / sidecar.name.sidecar).stat().st_size
        content = sidecar.content if sidecar is not None else None
        modified = sidecar.modified if sidecar is not None else 0.0
        files = [log.name.log] if log is not None else [sidecar.name.sidecar] if sidecar is not None else [""]
        yield HeldSegment(
            segment=segment,
            log=log is not None,
            sidecar=sidecar is not None,
            finished=segment in finished,
            links=log.links if log is not None else 0,
            bytes=size + (log.size if log is not None else 0),
            changed=log.changed if log is not None else modified,
            written=log.modified if log is not None else modified,
            restart=content.restart if content is not None else None,
            file=files[0],
            end=content.end if content is not None else 0,
            published=modified,
        )


def was_captured(sidecars: bool, record: CleanedFile, ends: Iterable[SegmentEndRecord]) -> bool:
    """Whether a folder's segments have a sidecar, or any there ever was had one, as far as the state tells."""
    return sidecars or bool(record.segments) or any(end.finished == COMPLETED for end in ends)


def _captures_nothing(folder: Path, state: Path) -> bool:
    """Whether it is a node's folder in which nothing was captured yet: its segments have no sidecar, and never had one.

    UsageError where it may be any folder: it has another name, and no consumer has ever been registered for it.
    """
    there = look(folder)
    ends = FolderJournal(state, writable=False).segment_ends(None)
    if not there.logs or was_captured(bool(there.sidecars), read_cleaned(state), ends):
        return False
    if NAME in (folder.name, Path(os.path.realpath(folder)).name) or consumer_names(state):
        return True
    raise UsageError(
        f"{NOT_CAPTURED}: nothing is cleaned here",
        file=str(folder),
        expected="a sidecar (CommitLog-…_cdc.idx), now or before",
        found=f"{len(there.logs)} segments alone",
        remedy=probably(folder) or "If this is the right folder nothing was captured yet, and nothing has to go.",
    )


def _refuse_without_consumers(folder: Path, names: Sequence[str]) -> None:
    if names:
        return
    raise RefusedError(
        "no consumer is registered: nothing tells what is still needed",
        file=str(folder),
        remedy="Start one (`follow --consumer NAME`, a Spark query), or give --no-consumers to free what is finished.",
    )


def _record(state: Path, record: CleanedFile, made: Decision, known: Sequence[ConsumerFile], below: int) -> None:
    """Write down what goes before it goes. Losses that a consumer stands behind, or has accepted, are forgotten.

    So are ids below `below`.
    """
    captured = [held.segment for held in made.logs if held.sidecar]
    bare = [held.segment for held in made.logs if not held.sidecar]
    lost: dict[str, Ids] = {}
    for each in known:
        own = holders([each])
        before = [seg for seg in record.lost.get(each.name, NO_IDS) if not all(one.past(seg) for one in own)]
        new = [segment for segment, losers in made.lost.items() if each.name in losers]
        if before or new:
            lost[each.name] = Ids.of([*before, *new])
    segments = record.segments.from_id(below).with_ids(captured)
    bares = record.bare.from_id(below).with_ids(bare)
    after = CleanedFile(v=record.v, segments=segments, bare=bares, lost=lost, forgotten=below)
    if after != record:
        make_folder(state)
        write_cleaned(state, after)


def _take_away(folder: Path, made: Decision) -> None:
    names = look(folder)
    for held in (*made.logs, *made.sidecars):
        log, sidecar = names.logs.get(held.segment), names.sidecars.get(held.segment)
        # A sidecar whose log has come meanwhile is none without a log any more.
        if not held.log and log is not None:
            continue
        if log is not None:
            _unlink(folder / log.name.log)
        if sidecar is not None:
            _unlink(folder / sidecar.name.sidecar)
    if made.logs or made.sidecars:
        sync_folder(folder)


def _unlink(path: Path) -> None:
    with told("cannot delete the segment", path, writes=True):
        path.unlink(missing_ok=True)
