"""The parts of a tail, as `open.py` makes them. Values only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from tailer.definitions.bound_masks import BoundMasks
from tailer.definitions.learning import Definitions
from tailer.definitions.outside import OutsideSources
from tailer.definitions.placement import Placement
from tailer.options.tail import TailOptions
from tailer.planning.batch_tasks import BatchTasks, RowOptions
from tailer.planning.learnt_journal import LearntJournal
from tailer.planning.log_ends import LogEnds
from tailer.planning.reach import Reacher
from tailer.planning.sidecar_times import SidecarTimes
from tailer.planning.survey import Survey
from tailer.reading.reader import Reader
from tailer.schema.masks import Masks
from tailer.schema.typed import TypedTable
from tailer.segments.source import Source
from tailer.state.cleaned import Cleaned
from tailer.state.holds import Hold
from tailer.state.home import HeldConsumer
from tailer.state.journal import Journal
from tailer.tail.arrivals import Arrivals
from tailer.tail.faults import Faults
from tailer.tail.older import Older
from tailer.tail.taken import Taken


@dataclass(frozen=True, slots=True)
class TailParts:
    """`consumer`: whose position is kept; None keeps none. `hold`: of a batch read. `wall`: seconds since the epoch.

    `own_masks`: of its rows, with the fingerprint of the key that its reader has. `notices`: what there is to say at
    once.
    """

    source: Source
    options: TailOptions
    consumer: HeldConsumer | None
    journal: Journal
    definitions: Definitions
    outside: OutsideSources
    placement: Placement
    survey: Survey
    reacher: Reacher
    log_ends: LogEnds
    times: SidecarTimes
    learnt: LearntJournal
    batches: BatchTasks
    reader: Reader
    own_masks: Masks
    faults: Faults
    cleaned: Cleaned
    taken: Taken
    older: Older
    hold: Hold | None
    notices: Sequence[str]
    wall: Callable[[], float]
    bound: BoundMasks = field(init=False)
    arrivals: Arrivals = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", BoundMasks(self.definitions.history))
        arrivals = Arrivals(self.journal, self.options.consumer, self.survey, self.definitions)
        object.__setattr__(self, "arrivals", arrivals)

    @property
    def masks(self) -> Masks:
        """Those of the run, for each name that a masked table has or had by what is known now."""
        return self.bound.of(self.own_masks)

    def close(self) -> None:
        """Close the files that are open, give the consumer's name back, and end the way to the log."""
        with ExitStack() as ends:
            # The last: the consumer's file may be kept behind it.
            ends.callback(self.source.close)
            if self.consumer is not None:
                ends.callback(self.consumer.close)
            ends.callback(self.survey.close)

    def row_options(self, typed: TypedTable | None) -> RowOptions:
        """What shapes the rows of this run, in that typed form (None: in the generic one)."""
        options = self.options
        several = bool(options.peers) if options.one_of_several else None
        extras, odd_keys = self.placement.extras, options.odd_keys
        return RowOptions(
            options.selection.tables, options.schema_changes, typed, self.masks, extras, odd_keys, several
        )
