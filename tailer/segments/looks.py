"""Looks at a `cdc_raw` folder, again and again: the work of one is by what is new, not by what is there.

A folder may hold ten thousand finished segments, and is looked at for each row. Whoever has a watch on it (`wake.py`)
says which names it heard of; besides these a look asks for what is not settled alone. Where nobody has heard anything,
and once a while in any case, all names are listed: a lower id may appear late. Judges nothing: `planning/survey.py`.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from tailer.framing.name import SegmentName, parse_log_name, parse_sidecar_name
from tailer.segments.folder import DROPPED, Listing, LogFile, SidecarFile, read_dropped, read_sidecar, stat_log

AGAIN: Final = 64
"""Settled segments that one look asks for again, in turn: nothing about them is urgent."""


LIST_SECONDS: Final = 1.0
"""How long names that nobody heard of are taken as they were, where somebody listens."""

LIST_SECONDS_MAX: Final = 10.0
LIST_SHARE: Final = 0.01
"""Of a core: more time goes by until the next list where one costs more."""


class Pace:
    """When a folder is due to be listed: by seconds of wall time, which may go back, and what a list costs."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._pause = LIST_SECONDS

    def due(self, now: float) -> bool:
        return self._at is None or not 0 <= now - self._at < self._pause

    def listed(self, now: float, cost: float) -> None:
        """It was, and took so many seconds of processor."""
        self._at = now
        self._pause = min(max(LIST_SECONDS, cost / LIST_SHARE), LIST_SECONDS_MAX)


def look(folder: Path) -> Listing:
    """The folder as it is now. Files that vanish between listing and reading are simply not there."""
    looks = Looks(folder)
    looks.look(whole=True)
    return looks.listing


class Looks:
    """One folder, and what was seen of it last.

    A segment is settled when its sidecar says that no more will come and both of its files are there: it is taken as
    it was until its name is heard of, or another file has it.
    """

    def __init__(self, folder: Path) -> None:
        self.logs: dict[int, LogFile] = {}
        self.sidecars: dict[int, SidecarFile] = {}
        self.unsettled: set[int] = set()
        """Ids that are asked for at each look."""
        self.own: set[int] = set()
        """Ids whose sidecar is of a native log's grammar."""
        self._folder = folder
        self._others: dict[str, str] = {}
        self._dropped: int | None = None
        self._has_dropped = False
        self._inodes: dict[str, int] = {}
        self._log_names: dict[int, SegmentName] = {}
        self._sidecar_names: dict[int, SegmentName] = {}
        self._doubles: set[int] = set()
        self._turn: Iterator[int] = iter(())

    @property
    def listing(self) -> Listing:
        """What was seen; it changes with the next look."""
        return Listing(self.logs, self.sidecars, self._dropped, self._others)

    def look(self, names: Iterable[str] = (), *, whole: bool, again: bool = False) -> set[int]:
        """Look again; gives the ids that were asked for: of all others nothing was heard.

        `names`: whose files may have changed. `whole`: list the folder. `again`: ask for some of the settled too.
        """
        asked = self.unsettled | self._heard(names)
        if whole:
            asked |= self._listed()
        if again:
            asked.update(self._next_settled())
        if self._ask(asked) and not whole:
            # One that is gone, or the whole folder is: only a list of it tells these apart.
            more = self._listed()
            self._ask(more)
            asked |= more
        return asked

    def linked(self, hidden: Container[int] = ()) -> bool:
        """Whether some log has a second name now, in the server's own folder; those of `hidden` do not count.

        Counts of settled segments are asked for anew: an old one says nothing.
        """
        if any(segment not in hidden for segment in self._doubles & self.unsettled):
            return True
        single, found = set(), False
        for segment in self._doubles:
            if segment not in hidden:
                log = stat_log(self._folder, self._log_names[segment])
                if found := isinstance(log, LogFile) and log.links >= 2:
                    break
                single.add(segment)
        self._doubles -= single
        return found

    def has_dropped(self) -> bool:
        """Whether a native log says there what its limit took, now."""
        return (self._folder / DROPPED).exists()

    def _listed(self) -> set[int]:
        """Ids of names that have come, gone, or belong to another file, since the last time."""
        with os.scandir(self._folder) as found:
            now = {file.name: file.inode() for file in found}
        before, self._inodes = self._inodes, now
        return set() if now == before else self._heard({name for name, _ in now.items() ^ before.items()})

    def _heard(self, names: Iterable[str]) -> set[int]:
        """The ids of names."""
        heard = set()
        for file in names:
            if (name := parse_log_name(file)) is not None:
                self._log_names[name.segment] = name
            elif (name := parse_sidecar_name(file)) is not None:
                self._sidecar_names[name.segment] = name
            else:
                self._has_dropped |= file == DROPPED
                continue
            heard.add(name.segment)
        return heard

    def _next_settled(self) -> list[int]:
        if not (some := list(islice(self._turn, AGAIN))):
            self._turn = iter(tuple(self.sidecars))
            some = list(islice(self._turn, AGAIN))
        return some

    def _ask(self, segments: Iterable[int]) -> bool:
        """Ask the file system for segments; whether a file that was there is not there any more."""
        if self._has_dropped:
            self._dropped = read_dropped(self._folder, self._dropped)
        gone = False
        for segment in segments:
            name = self._log_names.get(segment) or self._sidecar_names.get(segment)
            if name is not None:
                had = (segment in self.logs) + (segment in self.sidecars)
                # The sidecar first: it never promises more than the log holds that is looked at after it.
                self._ask_sidecar(self._sidecar_names.get(segment, name))
                self._ask_log(name)
                gone |= (segment in self.logs) + (segment in self.sidecars) < had
                self._settle(segment)
        return gone

    def _ask_sidecar(self, name: SegmentName) -> None:
        found = read_sidecar(self._folder, name)
        self._note(name.sidecar, found)
        if isinstance(found, SidecarFile):
            self.sidecars[name.segment] = found
            if found.own:
                self.own.add(name.segment)
        else:
            self.sidecars.pop(name.segment, None)
            self.own.discard(name.segment)

    def _ask_log(self, name: SegmentName) -> None:
        found = stat_log(self._folder, name)
        self._note(name.log, found)
        self._doubles.discard(name.segment)
        if isinstance(found, LogFile):
            self.logs[name.segment] = found
            if found.links >= 2:
                self._doubles.add(name.segment)
        else:
            self.logs.pop(name.segment, None)

    def _note(self, file: str, found: SidecarFile | LogFile | str | None) -> None:
        """What is to be said of a name that is no regular file's."""
        if isinstance(found, str):
            self._others[file] = found
        else:
            self._others.pop(file, None)

    def _settle(self, segment: int) -> None:
        log, sidecar = self.logs.get(segment), self.sidecars.get(segment)
        content = None if sidecar is None else sidecar.content
        if log is not None and content is not None and content.completed:
            self.unsettled.discard(segment)
        elif log is not None or sidecar is not None:
            self.unsettled.add(segment)
        else:
            for known in (self._log_names, self._sidecar_names):
                known.pop(segment, None)
            self.unsettled.discard(segment)
