"""Builds the parts of a tail from its options, and the tail from its parts. Where everything of a follower meets."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tailer.definitions.learning import Definitions
from tailer.definitions.outside import OutsideSources
from tailer.limits import SETTLE_SECONDS
from tailer.options.tail import TailOptions
from tailer.planning.batch_tasks import BatchTasks
from tailer.planning.learnt import LearntSegments
from tailer.planning.learnt_journal import LearntJournal
from tailer.planning.log_ends import LogEnds
from tailer.planning.reach import Reacher
from tailer.planning.survey import Survey
from tailer.reading.reader import Reader
from tailer.schema.typed import TypedTable
from tailer.state.cleaned import Cleaned
from tailer.state.consumer import Consumer
from tailer.state.consumers import LOCK_SECONDS
from tailer.state.holds import Hold
from tailer.state.journal import Journal
from tailer.state.log_folder import log_state, state_folder
from tailer.state.modes import make_folder
from tailer.state.quarantine import Quarantine
from tailer.tail.faults import Faults
from tailer.tail.parts import TailParts
from tailer.tail.tail import Tail
from tailer.tail.taken import Taken


def open_tail(
    folder: Path,
    options: TailOptions,
    *,
    writes: bool = True,
    typed: TypedTable | None = None,
    hold: Hold | None = None,
) -> Tail:
    """A tail of one node's log folder, to be entered: it stands nowhere before. See `tail_parts` and `Tail`."""
    return Tail(tail_parts(folder, options, writes=writes, hold=hold), typed)


def hold_of(folder: Path, options: TailOptions, name: str, *, stays: bool = False) -> Hold:
    """The hold of a batch read, in the folder's own state, where `clean` looks (see `Hold`)."""
    state = state_folder(folder)
    return Hold(state, options.node, options.program, options.hold_seconds, name, stays=stays)


def tail_parts(
    folder: Path,
    options: TailOptions,
    *,
    writes: bool = True,
    hold: Hold | None = None,
    lock_seconds: float = LOCK_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    wall: Callable[[], float] = time.time,
) -> TailParts:
    """What a tail is made of.

    `writes`: keep a journal (and the consumer's position) in the state folder; without, everything learnt is forgotten.
    `hold`: taken where reading begins, let go when the tail is closed. `lock_seconds`: how long to wait for the
    consumer's lock.
    """
    state = _state(folder, options, writes)
    consumer = Consumer(state, options.consumer, lock_seconds) if options.consumer and writes else None
    try:
        return _parts(folder, options, state, consumer, hold, writes, clock, wall)
    except BaseException:
        # Who mends what was refused may try again in this process.
        if consumer is not None:
            consumer.close()
        raise


def _parts(
    folder: Path,
    options: TailOptions,
    state: Path,
    consumer: Consumer | None,
    hold: Hold | None,
    writes: bool,
    clock: Callable[[], float],
    wall: Callable[[], float],
) -> TailParts:
    journal = consumer.journal if consumer is not None else Journal(state, writable=writes)
    definitions = _definitions(journal, options)
    shared = state_folder(folder)
    cleaned = Cleaned(shared)
    survey = _survey(folder, options, cleaned, wall)
    learnt = _learnt(definitions, options)
    reacher = _reacher(survey, definitions, learnt, options, clock)
    outside = OutsideSources(options, definitions, clock)
    quarantine = Quarantine(state if writes else None, options.consumer, options.node, tables=options.selection.tables)
    return TailParts(
        folder=folder,
        options=options,
        consumer=consumer,
        journal=journal,
        definitions=definitions,
        outside=outside,
        survey=survey,
        reacher=reacher,
        log_ends=LogEnds(journal, survey, reacher, options),
        learnt=LearntJournal(journal, definitions, survey, learnt),
        batches=BatchTasks(options.node, journal, options.consumer, survey.file),
        reader=Reader(),
        faults=Faults(options, journal, quarantine, survey, outside),
        taken=Taken(cleaned, options.consumer, shared if consumer is not None and state == shared else None),
        hold=hold,
        wall=wall,
    )


def _state(folder: Path, options: TailOptions, writes: bool) -> Path:
    state = log_state(folder, options.state)
    if writes:
        make_folder(state)
    return state


def _definitions(journal: Journal, options: TailOptions) -> Definitions:
    return Definitions(journal, options.selection, tolerant=options.quarantine, schema_rows=options.schema_changes)


def _survey(folder: Path, options: TailOptions, cleaned: Cleaned, wall: Callable[[], float]) -> Survey:
    return Survey(
        folder,
        keys=options.keys(),
        stopped=options.stopped,
        quiet_seconds=options.assume_finished_after,
        cleaned=cleaned.refresh,
        clock=wall,
    )


def _learnt(definitions: Definitions, options: TailOptions) -> LearntSegments:
    only_captured = options.selection.only_captured(options.schema_changes)
    return LearntSegments(heads_left_out=only_captured, late=definitions.history.late)


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
