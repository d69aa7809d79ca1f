"""When sections became durable, between the survey and the journal: seen at each look, on record now and then.

For who begins by a time (`named_positions.py`). Some hundred bytes a segment, whatever is written in it: few marks, and
of a segment that stays open a record after ten seconds, then after twenty, forty, and so on. Decides no row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from tailer.planning.survey import Survey
from tailer.state.journal import Journal
from tailer.state.journal_records import TimesRecord
from tailer.state.segment_times import SegmentTimes

WORTH_SECONDS: Final = 10.0
"""A segment that was written for less long is told as well by the time of its files."""


class KeptTimes:
    """What a journal says of segments."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._loaded = 0
        self._known: dict[int, SegmentTimes] = {}

    def load(self) -> None:
        """Take over what came on record, and forget what the journal has forgotten."""
        for record in self._journal.read(after=self._loaded):
            if isinstance(record, TimesRecord):
                self._known[record.segment] = self._known.get(record.segment, SegmentTimes()).merged(record.times)
        self._loaded = self._journal.count
        lowest = self._journal.base.segment
        for segment in [each for each in self._known if each < lowest]:
            del self._known[segment]

    def of(self, segment: int) -> SegmentTimes | None:
        """What is on record of one; None where nothing is."""
        return self._known.get(segment)


class SidecarTimes:
    """Of one run. `wall`: seconds since the epoch, the clock that file times are compared with."""

    def __init__(self, journal: Journal, survey: Survey, wall: Callable[[], float]) -> None:
        self.kept = KeptTimes(journal)
        self._journal = journal
        self._survey = survey
        self._wall = wall
        self._seen: dict[int, SegmentTimes] = {}
        self._due: dict[int, tuple[float, float]] = {}
        """Of a segment that is open when it is to go on record next, and how long to wait from then on."""

    def note(self, judged: Collection[int]) -> None:
        """The last look judged these segments anew."""
        for segment in judged if self._journal.writable else ():
            sighting = self._survey.sighting(segment)
            if not sighting.vouched or ((known := self.kept.of(segment)) is not None and known.done is not None):
                continue
            times = self._seen.get(segment)
            if sighting.number is None:
                self._seen[segment] = (times or SegmentTimes()).marked(sighting.end, sighting.vouched)
                self._due.setdefault(segment, (self._wall() + WORTH_SECONDS, WORTH_SECONDS))
            elif times is not None:
                # Of one that was finished before anybody looked its files tell as much.
                self._seen[segment] = times.finished(sighting.vouched)

    def news(self) -> Sequence[TimesRecord]:
        """What is to go on record, and counts as recorded from now on."""
        now, found = self._wall(), []
        for segment, times in list(self._seen.items()):
            if not self._survey.has_log(segment):
                del self._seen[segment], self._due[segment]
                continue
            at, wait = self._due[segment]
            if times.done is None and now < at:
                continue
            if times.span >= WORTH_SECONDS:
                known = self.kept.of(segment)
                whole = times if known is None else known.merged(times)
                if whole != known:
                    found.append(TimesRecord(segment=segment, times=whole))
                self._due[segment] = now + 2 * wait, 2 * wait
            if times.done is not None:
                del self._seen[segment], self._due[segment]
        return found
