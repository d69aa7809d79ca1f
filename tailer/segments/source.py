"""Where the segments of one log are: looked at, opened, and waited for. A folder here; another node's is elsewhere.

Whoever reads a log goes through this. Judges nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from tailer.framing.name import SegmentName, parse_log_name
from tailer.segments.folder import Listing, LogFile, SidecarFile
from tailer.segments.looks import Looks, look
from tailer.segments.opened import Opened, OpenedFile
from tailer.segments.run_cache import RunCache
from tailer.segments.segment import KeySource, SegmentFile, no_keys
from tailer.segments.wake import Waker, open_waker


class LogLooks(Protocol):
    """Looks at one log, again and again, and what was seen last; see `Looks`, the folder's."""

    @property
    def logs(self) -> Mapping[int, LogFile]: ...

    @property
    def sidecars(self) -> Mapping[int, SidecarFile]: ...

    @property
    def unsettled(self) -> Collection[int]:
        """Ids of which something may be different at the next look."""
        ...

    @property
    def own(self) -> set[int]:
        """Ids whose sidecar is of a native log's grammar."""
        ...

    @property
    def listing(self) -> Listing:
        """What was seen; it changes with the next look."""
        ...

    def look(self, names: Iterable[str] = (), *, whole: bool, again: bool = False) -> set[int]:
        """Look again; gives the ids of which something may be different now.

        `names`: whose files were heard of. `whole`: take no name as it was. `again`: ask for some of the settled too.
        """
        ...

    def linked(self, hidden: Collection[int] = ()) -> bool:
        """Whether some log has a second name now, in the server's own folder; those of `hidden` do not count."""
        ...

    def has_dropped(self) -> bool:
        """Whether a native log says there what its limit took, now."""
        ...


class Source(Protocol):
    """The segments of one log."""

    @property
    def where(self) -> str:
        """What errors name: a path, or an address."""
        ...

    def looks(self) -> LogLooks:
        """Looks that nothing was seen by yet."""
        ...

    def look(self) -> Listing:
        """What there is now."""
        ...

    def names(self) -> Iterable[SegmentName]:
        """Those of the segments that there are now."""
        ...

    def opened(self, name: SegmentName) -> Opened:
        """A segment's file, to be closed. FileNotFoundError where it is gone."""
        ...

    def path(self, name: SegmentName) -> Path:
        """What a segment's file is called, for people."""
        ...

    def waker(self) -> Waker:
        """Who waits for changes, and hears of names; to be closed."""
        ...

    def volume_bytes(self) -> int | None:
        """How large the volume is that it lies on; None where nobody says so."""
        ...

    def now(self) -> float:
        """Seconds since the epoch, by the clock that its files' times are of."""
        ...

    def close(self) -> None:
        """Nobody looks here any more."""
        ...


class FolderSource:
    """A folder of this machine's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def where(self) -> str:
        return str(self.folder)

    def looks(self) -> LogLooks:
        return Looks(self.folder)

    def look(self) -> Listing:
        return look(self.folder)

    def names(self) -> Iterable[SegmentName]:
        names = (parse_log_name(file.name) for file in self.folder.iterdir())
        return [name for name in names if name is not None]

    def opened(self, name: SegmentName) -> Opened:
        return OpenedFile(self.path(name))

    def path(self, name: SegmentName) -> Path:
        return self.folder / name.log

    def waker(self) -> Waker:
        return open_waker(self.folder)

    def volume_bytes(self) -> int | None:
        volume = os.statvfs(self.folder)
        return volume.f_blocks * volume.f_frsize

    def now(self) -> float:
        return time.time()

    def close(self) -> None: ...


def open_segment(
    source: Source, name: SegmentName, keys: KeySource = no_keys, runs: RunCache | None = None
) -> SegmentFile:
    """A segment to read, to be closed; see `SegmentFile`. FileNotFoundError where it is gone."""
    return SegmentFile(source.path(name), name.segment, keys, opened=source.opened(name), runs=runs)
