"""One look at a node for its page: what `cdc-tail status` tells, why entries are in quarantine, what the disk has free.

Reads files and writes none; takes as long as they take, so it is for a thread. Makes no text and knows no browser.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tailer.errors import CdcError
from tailer.node_page.facts import NodeFacts, NothingServed
from tailer.retention.clean import ALL_THAT_MAY_GO, CleanOptions
from tailer.retention.gather import observe
from tailer.retention.status import NodeStatus
from tailer.state.log_folder import log_state
from tailer.state.quarantine import kept_in, quarantine_path, quarantined_consumers
from tailer.system_errors import told


@dataclass(frozen=True)
class StatusSource:
    """Of which folder a page tells, and who serves it. `state`, `cap` and `options`: as `observe` has them."""

    folder: Path
    node: str = "local"
    state: Path | None = None
    cap: int | None = None
    options: CleanOptions = ALL_THAT_MAY_GO
    facts: NodeFacts = field(default_factory=NothingServed)


class KeptFor(NamedTuple):
    """Whose, on which node, with which exit code's reason. `consumer`: None for runs without one."""

    consumer: str | None
    node: str
    code: int


class Look(NamedTuple):
    """What was seen. `at`: seconds since the epoch; `cost`: processor seconds of it.

    `volume_free`: bytes that the folder's volume has for a user who is not root.
    """

    at: float
    cost: float
    status: NodeStatus
    quarantine: dict[KeptFor, int]
    problems: list[str]
    volume_free: int


class Looker:
    """Looks again and again; one thread at a time."""

    def __init__(self, source: StatusSource, clock: Callable[[], float] = time.time) -> None:
        self._source = source
        self._clock = clock
        self._counted: dict[Path, _Counted] = {}

    def look(self) -> Look:
        """CdcError where the folder cannot be looked at; FileNotFoundError where something goes at that moment."""
        source, began = self._source, time.thread_time()
        at = self._clock()
        with told("cannot look at the log folder", source.folder):
            status = observe(
                source.node,
                source.folder,
                state=source.state,
                cap=source.cap,
                options=source.options,
                clock=self._clock,
            )
            volume = os.statvfs(source.folder)
        problems = list(status.problems)
        quarantine = self._quarantine(log_state(source.folder, source.state), problems)
        free = volume.f_bavail * volume.f_frsize
        return Look(at, time.thread_time() - began, status, quarantine, problems, free)

    def _quarantine(self, state: Path, problems: list[str]) -> dict[KeptFor, int]:
        counted: dict[Path, _Counted] = {}
        try:
            for consumer in quarantined_consumers(state):
                path = quarantine_path(state, consumer)
                held, stamp = self._counted.get(path), _stamp(path)
                if held is None or held.stamp != stamp:
                    # What is in it does not change but for what is added: mostly this is done once.
                    held = _Counted(stamp, Counter(KeptFor(consumer, each.node, each.code) for each in kept_in(path)))
                counted[path] = held
        except CdcError as error:
            if (sentence := error.sentence()) not in problems:
                problems.append(sentence)
        self._counted = counted
        return {key: count for held in counted.values() for key, count in held.entries.items()}


class _Counted(NamedTuple):
    """What was counted in a file that looked so."""

    stamp: tuple[int, int, int] | None
    entries: Counter[KeptFor]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    with told("cannot read the quarantine", path):
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
    return status.st_ino, status.st_size, status.st_mtime_ns
