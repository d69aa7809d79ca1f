"""What one look at a folder shows of its segments. Values only: who looks is `planning/survey.py`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SegmentView:
    """One segment as a look shows it. `end` is the highest durable end read from its sidecar so far, 0 if none.

    `log`: its bytes can be read. `sidecar`: there is one now, or was one. `orphan`: a sidecar without log at two looks.
    `finished`: why it cannot grow any more, None while it can. `closed`: the log end on record, None before.
    `lone`: without sidecar, given up by the server and old: nothing will come of it. `cleaned`: `clean` took it away.
    `published`: the highest end published in an orderly way, also beside COMPLETED.
    """

    segment: int
    log: bool
    sidecar: bool
    end: int = 0
    orphan: bool = False
    finished: str | None = None
    closed: int | None = None
    lone: bool = False
    cleaned: bool = False
    published: int = field(default=0, compare=False)

    @property
    def promised(self) -> bool:
        """A sidecar that could be read vouches for something in it."""
        return self.sidecar and self.end > 0


View = Mapping[int, SegmentView]


class Views(Mapping[int, SegmentView]):
    """A view that is kept from look to look, its ids in order."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._by_id: dict[int, SegmentView] = {}

    def put(self, seen: SegmentView) -> None:
        if seen.segment not in self._by_id:
            insort(self.ids, seen.segment)
        self._by_id[seen.segment] = seen

    def drop(self, segment: int) -> None:
        if self._by_id.pop(segment, None) is not None:
            del self.ids[bisect_left(self.ids, segment)]

    def __getitem__(self, segment: int) -> SegmentView:
        return self._by_id[segment]

    def __contains__(self, segment: object) -> bool:
        return segment in self._by_id

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


def ids_of(view: View) -> Sequence[int]:
    """The ids of a view, ascending; of one that is kept at no cost."""
    return view.ids if isinstance(view, Views) else sorted(view)


def ids_above(view: View, segment: int) -> Iterator[int]:
    """The ids of a view above one, ascending."""
    ids = ids_of(view)
    return (ids[number] for number in range(bisect_right(ids, segment), len(ids)))
