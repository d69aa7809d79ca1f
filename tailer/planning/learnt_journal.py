"""What was searched for definitions, on record: what one run has learnt no later one walks again.

Behind the definitions that were found (`Definitions.learn_collected`), one record a segment; and beside a consumer's
position for the segment that it stands in. Reads no segment.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tailer.definitions.learning import Definitions
from tailer.planning.learnt import LearntSegments
from tailer.planning.survey import Survey
from tailer.state.journal import Journal
from tailer.state.journal_records import LearntRecord
from tailer.state.learnt import Learnt


class LearntJournal:
    """Between the segments that one run has searched and its journal."""

    def __init__(self, journal: Journal, definitions: Definitions, survey: Survey, segments: LearntSegments) -> None:
        self._journal = journal
        self._definitions = definitions
        self._survey = survey
        self._segments = segments
        self._recorded: dict[int, Learnt] = {}
        self._loaded = 0

    def load(self) -> None:
        """Take over what came on record; the definitions before it were taken over already."""
        for record in self._journal.read(after=self._loaded):
            if isinstance(record, LearntRecord) and record.of.says_more(self._recorded.get(record.of.segment)):
                self._recorded[record.of.segment] = record.of
                self._segments.note(record.of)
        self._loaded = self._journal.count

    def news(self, position: int) -> Sequence[LearntRecord]:
        """What is to go on record, and counts as recorded from now on.

        Of each segment that is finished, of the position's once it was read to its end; and once of one below the
        position, for it hardly grows any more.
        """
        if not self._journal.writable:
            return ()
        found = []
        for segment in sorted(self._segments.advanced):
            learnt, before = self._segments.of(segment), self._recorded.get(segment)
            if learnt is None or not learnt.says_more(before):
                self._segments.advanced.discard(segment)
                continue
            if not (self._is_finished(segment, position) or (segment < position and before is None)):
                continue
            self._segments.advanced.discard(segment)
            if self._is_settled(segment):
                self._recorded[segment] = learnt
                found.append(LearntRecord(of=learnt))
        return found

    def _is_finished(self, segment: int, position: int) -> bool:
        if segment == position:
            return segment in self._survey.closed
        return self._survey.sighting(segment).finished is not None

    def beside(self, segment: int, end: int) -> Learnt | None:
        """What may be kept beside a position in a segment; None where that was not searched up to there.

        Only what is durable: anything else may be lost, and something new come in its place.
        """
        learnt = self._segments.of(segment)
        if learnt is None or learnt.end < end or not self._is_settled(segment):
            return None
        sighting = self._survey.sighting(segment)
        if sighting.finished is None and sighting.end < learnt.end:
            return None
        return msgspec.structs.replace(learnt, j=self._journal.count)

    def take(self, learnt: Learnt | None) -> None:
        """What was kept beside a position."""
        if learnt is not None and learnt.j <= self._journal.count:
            self._segments.take(learnt)

    def _is_settled(self, segment: int) -> bool:
        """Whether everything that was found in it is in the journal, and counts for everybody from where it stands."""
        definitions = self._definitions
        if not definitions.settled or segment in definitions.left_out:
            return False
        return not definitions.history.late(segment)
