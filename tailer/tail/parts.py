"""The parts of a tail, as `open.py` makes them. Values only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tailer.definitions.learning import Definitions
from tailer.definitions.outside import OutsideSources
from tailer.options.tail import TailOptions
from tailer.planning.batch_tasks import BatchTasks
from tailer.planning.learnt_journal import LearntJournal
from tailer.planning.log_ends import LogEnds
from tailer.planning.reach import Reacher
from tailer.planning.survey import Survey
from tailer.reading.reader import Reader
from tailer.state.consumer import Consumer
from tailer.state.holds import Hold
from tailer.state.journal import Journal
from tailer.tail.faults import Faults
from tailer.tail.taken import Taken


@dataclass(frozen=True, slots=True)
class TailParts:
    """`consumer`: whose position is kept; None keeps none. `hold`: of a batch read. `wall`: seconds since the epoch."""

    folder: Path
    options: TailOptions
    consumer: Consumer | None
    journal: Journal
    definitions: Definitions
    outside: OutsideSources
    survey: Survey
    reacher: Reacher
    log_ends: LogEnds
    learnt: LearntJournal
    batches: BatchTasks
    reader: Reader
    faults: Faults
    taken: Taken
    hold: Hold | None
    wall: Callable[[], float]
