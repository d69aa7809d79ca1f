"""Segments that a reader takes from elsewhere than the folder: what it needs of them besides their bytes."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Protocol

from tailer.segments.archived import Archived
from tailer.state.journal_records import AnyRecord


class OlderSegments(Archived, Protocol):
    """Of one log; see `segments.archived.Archived`. Nothing before `begin`."""

    @property
    def identity(self) -> str:
        """The id of the state whose journal `take_records` gives from."""
        ...

    @property
    def broken(self) -> Set[int]:
        """Ids of what is damaged, and so not there."""
        ...

    @property
    def previous(self) -> Mapping[int, int]:
        """Of a service's own log which segment came before which, 0 for the log's first."""
        ...

    def begin(self, first: int) -> None:
        """A reader may come to segments from `first` on."""
        ...

    def take_records(self) -> list[AnyRecord]:
        """What the journal knew of these segments, and may have forgotten since: once."""
        ...

    def take_notices(self) -> list[str]: ...

    def missing(self, segment: int) -> str:
        """Why one that was once there is not, in words."""
        ...
