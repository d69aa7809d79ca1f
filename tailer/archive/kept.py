"""The segments that a service's writer keeps, for a reader that begins with all of them.

`clean` takes a segment's name from `cdc_raw`; the writer's own, in `commitlog` beside it, stays until the writer
discards it. Here those segments are shown as they were before, each with the sidecar that its writer left of it. What
its writer may still write to is not shown. Holds nothing: what the writer discards is gone.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Callable, Container, Set
from operator import attrgetter
from pathlib import Path
from typing import Final

from tailer.archive.own_sidecar import OwnEnd, own_end
from tailer.errors import CdcError
from tailer.framing.name import SegmentName, parse_log_name
from tailer.segments.folder import DROPPED, LogFile, SidecarFile, read_sidecar, stat_log
from tailer.segments.log_folder import OWN_NAME
from tailer.segments.regular import open_regular, status_of
from tailer.segments.segment import SegmentFile
from tailer.state.journal_records import AnyRecord
from tailer.system_errors import system_error, told

LISTED_SECONDS: Final = 1.0
"""How often it is asked what the writer keeps."""


def own_folder(folder: Path) -> Path:
    """Where a service that lets readers see its log in `folder` has its own names of the segments."""
    return Path(os.path.realpath(folder)).parent / OWN_NAME


class KeptSegments:
    """Of the log in a folder; see `OlderSegments`. `cleaned`: ids on record as cleaned, asked for at each list."""

    identity = ""
    broken: Set[int] = frozenset()

    def __init__(
        self, folder: Path, cleaned: Callable[[], Container[int]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.logs: dict[int, LogFile] = {}
        self.sidecars: dict[int, SidecarFile] = {}
        self.previous: dict[int, int] = {}
        self._folder = folder
        self._own = own_folder(folder)
        self._ask_cleaned = cleaned
        self._clock = clock
        self._before: dict[int, int | None] = {}
        self._first: int | None = None
        self._due = False
        self._listed = 0.0
        self._dropped: tuple[int, int] | None = None
        self._news: set[int] = set()

    def begin(self, first: int) -> None:
        if self._first is None or first < self._first:
            self._first, self._due = first, True

    def look(self, *, again: bool) -> set[int]:
        now, dropped = self._clock(), self._limit()
        again = again or self._due or dropped != self._dropped or now - self._listed >= LISTED_SECONDS
        if self._first is not None and again:
            self._read(self._first)
            self._due, self._listed, self._dropped = False, now, dropped
        news, self._news = self._news, set()
        return news

    def tell_again(self) -> None:
        self._news = {*self.logs}

    def path(self, segment: int) -> Path:
        return self._own / self.logs[segment].name.log

    def descriptor(self, segment: int) -> int:
        if segment not in self.logs:
            raise FileNotFoundError(f"the writer does not keep segment {segment}")
        try:
            with told("cannot read the segment", self.path(segment)):
                return open_regular(self.path(segment))
        except FileNotFoundError:
            self._drop(segment)
            raise

    def take_records(self) -> list[AnyRecord]:
        """None: a native log says in each segment what its records are."""
        return []

    def take_notices(self) -> list[str]:
        return []

    def missing(self, segment: int) -> str:
        return f"the writer does not keep segment {segment} any more"

    def _limit(self) -> tuple[int, int] | None:
        """What tells that the log's limit took something from readers: it is noted before that is gone."""
        found = status_of(self._folder / DROPPED)
        return (found.st_ino, found.st_mtime_ns) if isinstance(found, os.stat_result) else None

    def _read(self, first: int) -> None:
        """The writer's names first: a segment has a name for readers before it has an entry."""
        names = _names(self._own)
        linked, cleaned = _names(self._folder), self._ask_cleaned()
        for segment in self.logs.keys() - names.keys():
            self._drop(segment)
        there = list(names)
        # With the one before: what is open at the beginning of a segment is said at the end of that one.
        for segment in there[max(bisect_left(there, first) - 1, 0) :]:
            if segment not in self._before:
                last = segment == there[-1] and segment not in cleaned
                self._take(names[segment], linked=segment in linked, last=last)
        before = {segment: self._captured_before(segment) for segment in self.logs}
        self.previous = {segment: each for segment, each in before.items() if each is not None}

    def _take(self, name: SegmentName, *, linked: bool, last: bool) -> None:
        """`linked`: readers have a name of it. `last`: it may be one that is just made."""
        found = stat_log(self._own, name)
        if not isinstance(found, LogFile):
            return
        try:
            with SegmentFile(self._own / name.log, name.segment) as file:
                end = self._finished(file, name) if linked else own_end(file)
        except FileNotFoundError:
            return
        if end is None or (last and (end.empty or end.previous is None)):
            return
        if not linked and (self._folder / name.log).exists():
            return
        self._before[name.segment] = end.previous
        if end.sidecar is not None:
            self.logs[name.segment] = found._replace(links=1)
            self.sidecars[name.segment] = SidecarFile(name, end.sidecar, found.modified)
            self._news.add(name.segment)

    def _finished(self, file: SegmentFile, name: SegmentName) -> OwnEnd | None:
        """What the sidecar says of a segment that readers have a name of; None while it may grow."""
        sidecar = read_sidecar(self._folder, name)
        content = sidecar.content if isinstance(sidecar, SidecarFile) else None
        if content is None or content.restart is None or not content.completed:
            return None
        try:
            header = file.header()
        except CdcError:
            # Told where its rows are wanted.
            header = None
        return OwnEnd(False, content, None if header is None else header.previous or 0)

    def _captured_before(self, segment: int) -> int | None:
        """The segment before one that held something for readers, as far as is known: others count for nothing."""
        before = self._before[segment]
        while before is not None and before in self._before and before not in self.logs:
            before = self._before[before]
        return before

    def _drop(self, segment: int) -> None:
        """The writer has discarded it."""
        for kept in (self.logs, self.sidecars, self._before):
            kept.pop(segment, None)
        self._news.add(segment)


def _names(folder: Path) -> dict[int, SegmentName]:
    """Ids, ascending, and names of a folder's segments."""
    try:
        with os.scandir(folder) as found:
            names = [parse_log_name(file.name) for file in found]
    except OSError as error:
        raise system_error("cannot list the segments", error, folder) from error
    return {name.segment: name for name in sorted(filter(None, names), key=attrgetter("segment"))}
