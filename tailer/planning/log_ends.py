"""Log ends of finished segments between the survey and the journal: what was found goes on record, and stands.

Decides nothing about where a log ends: that is `planning/reach.py`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailer.errors import LossError
from tailer.options.tail import TailOptions
from tailer.planning.reach import Reacher
from tailer.planning.sighting import COMPLETED, Closed
from tailer.planning.survey import Survey
from tailer.position import Position
from tailer.state.journal import Journal
from tailer.state.journal_records import AnyRecord, SegmentEndRecord


class LogEnds:
    """The ends of one run."""

    def __init__(self, journal: Journal, survey: Survey, reacher: Reacher, options: TailOptions) -> None:
        self._journal = journal
        self._survey = survey
        self._reacher = reacher
        self._options = options
        self._loaded = 0
        self._forgotten = 0
        self.judged: set[int] = set()
        """The segments that were judged anew by the last look."""
        self._grown: set[int] = set()

    def load(self) -> None:
        """Take over what came on record, and forget what the journal has forgotten.

        Of several records of one segment the last stands; what is relied on stays.
        """
        fresh = self._journal.segment_ends(self._options.consumer, after=self._loaded)
        self._loaded = self._journal.count
        closed = self._survey.closed
        for record in reversed(fresh):
            closed.setdefault(record.segment, Closed(record.end, record.published))
        if (lowest := self._journal.base.segment) > self._forgotten:
            self._forgotten = lowest
            for segment in [segment for segment in closed if segment < lowest]:
                del closed[segment]

    def record(self, others: Sequence[AnyRecord] = ()) -> None:
        """Journal the ends and the losses that were found since the last call; with other records, all at once."""
        consumer = self._options.consumer
        found = list(others)
        for segment in self._reacher.closed:
            closed = self._survey.closed[segment]
            how = self._survey.sighting(segment).finished or COMPLETED
            chosen = how in ("stopped", "quiet") or self._options.accept_loss
            whose = consumer if chosen else None
            end = SegmentEndRecord(
                segment=segment, published=closed.published, end=closed.end, finished=how, consumer=whose
            )
            if chosen and consumer is None:
                self._journal.keep(end)
            else:
                found.append(end)
        if found:
            self._journal.append(found)
        self._reacher.closed.clear()
        for lost in self._reacher.losses:
            self._journal.append_loss(consumer, lost, Position(lost.segment + 1, 0))
        self._reacher.losses.clear()

    def check_growth(self) -> None:
        """LossError where a segment went on behind the end that it was read to."""
        self.judged = self._survey.take_judged()
        self._grown |= self.judged
        for segment in sorted(self._grown):
            closed, known = self._survey.closed.get(segment), self._survey.sighting(segment)
            if closed is not None and known.published > max(closed.end, closed.published):
                # It stays among them: whoever looks again is to be told again.
                raise LossError(
                    "a segment that was read to its end has grown since",
                    at=Position(segment, closed.end),
                    file=self._survey.log_name(segment),
                    expected=f"the log's end at {closed.end}",
                    found=f"a sidecar that says {known.published}",
                    remedy="It was taken for finished (--stopped, --assume-finished-after) while it was still written.",
                )
            self._grown.discard(segment)
