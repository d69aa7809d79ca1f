"""What a tail reads from elsewhere: segments that `clean` took away are there still, and what is not there is lost.

They are in an archive, or a service's writer keeps them.

The survey shows them (`segments/archived.py`); here is what else a reader needs of them: what the journal knew when
they were put away, and which of those that were once there nobody has any more. Plans nothing and reads no segment.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from tailer.archive.older_segments import OlderSegments
from tailer.errors import ACCEPT, CdcError, LossError
from tailer.planning.sighting import COMPLETED
from tailer.planning.survey import Survey
from tailer.state.cleaned import Cleaned
from tailer.state.ids import NO_IDS, Ids
from tailer.state.journal import Journal
from tailer.state.journal_records import LOG, AnyRecord, DefinitionRecord, SchemaRecord
from tailer.state.offset import Memory, NodeOffset


class Older:
    """Of one tail; without an archive nothing is older than the folder."""

    def __init__(
        self,
        archive: OlderSegments | None,
        journal: Journal,
        cleaned: Cleaned,
        survey: Survey,
        notice: str = "",
    ) -> None:
        self._archive = archive
        self._journal = journal
        self._cleaned = cleaned
        self._survey = survey
        self._notices = [notice] if notice else []
        self._known: tuple[int, int, int, int] = (0, 0, 0, 0)
        self._known_cleaned: object = None
        self._missing = self._gone = NO_IDS

    @property
    def previous(self) -> dict[int, int | None]:
        """The archived segments, and which one came before each; see `Manifest`."""
        archive = self._archive
        return {} if archive is None else {segment: archive.previous.get(segment) for segment in archive.logs}

    @property
    def any(self) -> bool:
        """Whether something is read from elsewhere than the folder."""
        return self._archive is not None and any(map(self._survey.archived, self._archive.logs))

    @property
    def bytes(self) -> int:
        """How much that is."""
        return 0 if self._archive is None else sum(log.size for log in self._archive.logs.values())

    def reaches(self, segment: int) -> bool:
        """Whether who reads a segment needs bytes that are archived: its own, or those of a transaction before it."""
        return self.any and (self._survey.archived(segment) or self._survey.dropped is not None)

    def begin(self, first: int) -> None:
        """Reading may come to segments from `first` on, at the next look."""
        if self._archive is not None:
            self._archive.begin(first)

    def journalled(self) -> bool:
        """Journal what was known of the segments that the last look showed first; whether that was anything."""
        records = [] if self._archive is None else self._archive.take_records()
        if self._archive is not None and self._archive.identity == self._journal.id:
            records = [record for record in records if self._may_be_forgotten(record)]
        if records:
            self._journal.append(records)
        return bool(records)

    def _may_be_forgotten(self, record: AnyRecord) -> bool:
        """Whether a record of this journal may be gone from it and count still.

        What a file or a server gave stays as long as it counts: where it is gone somebody took it back.
        """
        given = isinstance(record, SchemaRecord | DefinitionRecord) and record.source != LOG
        return not given and record.n not in self._journal.retracted

    def remembered(self, offset: NodeOffset, memory: Memory) -> Memory:
        """What was once there, and is neither in the folder nor archived, was seen: the planner tells that it is lost.

        What lay before the first archived segment is of a history that nobody promised.
        """
        self._gone = missing = self._now_missing().with_ids(self._first_gone(offset, memory))
        if not missing:
            return memory
        late = {segment for segment, _ in offset.p if segment in missing}
        ahead = late.union(missing.above(max(offset.s, memory.lost_below - 1)))
        new = {each for each in ahead if each >= memory.lost_below and each not in memory.seen}
        return msgspec.structs.replace(memory, seen=memory.seen.with_ids(new)) if new else memory

    def blame(self, error: CdcError | None) -> CdcError | None:
        """A loss says what the archive has to do with it."""
        if not isinstance(error, LossError) or error.at is None or error.at.segment not in self._gone:
            return error
        why = "" if self._archive is None else self._archive.missing(error.at.segment)
        return LossError(
            f"Changes are lost: {why}, and it is not in the folder any more; the first position not read is {error.at}",
            at=error.at,
            remedy=ACCEPT,
        )

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices if self._archive is None else [*notices, *self._archive.take_notices()]

    def _first_gone(self, offset: NodeOffset, memory: Memory) -> list[int]:
        """The segment that a run was to begin with, if it has come to none yet and that one is gone meanwhile."""
        first = memory.start
        if self._archive is None or offset.s >= first or self._survey.has_log(first):
            return []
        captured = first in self._cleaned.refresh().segments or first <= (self._survey.dropped or 0)
        return [first] if captured else []

    def _now_missing(self) -> Ids:
        archive = self._archive
        if archive is None or not (archive.logs or archive.broken):
            return NO_IDS
        logs, cleaned = archive.logs, self._cleaned.refresh()
        known = (len(logs), min(logs, default=0), max(logs, default=0), len(archive.broken))
        if known != self._known or cleaned is not self._known_cleaned:
            self._known, self._known_cleaned = known, cleaned
            self._missing = Ids.of(each for each in self._once_there(archive) if not self._survey.has_log(each))
        return self._missing

    def _once_there(self, archive: OlderSegments) -> Collection[int]:
        """Ids of segments that had captured changes, as far as anything tells, from the first archived one on."""
        first = min([*archive.logs, *archive.broken])
        bare = self._cleaned.refresh().bare
        ended = {end.segment for end in self._journal.segment_ends(None) if end.finished == COMPLETED}
        told = {*self._cleaned.unread(first), *ended, *archive.broken}
        told |= {before for before in archive.previous.values() if before and before not in bare}
        return sorted(each for each in told if each > first or each in archive.broken)
