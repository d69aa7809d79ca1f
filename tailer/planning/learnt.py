"""How far each segment was searched for definitions, by this run or by others: nobody needs to walk that again.

A section that was collected counts as searched. Reads no segment, knows no definition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from tailer.planning.survey import FEW_SIGHTINGS
from tailer.state.learnt import RULES, Learnt


class LearntSegments:
    """Of one run. `heads_left_out`: it has no need of what others have left out before a segment's captured records.

    `late`: whether something that a segment says counts behind it only, for runs that have passed it. Whoever reads it
    in order must meet that where it stands.
    """

    def __init__(self, *, heads_left_out: bool = False, late: Callable[[int], object] = lambda segment: False) -> None:
        self.heads_left_out = heads_left_out
        self._late = late
        self._learnt: dict[int, Learnt] = {}
        self._beside: Learnt | None = None
        self._most = FEW_SIGHTINGS
        self.advanced: set[int] = set()
        """Segments that were searched further, until who keeps records of that takes them out."""

    def __len__(self) -> int:
        return len(self._learnt)

    def of(self, segment: int) -> Learnt | None:
        """How far a segment was searched; None where that must be done from its beginning."""
        return self._learnt.get(segment)

    def is_known(self, segment: int, start: int, end: int) -> bool:
        """Whether nothing new can be found in these sections."""
        learnt = self._learnt.get(segment)
        return learnt is not None and learnt.begin <= start and end <= learnt.end and not self._late(segment)

    def edge(self, segment: int, offset: int) -> tuple[int, int] | None:
        """The last section edge at or before an offset, logical and in the file, of those that are known here."""
        known = (each for each in (self._learnt.get(segment), self._beside) if each is not None)
        edges = [(each.end, each.at) for each in known if each.segment == segment and each.end <= offset]
        return max(edges, default=None)

    def take(self, learnt: Learnt) -> None:
        """What was kept beside a position, from where reading goes on."""
        self._beside = learnt
        self.note(learnt)

    def note(self, learnt: Learnt) -> None:
        """A segment was searched further, or somebody has done so."""
        before = self._learnt.get(learnt.segment)
        usable = learnt.rules == RULES and (learnt.begin == 0 or self.heads_left_out)
        if usable and (before is None or before.end < learnt.end):
            self._learnt[learnt.segment] = learnt
            self.advanced.add(learnt.segment)

    def forget_gone(self, there: Callable[[], Iterable[int]]) -> Collection[int] | None:
        """Forget segments that are gone, once there may be many: nobody searches them again. Gives those left."""
        if len(self._learnt) <= self._most:
            return None
        left = set(there())
        self._learnt = {segment: learnt for segment, learnt in self._learnt.items() if segment in left}
        self.advanced &= left
        self._most = 2 * max(len(self._learnt), FEW_SIGHTINGS)
        return left
