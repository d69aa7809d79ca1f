"""Gathers what `status.py` computes from: the folder, the consumers, the journal, the quarantine. Writes nothing.

A state file that cannot be read is a problem to tell of, not an end: this is what people look at in trouble.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tailer.errors import CdcError
from tailer.options.cassandra_yaml import ServerSettings
from tailer.retention.clean import (
    ALL_THAT_MAY_GO,
    NOT_CAPTURED,
    CleanOptions,
    folder_bytes,
    held_segments,
    was_captured,
)
from tailer.retention.forget import floor_of
from tailer.retention.needed import HeldSegment, batch_reads, decide, holders
from tailer.retention.status import (
    ConsumerLook,
    ConsumerStatus,
    NodeStatus,
    ReadStatus,
    ServerStatus,
    StateStatus,
    cap_status,
    clean_status,
    consumer_statuses,
    read_status,
    segment_statuses,
    waiting_for,
)
from tailer.state.cleaned import CleanedFile, read_cleaned
from tailer.state.consumers import (
    ConsumerFile,
    consumer_names,
    consumer_path,
    is_running,
    read_consumer,
    target_away,
)
from tailer.state.folder_journal import FolderJournal
from tailer.state.holds import HoldFile, read_holds
from tailer.state.ids import NO_IDS
from tailer.state.journal import Journal
from tailer.state.journal_records import LossRecord, SegmentEndRecord
from tailer.state.log_folder import log_state, state_folder
from tailer.state.quarantine import kept_in, quarantine_path
from tailer.state.remembered import recalled
from tailer.state.waiting import WaitingTable, waiting_of


class StateLook:
    """One state folder as it is now. `problems`: sentences about what in it cannot be read."""

    def __init__(self, state: Path, now: float) -> None:
        self.state = state
        self.problems: list[str] = []
        self.consumers: list[ConsumerFile] = []
        self.ends: list[SegmentEndRecord] = []
        self.losses: Counter[str | None] = Counter()
        self.journal: Journal | None = None
        try:
            # Before the consumers' files, which name its records: a compaction may come in between.
            self.journal = journal = FolderJournal(state, writable=False)
            self.ends = journal.segment_ends(None)
            self.losses.update(each.consumer for each in journal.read() if isinstance(each, LossRecord))
        except CdcError as error:
            self.problems.append(error.sentence())
        for name in consumer_names(state):
            try:
                self.consumers.append(read_consumer(consumer_path(state, name), name))
                if self.journal is not None:
                    self.consumers[-1] = recalled(self.consumers[-1], self.journal)
            except CdcError as error:
                self.problems.append(error.sentence())
        self.holds: list[HoldFile] = []
        try:
            self.holds = read_holds(state, now)
        except CdcError as error:
            self.problems.append(error.sentence())
        self.cleaned = CleanedFile()
        try:
            self.cleaned = read_cleaned(state)
        except CdcError as error:
            self.problems.append(error.sentence())

    def status(self, segments: list[HeldSegment]) -> StateStatus:
        """The folder's size, and how far it has forgotten and might."""
        journal = self.journal
        there = [*(held.segment for held in segments), *(held.segment for held in self.holds)]
        return StateStatus(
            folder=str(self.state),
            id=journal.id or None if journal is not None else None,
            bytes=_bytes_below(self.state),
            records=len(journal.read()) if journal is not None else 0,
            floor=journal.base.segment if journal is not None else 0,
            lowest=floor_of(self.consumers, there, 0).segment if there or self.consumers else None,
        )

    def statuses(self, segments: list[HeldSegment], now: float) -> list[ConsumerStatus]:
        """Every consumer on each of its nodes."""
        return [each for content in self.consumers for each in consumer_statuses(self._look(content), segments, now)]

    def _look(self, content: ConsumerFile) -> ConsumerLook:
        name, own = content.name, holders([content])
        taken = self.cleaned.lost.get(name, NO_IDS)
        pending = [segment for segment in taken if not all(each.past(segment) for each in own)]
        running = is_running(self.state, name)
        away = target_away(self.state, name)
        try:
            waiting = waiting_of(self.state, name)
        except CdcError as error:
            self.problems.append(error.sentence())
            waiting = list[WaitingTable]()
        return ConsumerLook(content, running, self._quarantined(name), self.losses[name], pending, away, waiting)

    def _quarantined(self, name: str) -> dict[str, int]:
        """Entries in a consumer's quarantine, by node."""
        try:
            return dict(Counter(each.node for each in kept_in(quarantine_path(self.state, name))))
        except CdcError as error:
            self.problems.append(error.sentence())
            return {}


def observe(
    node: str,
    folder: Path,
    *,
    state: Path | None = None,
    cap: int | None = None,
    settings: ServerSettings | None = None,
    options: CleanOptions = ALL_THAT_MAY_GO,
    clock: Callable[[], float] = time.time,
) -> NodeStatus:
    """One node as it is now. `state`: a private state folder whose consumers are shown; they hold nothing back.

    `settings`: its server's own, where they are known.
    """
    log_state(folder, state)
    now = clock()
    shared = StateLook(state_folder(folder), now)
    shown = shared if state is None else StateLook(state, now)
    segments, notices = held_segments(folder, shared.ends, options.stopped, clock)
    held_by = [*holders(shared.consumers, shared.cleaned.forgotten), *batch_reads(shared.holds)]
    used = folder_bytes(folder)
    other = max(0, used - sum(held.bytes for held in segments))
    made = decide(segments, held_by, shared.cleaned, now, limits=options.limits, other_bytes=other)
    volume = os.statvfs(folder)
    return NodeStatus(
        node=node,
        folder=str(folder),
        segments=segment_statuses(segments, held_by, shared.cleaned),
        bytes=used,
        waiting_for=waiting_for(segments),
        cap=cap_status(cap, used, volume.f_blocks * volume.f_frsize),
        clean=clean_status(made, _refusal(shared, segments, options)),
        state=shared.status(segments),
        consumers=shown.statuses(segments, now),
        reads=[read_status(each) for each in shared.holds],
        problems=shared.problems if shown is shared else [*shared.problems, *shown.problems],
        notices=notices,
        server=None if settings is None else _server(settings),
    )


def _server(settings: ServerSettings) -> ServerStatus:
    return ServerStatus(str(settings.file), settings.enabled, settings.sync, settings.delay)


def observe_consumers(
    folder: Path, state: Path | None = None, clock: Callable[[], float] = time.time
) -> tuple[list[ConsumerStatus], list[ReadStatus], list[str]]:
    """The consumers of a folder alone, the batch reads that hold segments, and sentences about what cannot be read."""
    now = clock()
    found = StateLook(log_state(folder, state), now)
    segments, _ = held_segments(folder, found.ends, clock=clock)
    return found.statuses(segments, now), [read_status(each) for each in found.holds], found.problems


def _bytes_below(folder: Path) -> int:
    """Of all files; one that goes meanwhile is left out."""
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            status = file.lstat()
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total


def _refusal(shared: StateLook, segments: Sequence[HeldSegment], options: CleanOptions) -> str | None:
    """Why `clean` would not run."""
    if shared.problems:
        return shared.problems[0]
    if segments and not was_captured(any(held.sidecar for held in segments), shared.cleaned, shared.ends):
        return NOT_CAPTURED
    return None if shared.consumers or options.no_consumers else "no consumer is registered"
