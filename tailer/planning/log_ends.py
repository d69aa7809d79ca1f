"""Log ends of finished segments between the survey and the journal: what was found goes on record, and stands.

Decides nothing about where a log ends: that is `planning/reach.py`'s.
"""

from __future__ import annotations

from tailer.errors import LossError
from tailer.options.tail import TailOptions
from tailer.planning.reach import Reacher
from tailer.planning.survey import Closed, Survey
from tailer.position import Position
from tailer.state.journal import Journal
from tailer.state.journal_records import SegmentEndRecord


class LogEnds:
    """The ends of one run."""

    def __init__(self, journal: Journal, survey: Survey, reacher: Reacher, options: TailOptions) -> None:
        self._journal = journal
        self._survey = survey
        self._reacher = reacher
        self._options = options

    def load(self) -> None:
        """Take over what is on record. Of several records of one segment the last stands; what is relied on stays."""
        for record in reversed(self._journal.segment_ends(self._options.consumer)):
            self._survey.closed.setdefault(record.segment, Closed(record.end, record.published))

    def record(self) -> None:
        """Journal the ends and the losses that were found since the last call."""
        consumer = self._options.consumer
        for segment in self._reacher.closed:
            closed = self._survey.closed[segment]
            how = self._survey.sighting(segment).finished or "completed"
            chosen = how in ("stopped", "quiet") or self._options.accept_loss
            if chosen and consumer is None:
                self._journal.keep(
                    SegmentEndRecord(segment=segment, published=closed.published, end=closed.end, finished=how)
                )
                continue
            whose = consumer if chosen else None
            self._journal.append_segment_end(segment, closed.end, closed.published, how, whose)
        self._reacher.closed.clear()
        for lost in self._reacher.losses:
            self._journal.append_loss(consumer, lost, Position(lost.segment + 1, 0))
        self._reacher.losses.clear()

    def check_growth(self) -> None:
        """LossError where a segment went on behind the end that it was read to."""
        for segment, closed in self._survey.closed.items():
            known = self._survey.sighting(segment)
            if known.published > max(closed.end, closed.published):
                raise LossError(
                    "a segment that was read to its end has grown since",
                    at=Position(segment, closed.end),
                    file=self._survey.log_name(segment),
                    expected=f"the log's end at {closed.end}",
                    found=f"a sidecar that says {known.published}",
                    remedy="It was taken for finished (--stopped, --assume-finished-after) while it was still written.",
                )
