"""The judge of a folder: from looks at it to what the planner may rely on (architecture section 3).

Keeps what must outlive a look: ends read from sidecars, segments seen finished, descriptors of what is being read.
Tells how far a segment can be read, and checks every byte of it on the way. Decodes no mutation and delivers no row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tailer.errors import CdcError
from tailer.position import Position
from tailer.segments.folder import DROPPED, NOTHING, Listing, LogFile, SidecarFile, look
from tailer.segments.segment import KeySource, SegmentFile, no_keys
from tailer.segments.view import SegmentView
from tailer.state.offset import NodeOffset

ORPHAN_SECONDS: Final = 1.0
"""Two looks this far apart must both miss the log before its sidecar counts as a loss."""

LONE_SECONDS: Final = 600.0
"""A segment without sidecar that the server let go of this long ago will never get one."""

THOROUGH_SECONDS: Final = 1.0
"""How long completed segments are taken as they were; nothing about them is urgent."""


COMPLETED: Final = "completed"
"""How a segment was seen finished whose sidecar says so."""

OPEN_MAX: Final = 64
"""Descriptors kept at most; more than a plan needs (`plan.SEGMENTS_MAX`), far fewer than a process may have."""

HELD_MAX: Final = OPEN_MAX // 2
"""Of these, behind the position."""

FEW_SIGHTINGS: Final = 100
"""So many segments may be remembered before it is asked which of them are gone."""


@dataclass(slots=True)
class Sighting:
    """What is kept of a segment between looks.

    `end`: highest durable end read from its sidecar. `published`: the highest of them published in an orderly way.
    `number`: the one beside COMPLETED, which may be no more than the file's length.
    """

    sidecar: bool = False
    end: int = 0
    published: int = 0
    number: int | None = None
    finished: str | None = None
    orphan_since: float | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """The log end on record of a finished segment, and the highest end published in an orderly way."""

    end: int
    published: int


class Survey:
    """Looks at one folder and remembers. `clock` gives seconds of wall time (file times are compared with it).

    `cleaned`: ids recorded as cleaned, asked for at each look; such a segment is gone, whatever its files say.
    """

    def __init__(
        self,
        folder: Path,
        *,
        keys: KeySource = no_keys,
        stopped: bool = False,
        quiet_seconds: float | None = None,
        cleaned: Callable[[], Container[int]] = tuple,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.closed: dict[int, Closed] = {}
        self._keys = keys
        self._stopped = stopped
        self._quiet_seconds = quiet_seconds
        self._ask_cleaned = cleaned
        self._cleaned: Container[int] = ()
        self._clock = clock
        self._sightings: dict[int, Sighting] = {}
        self._remembered = FEW_SIGHTINGS
        self._files: dict[int, SegmentFile] = {}
        self._kept: frozenset[int] = frozenset()
        self._listing = NOTHING
        self._empty = False
        self._thorough_at = -THOROUGH_SECONDS
        self._views: dict[int, SegmentView] = {}
        self._frozen = False
        self._native: dict[int, bool] = {}
        self._hold_from: int | None = None
        self._told: set[str] = set()
        self._notices: list[str] = []

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def look(self, offset: NodeOffset) -> dict[int, SegmentView]:
        """One look at the folder, as the planner wants it. Finished is decided here, before any marker is read."""
        if self._frozen:
            listing = self._listing
        else:
            seen = self._look()
            # Of a native log it is said in DROPPED that nothing is left.
            self._empty = not (seen.logs or seen.sidecars) and not (self.folder / DROPPED).exists()
            self._listing = listing = self._without_cleaned(seen)
            self._tell(listing)
        self._release(offset, listing)
        # Here, before anybody reads a marker: what is written to its end in between would be judged finished by bytes
        # that were read while it still grew.
        there = {*listing.logs, *listing.sidecars}
        linked = listing.linked
        for segment in () if self._frozen else there - listing.known:
            self._update(segment, listing, linked)
        # Also what is not there: the planner must see that the segment of its position is gone.
        late = {segment for segment, _ in offset.p}
        wanted = {*there, *self._files, offset.s, *late}
        self._forget(wanted, offset.s)
        recorded = {segment for segment in wanted if segment in self._sightings or segment in self.closed}
        if offset.s in self._cleaned:
            recorded.add(offset.s)
        self._views = {segment: self._view(segment) for segment in recorded}
        return self._views

    @property
    def empty(self) -> bool:
        """Whether the last look saw nothing at all, and nothing is held open."""
        return self._empty and not self._files

    def sightings(self) -> Iterable[tuple[int, Sighting]]:
        """What is kept of segments: those that are there, or may still be asked for."""
        return self._sightings.items()

    def _forget(self, wanted: Container[int], position: int) -> None:
        """What lies behind the position and is gone: a look costs the same, however much was read."""
        if len(self._sightings) > 2 * self._remembered:
            for segment in [s for s in self._sightings if s < position and s not in wanted]:
                del self._sightings[segment]
                self._native.pop(segment, None)
            self._remembered = max(len(self._sightings), FEW_SIGHTINGS)

    def freeze(self) -> None:
        """From now on every look shows what the last one saw: the extents of that moment are what can be read."""
        self._frozen = True

    def hold(self, segment: int) -> None:
        """Descriptors of segments with this id or a higher one are kept when the position has left them."""
        self._hold_from = segment

    def take_notices(self) -> list[str]:
        """What there is to say of names that are no segment's files, once for each."""
        notices, self._notices = self._notices, []
        return notices

    def _tell(self, listing: Listing) -> None:
        if listing.others:
            fresh = [notice for notice in listing.notices() if notice not in self._told]
            self._told.update(fresh)
            self._notices += fresh

    def _without_cleaned(self, listing: Listing) -> Listing:
        """The listing but for what `clean` took away, or is about to: a server that restarts links it anew.

        The record is read after the folder: it was there before the first file went.
        """
        cleaned = self._cleaned = self._ask_cleaned()
        if not cleaned or not any(segment in cleaned for segment in (*listing.logs, *listing.sidecars)):
            return listing
        logs = {segment: log for segment, log in listing.logs.items() if segment not in cleaned}
        sidecars = {segment: sidecar for segment, sidecar in listing.sidecars.items() if segment not in cleaned}
        return listing._replace(logs=logs, sidecars=sidecars, known=listing.known & logs.keys())

    def _look(self) -> Listing:
        """A quick look, which takes completed segments as they were; a thorough one each second.

        A quick look that sees no log with a second name cannot tell whether the folder has such logs at all.
        """
        now = self._clock()
        if 0 <= now - self._thorough_at < THOROUGH_SECONDS:
            listing = look(self.folder, self._listing)
            if listing.linked or not listing.known:
                return listing
        self._thorough_at = now
        return look(self.folder)

    def file(self, segment: int, path: Path | None = None) -> SegmentFile:
        """The segment, open until many others were asked for; that of the position stays open.

        FileNotFoundError when it is gone.

        `path`: where it is, for whoever knows without a look at the folder.
        """
        held = self._files.pop(segment, None)
        if held is None:
            log = self._listing.logs.get(segment)
            if path is None and log is not None:
                path = self.folder / log.name.log
            if path is None:
                raise FileNotFoundError(f"segment {segment} is not in {self.folder}")
            held = SegmentFile(path, segment, self._keys)
            self._close_oldest()
        # The one asked for last stands last.
        self._files[segment] = held
        return held

    def _close_oldest(self) -> None:
        if len(self._files) >= OPEN_MAX:
            oldest = next(segment for segment in self._files if segment not in self._kept)
            self._files.pop(oldest).close()

    def between(self, first: int, last: int) -> list[int]:
        """Ids from `first` to `last` that have a log at the last look or are held open (see `Segments`)."""
        return sorted(segment for segment in {*self._listing.logs, *self._files} if first <= segment <= last)

    @contextmanager
    def opened(self, segment: int) -> Iterator[SegmentFile]:
        """The same as `file`, for as long as the context lasts (see `Segments`)."""
        kept = segment in self._files
        file = self.file(segment)
        try:
            yield file
        finally:
            if not kept and self._files.pop(segment, None) is not None:
                file.close()

    def sighting(self, segment: int) -> Sighting:
        sighting = self._sightings.get(segment)
        if sighting is None:
            sighting = self._sightings[segment] = Sighting()
        return sighting

    def segments(self) -> Iterable[int]:
        """Ids that have a log at the last look, ascending."""
        return self._listing.segments

    def durable_ends(self) -> dict[int, int]:
        """How far each log of the last look is durable: the end on record, else what its sidecar says, 0 without one.

        Beside COMPLETED stands no more than the file's length, so that of a segment not yet read is a bound.
        """
        ends = {}
        for segment in self._listing.segments:
            closed, sighting = self.closed.get(segment), self.sighting(segment)
            ends[segment] = max(sighting.end, sighting.number or 0) if closed is None else closed.end
        return ends

    def log_name(self, segment: int) -> str:
        """The file name of a segment seen at the last look or held open."""
        if segment in self._files:
            return self._files[segment].path.name
        log = self._listing.logs.get(segment)
        return log.name.log if log else f"segment {segment}"

    def _release(self, offset: NodeOffset, listing: Listing) -> None:
        """Close what is behind the position; what it stands in stays open, so that its deletion is no loss."""
        keep = {offset.s, *(segment for segment, _ in offset.p[-HELD_MAX:])}
        if offset.done and offset.s not in listing.logs:
            keep.discard(offset.s)
        if self._hold_from is not None:
            keep = {offset.s, *sorted(s for s in self._files if s >= self._hold_from)[:HELD_MAX]}
        for segment in [s for s in self._files if s not in keep]:
            self._files.pop(segment).close()
        self._kept = frozenset(keep) if self._hold_from is not None else frozenset({offset.s})

    def _update(self, segment: int, listing: Listing, linked: bool) -> None:
        sighting = self.sighting(segment)
        log, sidecar = listing.logs.get(segment), listing.sidecars.get(segment)
        if sidecar is not None:
            sighting.sidecar = True
            self._read_sidecar(sighting, sidecar, log)
        sighting.orphan_since = None if log is not None or sidecar is None else sighting.orphan_since or self._clock()
        if sighting.finished is None and segment in self.closed:
            sighting.finished = "recorded"
        if log is not None and sighting.finished is None:
            found = self._finished(segment, log, sidecar, listing, linked)
            # What a native log's writer did not publish may not be on the disk: only DONE says that it is.
            sighting.finished = None if found is not None and self.is_native(segment) else found

    def is_native(self, segment: int) -> bool:
        """Whether a segment of the last look is one of a native log: by its header, without one by the folder."""
        log = self._listing.logs.get(segment)
        if log is None or segment in self._native:
            return self._native.get(segment, self.dropped is not None)
        try:
            with SegmentFile(self.folder / log.name.log, segment, self._keys) as file:
                header = file.header()
        except (CdcError, FileNotFoundError):
            header = None
        if header is None:
            return self.dropped is not None
        self._native[segment] = header.native
        return header.native

    def own_restart(self, segment: int) -> bool:
        """Whether a finished segment's sidecar says that nothing is open at its end."""
        sidecar = self._listing.sidecars.get(segment)
        content = None if sidecar is None else sidecar.content
        return content is not None and content.completed and content.restart == Position(segment, content.end)

    @property
    def dropped(self) -> int | None:
        """The highest id that the limit of a native log took away, 0 if none; None: this is a server's folder."""
        if self._listing.dropped is not None:
            return self._listing.dropped
        own = any(found.content is not None and found.content.restart for found in self._listing.sidecars.values())
        return 0 if own else None

    def _read_sidecar(self, sighting: Sighting, sidecar: SidecarFile, log: LogFile | None) -> None:
        content = sidecar.content
        if content is None:
            return
        if not content.completed:
            # Never back: the server truncates and rewrites the file, so a smaller number is one cut while written.
            sighting.end = max(sighting.end, content.end)
            sighting.published = max(sighting.published, content.end)
            return
        sighting.finished = sighting.finished or COMPLETED
        sighting.number = content.end
        # A restart of the server puts the file's physical length beside the word, which says nothing of what is
        # durable: larger than any logical end of a plain segment, often smaller in a compressed one. A native log's
        # writer never does that.
        if content.restart is not None or (log is not None and content.end != log.size):
            sighting.published = max(sighting.published, content.end)
        sighting.end = max(sighting.end, 1)

    def _finished(
        self, segment: int, log: LogFile, sidecar: SidecarFile | None, listing: Listing, linked: bool
    ) -> str | None:
        if self._stopped:
            return "stopped"
        if linked and log.links == 1:
            # The server closes and syncs a segment before it unlinks its own name. Where no log has a second name,
            # as in a folder that was copied, one name says nothing.
            return "unlinked"
        if self._quiet_seconds is None or sidecar is None:
            return None
        changed = max(log.modified, sidecar.modified)
        higher = any(other > segment for other in listing.sidecars)
        return "quiet" if higher and self._clock() - changed >= self._quiet_seconds else None

    def _view(self, segment: int) -> SegmentView:
        closed = self.closed.get(segment)
        end = None if closed is None else closed.end
        last = self._views.get(segment) if segment in self._listing.known else None
        if last is not None and last.closed == end:
            return last
        sighting = self.sighting(segment)
        log = self._listing.logs.get(segment)
        held = self._files.get(segment)
        cleaned = segment in self._cleaned
        # Its last name is gone while it is held open here: it cannot grow any more, and is read to its end without
        # loss.
        unseen = log is None and not self._frozen
        if unseen and held is not None and sighting.finished is None and (cleaned or held.stat().st_nlink == 0):
            sighting.finished = "deleted"
        since = sighting.orphan_since
        alone = sighting.finished == "unlinked" and log is not None and self._clock() - log.changed >= LONE_SECONDS
        return SegmentView(
            segment=segment,
            log=log is not None or held is not None,
            sidecar=sighting.sidecar,
            end=sighting.end,
            orphan=held is None and since is not None and self._clock() - since >= ORPHAN_SECONDS,
            finished=sighting.finished,
            closed=end,
            lone=alone and not sighting.sidecar,
            cleaned=cleaned,
        )
