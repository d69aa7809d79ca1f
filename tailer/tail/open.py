"""Builds the parts of a tail from its options, and the tail from its parts. Where everything of a follower meets."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Final, NamedTuple

from tailer.archive.find import Found, find_archived
from tailer.archive.kept import KeptSegments
from tailer.definitions.learning import Definitions
from tailer.definitions.outside import OutsideSources
from tailer.definitions.peers import Peers
from tailer.definitions.placement import Placement
from tailer.errors import UsageError
from tailer.limits import SETTLE_SECONDS
from tailer.options.tail import PeerPlace, TailOptions, of_node
from tailer.planning.batch_tasks import BatchTasks
from tailer.planning.learnt import LearntSegments
from tailer.planning.learnt_journal import LearntJournal
from tailer.planning.log_ends import LogEnds
from tailer.planning.reach import Reacher
from tailer.planning.sidecar_times import SidecarTimes
from tailer.planning.survey import Survey
from tailer.reading.reader import Reader
from tailer.schema.masks import Masks
from tailer.schema.typed import TypedTable
from tailer.segments.archived import NOTHING_ARCHIVED
from tailer.segments.mask_key import MaskKey
from tailer.state.cleaned import Cleaned
from tailer.state.consumers import LOCK_SECONDS
from tailer.state.holds import Hold
from tailer.state.home import HeldConsumer, Home, KeepsAside
from tailer.state.journal import Journal
from tailer.state.log_folder import state_folder
from tailer.state.node_log import NodeLog
from tailer.tail.faults import Faults
from tailer.tail.masked import check_masks
from tailer.tail.node_log import node_log
from tailer.tail.older import Older
from tailer.tail.parts import TailParts
from tailer.tail.tail import Tail
from tailer.tail.taken import Taken

LEFT_SECONDS: Final = 60.0
"""A server that was decommissioned leaves its last segment unfinished. One that writes syncs every ten seconds."""


class _Clocks(NamedTuple):
    """`since`: seconds, monotonic; `wall`: seconds since the epoch."""

    since: Callable[[], float]
    wall: Callable[[], float]


def open_tail(
    log: NodeLog,
    options: TailOptions,
    *,
    writes: bool = True,
    typed: TypedTable | None = None,
    hold: Hold | None = None,
) -> Tail:
    """A tail of one node's log, to be entered: it stands nowhere before. See `tail_parts` and `Tail`."""
    return tail_of(tail_parts(log, options, writes=writes, hold=hold), typed)


def tail_of(parts: TailParts, typed: TypedTable | None = None) -> Tail:
    """A tail of these parts, which are closed where it cannot be made."""
    with ExitStack() as undo:
        undo.callback(parts.close)
        tail = Tail(parts, typed)
        undo.pop_all()
    return tail


def hold_of(log: NodeLog, options: TailOptions, name: str, *, stays: bool = False) -> Hold:
    """The hold of a batch read, in the log's own state, where `clean` looks (see `Hold`)."""
    return Hold(log.home.holds(), options.node, options.program, options.hold_seconds, name, stays=stays)


def tail_parts(
    log: NodeLog,
    options: TailOptions,
    *,
    writes: bool = True,
    hold: Hold | None = None,
    lock_seconds: float = LOCK_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    wall: Callable[[], float] | None = None,
) -> TailParts:
    """What a tail is made of.

    `writes`: keep a journal (and the consumer's position) in the state; without, everything learnt is forgotten.
    `hold`: taken where reading begins, let go when the tail is closed. `lock_seconds`: how long to wait for the
    consumer's lock. `wall`: seconds since the epoch, by default those that the log's files go by. The log is the tail's
    to close.
    """
    options = of_node(options)
    consumer = None
    try:
        if writes:
            log.home.make()
        # Before anybody has opened the journal: a new state may become that of the log which the archive has.
        found = _archived(log, options, writes)
        consumer = log.home.consumer(options.consumer, lock_seconds) if options.consumer and writes else None
        clocks = _Clocks(clock, wall or log.source.now)
        return _parts(log, options, consumer, hold, writes, clocks, found)
    except BaseException:
        # Who mends what was refused may try again in this process.
        if consumer is not None:
            consumer.close()
        log.source.close()
        raise


def _parts(
    log: NodeLog,
    options: TailOptions,
    consumer: HeldConsumer | None,
    hold: Hold | None,
    writes: bool,
    clocks: _Clocks,
    found: Found,
) -> TailParts:
    journal = consumer.journal if consumer is not None else log.home.journal(writable=writes)
    masks, key = _masks(journal, consumer, options)
    definitions = _definitions(journal, options, clocks.wall)
    cleaned = log.home.cleaned()
    survey = _survey(log, options, cleaned, clocks.wall, found)
    reacher, learnt = _reaching(survey, definitions, options, clocks.since)
    outside = OutsideSources(options, definitions, clocks.since, _peers(options), clocks.wall)
    return TailParts(
        source=log.source,
        options=options,
        consumer=consumer,
        journal=journal,
        definitions=definitions,
        outside=outside,
        placement=Placement(options, journal, clocks.since),
        survey=survey,
        reacher=reacher,
        log_ends=LogEnds(journal, survey, reacher, options),
        times=SidecarTimes(journal, survey, clocks.wall),
        learnt=LearntJournal(journal, definitions, survey, learnt),
        batches=BatchTasks(options.node, journal, options.consumer, survey.file),
        reader=Reader(key),
        own_masks=masks,
        faults=Faults(options, journal, _aside(log, options, writes), survey, outside),
        cleaned=cleaned,
        taken=Taken(cleaned, options.consumer, _holds_in(log, consumer)),
        older=Older(found.segments, journal, cleaned, survey, found.notice),
        hold=hold,
        notices=log.home.notices() if consumer is not None or log.folder is None else [],
        wall=clocks.wall,
    )


def _peers(options: TailOptions) -> Peers | None:
    """The other nodes whose logs show what this one's lacks."""
    if not options.peers:
        return None

    def opens(peer: PeerPlace) -> Callable[[], NodeLog]:
        theirs = replace(options, node=peer.name, state=peer.state, consumer=None)
        return lambda: node_log(peer.place, theirs)

    return Peers([(peer.name, opens(peer)) for peer in options.peers], options.keys())


def _masks(journal: Journal, consumer: HeldConsumer | None, options: TailOptions) -> tuple[Masks, MaskKey | None]:
    """The masks of this run and their key. RefusedError where its consumer cannot go on with them."""
    masks, key = options.masks_and_key()
    if consumer is not None:
        check_masks(journal, consumer, options.node, masks)
    return masks, key


def _aside(log: NodeLog, options: TailOptions, writes: bool) -> KeepsAside:
    return log.home.quarantine(options.consumer, options.node, options.selection.tables, writes=writes)


def _holds_in(log: NodeLog, consumer: HeldConsumer | None) -> Home | None:
    """A consumer of the log's own state holds segments, one of a private state does not."""
    return log.home if consumer is not None and log.home.shared else None


def _archived(log: NodeLog, options: TailOptions, writes: bool) -> Found:
    if options.kept and log.folder is not None:
        return Found(KeptSegments(log.folder, log.home.cleaned().refresh))
    if options.archive is None:
        return Found(None)
    if log.folder is None:
        raise UsageError(
            "an archive is read beside a log folder of this machine",
            file=log.where,
            remedy="Leave --archive out, or run this where the folder is.",
        )
    own = state_folder(log.folder, options.state)
    return find_archived(options.archive, state_folder(log.folder), own, writes=writes)


def _definitions(journal: Journal, options: TailOptions, wall: Callable[[], float]) -> Definitions:
    return Definitions(
        journal,
        options.selection,
        tolerant=options.quarantine,
        schema_rows=options.schema_changes,
        consumer=options.consumer,
        wall=wall,
    )


def _survey(log: NodeLog, options: TailOptions, cleaned: Cleaned, wall: Callable[[], float], found: Found) -> Survey:
    return Survey(
        log.source,
        keys=options.keys(),
        stopped=options.stopped,
        quiet_seconds=options.assume_finished_after,
        cleaned=cleaned.refresh,
        clock=wall,
        archived=found.segments or NOTHING_ARCHIVED,
        left_seconds=LEFT_SECONDS if options.left else float("inf"),
    )


def _learnt(definitions: Definitions, options: TailOptions) -> LearntSegments:
    only_captured = options.selection.only_captured(options.schema_changes)
    return LearntSegments(heads_left_out=only_captured, late=definitions.history.late)


def _reaching(
    survey: Survey, definitions: Definitions, options: TailOptions, clock: Callable[[], float]
) -> tuple[Reacher, LearntSegments]:
    learnt = _learnt(definitions, options)
    return _reacher(survey, definitions, learnt, options, clock), learnt


def _reacher(
    survey: Survey,
    definitions: Definitions,
    learnt: LearntSegments,
    options: TailOptions,
    clock: Callable[[], float],
) -> Reacher:
    return Reacher(
        survey,
        definitions.collect,
        pass_over=definitions.pass_over,
        learnt=learnt,
        visible_within=SETTLE_SECONDS if options.settle_seconds is None else options.settle_seconds,
        quarantine=options.quarantine,
        accept_loss=options.accept_loss,
        only_captured=learnt.heads_left_out,
        is_newest=definitions.is_newest,
        clock=clock,
    )
