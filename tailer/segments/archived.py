"""What a look shows of segments beside those in the folder: finished ones that are kept elsewhere. Reads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from tailer.segments.folder import LogFile, SidecarFile


class Archived(Protocol):
    """Segments that are kept elsewhere, as a folder would show them: no more will come in any of them.

    One that is in the folder too is read there, unless it is on record as cleaned.
    """

    @property
    def logs(self) -> Mapping[int, LogFile]: ...

    @property
    def sidecars(self) -> Mapping[int, SidecarFile]: ...

    def look(self, *, again: bool) -> set[int]:
        """The ids of which something is different since the last call; `again`: something was cleaned meanwhile."""
        ...

    def tell_again(self) -> None:
        """The next look is to name all of them: what the last one said was lost."""
        ...

    def path(self, segment: int) -> Path:
        """Where a segment's log is kept, for people."""
        ...

    def descriptor(self, segment: int) -> int:
        """A segment's log to read from. FileNotFoundError where it turns out to be damaged: then it is not there."""
        ...


class NothingArchived:
    """The folder is all there is."""

    logs: Mapping[int, LogFile] = MappingProxyType({})
    sidecars: Mapping[int, SidecarFile] = MappingProxyType({})

    def look(self, *, again: bool) -> set[int]:
        return set()

    def tell_again(self) -> None: ...

    def path(self, segment: int) -> Path:
        raise FileNotFoundError(f"segment {segment} is not archived")

    def descriptor(self, segment: int) -> int:
        raise FileNotFoundError(f"segment {segment} is not archived")


NOTHING_ARCHIVED: Final[Archived] = NothingArchived()
