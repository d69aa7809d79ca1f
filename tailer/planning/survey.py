"""The judge of a folder: from looks at it to what the planner may rely on (architecture section 3).

Keeps what must outlive a look: ends read from sidecars, segments seen finished, descriptors of what is being read.
The work of a look is by what is new. Decodes no mutation and delivers no row.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import Final

from tailer.errors import CdcError
from tailer.planning.open_segments import OpenSegments
from tailer.planning.sighting import ClosedEnds, Sighting
from tailer.position import Position
from tailer.segments.archived import NOTHING_ARCHIVED, Archived
from tailer.segments.folder import LogFile, SidecarFile
from tailer.segments.looks import Pace
from tailer.segments.opened import OpenedFile
from tailer.segments.segment import KeySource, SegmentFile, no_keys
from tailer.segments.source import Source, open_segment
from tailer.segments.view import SegmentView, Views
from tailer.state.offset import NodeOffset

ORPHAN_SECONDS: Final = 1.0
"""Two looks this far apart must both miss the log before its sidecar counts as a loss."""

LONE_SECONDS: Final = 600.0
"""A segment without sidecar that the server let go of this long ago will never get one."""

FEW_SIGHTINGS: Final = 100
"""So many segments may be remembered before it is asked which of them are gone."""

Names = Callable[[], Collection[str] | None]
"""The names in the folder that were heard of since the last call; None where it must be listed to know."""


class Survey:
    """Looks at one log and remembers. `clock` gives seconds of wall time (file times are compared with it).

    `cleaned`: ids recorded as cleaned, asked for at each look; such a segment is gone, whatever its files say.
    `archived`: what there is besides; it is shown as if it were in the folder still.
    `quiet_seconds`: what was still for so long is finished if a higher one is written; `left_seconds`: in any case.
    """

    def __init__(
        self,
        source: Source,
        *,
        keys: KeySource = no_keys,
        stopped: bool = False,
        quiet_seconds: float | None = None,
        cleaned: Callable[[], Container[int]] = tuple,
        clock: Callable[[], float] = time.time,
        archived: Archived = NOTHING_ARCHIVED,
        left_seconds: float = float("inf"),
    ) -> None:
        self.source = source
        self.closed = ClosedEnds()
        self._keys = keys
        self._stopped = stopped
        self._quiet_seconds = quiet_seconds
        self._left_seconds = left_seconds
        self._ask_cleaned = cleaned
        self._cleaned: Container[int] = ()
        self._hidden: set[int] = set()
        self._clock = clock
        self._archived = archived
        self._names: Names = lambda: None
        self._looks = source.looks()
        self._pace = Pace()
        self._linked: bool | None = None
        self._sightings: dict[int, Sighting] = {}
        self._remembered = FEW_SIGHTINGS
        self._judged: set[int] = set()
        self.files = OpenSegments()
        self._ahead = False
        self._views = Views()
        self._asked_for: set[int] = set()
        self._frozen = False
        self._native: dict[int, bool] = {}
        self._told: set[str] = set()
        self._notices: list[str] = []

    def close(self) -> None:
        self.files.close()

    def listen(self, names: Names) -> None:
        """From now on the folder is listed once a while only; the next look lists it."""
        self._names = names
        self._pace = Pace()

    def look(self, offset: NodeOffset) -> Views:
        """One look at the folder, in a view that the next look changes. Finished is decided here, before any read."""
        try:
            seen = set(self._looks.unsettled) | self._archived.look(again=False) if self._frozen else self._look()
        except BaseException:
            # What was heard of is to be shown by the next look, and nobody says it again.
            self._looks, self._views, self._pace = self.source.looks(), Views(), Pace()
            self._archived.tell_again()
            raise
        self.files.release(offset, gone=self._log(offset.s) is None)
        if not self._frozen:
            # Here, before anybody reads a marker: what is written to its end in between would be judged finished by
            # bytes that were read while it still grew.
            there = sorted(segment for segment in seen if self._is_there(segment))
            for segment in there:
                self._update(segment)
            self._judged.update(there)
        self._show(seen, offset)
        self._forget(offset.s)
        return self._views

    def taken_away(self, segment: int) -> bool:
        """Whether `clean` took a segment, as far as the last look told."""
        return segment in self._cleaned or segment in self._archived.logs

    @property
    def empty(self) -> bool:
        """Whether the last look saw nothing at all, and nothing is held open.

        Of a native log it is said in DROPPED that nothing is left. What is archived counts as long as it is ahead.
        """
        seen = self._looks
        return not (seen.logs or seen.sidecars or len(self.files) or self._ahead or seen.has_dropped())

    def archived(self, segment: int) -> bool:
        """Whether a segment is read from the archive: it is not in the folder, or on record as cleaned."""
        return segment in self._archived.logs and (segment in self._hidden or segment not in self._looks.logs)

    def take_judged(self) -> set[int]:
        """The segments that were judged anew since the last call."""
        judged, self._judged = self._judged, set()
        return judged

    def freeze(self) -> None:
        """From now on every look shows what the last one saw: the extents of that moment are what can be read."""
        self._frozen = True

    @property
    def frozen(self) -> bool:
        """No look shows anything new."""
        return self._frozen

    def hold(self, segment: int) -> None:
        """Descriptors of segments with this id or a higher one are kept when the position has left them."""
        self.files.hold(segment)

    def take_notices(self) -> list[str]:
        """What there is to say of names that are no segment's files, once for each."""
        notices, self._notices = self._notices, []
        return notices

    def _look(self) -> set[int]:
        """Ask the file system; gives the ids of which something may be different now."""
        now = self._clock()
        heard = self._names()
        due = self._pace.due(now)
        self._linked = None
        # Asking for the time of the processor costs as much as a `stat`.
        began = time.thread_time() if due else 0.0
        seen = self._looks.look(heard or (), whole=due or heard is None, again=due)
        if due:
            self._pace.listed(now, time.thread_time() - began)
        listing = self._looks.listing
        if listing.others:
            fresh = [notice for notice in listing.notices() if notice not in self._told]
            self._told.update(fresh)
            self._notices += fresh
        # After the folder: what `clean` took away, or is about to, was recorded before the first file went. A server
        # that restarts links it anew.
        cleaned = self._ask_cleaned()
        asked = seen if cleaned is self._cleaned else {*seen, *listing.logs, *listing.sidecars}
        archived = self._archived.look(again=cleaned is not self._cleaned)
        self._cleaned = cleaned
        there = (segment for segment in asked if segment in listing.logs or segment in listing.sidecars)
        hidden = {segment for segment in there if segment in cleaned}
        seen |= hidden ^ (self._hidden & asked)
        self._hidden = (self._hidden - asked) | hidden
        return seen | archived

    def _show(self, seen: set[int], offset: NodeOffset) -> None:
        """Bring the view up to date: `seen`, and what may be shown though it is not there.

        The planner must see that the segment of its position is gone.
        """
        asked_for = {*self.files, offset.s, *(segment for segment, _ in offset.p)}
        for segment in sorted(seen | asked_for | self._asked_for | self.closed.take_news()):
            recorded = segment in self._sightings or segment in self.closed
            recorded = recorded or (segment == offset.s and segment in self._cleaned)
            if self._is_there(segment) or (segment in asked_for and recorded):
                self._views.put(self._view(segment))
            else:
                self._views.drop(segment)
        self._asked_for = asked_for
        last = max(self._views.ids[-1:], default=0)
        self._ahead = self.archived(last) and (last > offset.s or not offset.done)

    def _forget(self, position: int) -> None:
        """What lies behind the position and is gone: a look costs the same, however much was read."""
        if len(self._sightings) > 2 * self._remembered:
            for segment in [s for s in self._sightings if s < position and s not in self._views]:
                del self._sightings[segment]
                self._native.pop(segment, None)
            self._remembered = max(len(self._sightings), FEW_SIGHTINGS)

    def _log(self, segment: int) -> LogFile | None:
        if self.archived(segment):
            return self._archived.logs[segment]
        return None if segment in self._hidden else self._looks.logs.get(segment)

    def _sidecar(self, segment: int) -> SidecarFile | None:
        if self.archived(segment):
            return self._archived.sidecars.get(segment)
        return None if segment in self._hidden else self._looks.sidecars.get(segment)

    def _is_there(self, segment: int) -> bool:
        """One of its two files was there at the last look."""
        return self._log(segment) is not None or self._sidecar(segment) is not None

    def file(self, segment: int, path: Path | None = None) -> SegmentFile:
        """The segment, open until many others were asked for; that of the position stays open.

        FileNotFoundError when it is gone. `path`: where it is, for whoever knows without a look at the folder.
        """
        fetched = self._archived.logs[segment].size if path is None and self.archived(segment) else 0
        return self.files.file(segment, lambda: self._open(segment, path), fetched)

    def _open(self, segment: int, path: Path | None) -> SegmentFile:
        log = self._log(segment)
        if path is None and log is not None and self.archived(segment):
            fetched = OpenedFile(path := self._archived.path(segment), self._archived.descriptor(segment))
            return SegmentFile(path, segment, self._keys, opened=fetched, runs=self.files.runs)
        if path is not None:
            return SegmentFile(path, segment, self._keys, runs=self.files.runs)
        if log is None:
            raise FileNotFoundError(f"segment {segment} is not in {self.source.where}")
        return open_segment(self.source, log.name, self._keys, self.files.runs)

    def between(self, first: int, last: int) -> list[int]:
        """Ids from `first` to `last` that have a log at the last look or are held open (see `Segments`)."""
        ids = self._views.ids
        there = (segment for segment in ids[bisect_left(ids, first) : bisect_right(ids, last)] if self._log(segment))
        return sorted({*there, *(segment for segment in self.files if first <= segment <= last)})

    def opened(self, segment: int) -> AbstractContextManager[SegmentFile]:
        """The same as `file`, for as long as the context lasts (see `Segments`)."""
        return self.files.pinned(segment, lambda: self.file(segment))

    def sighting(self, segment: int) -> Sighting:
        sighting = self._sightings.get(segment)
        if sighting is None:
            sighting = self._sightings[segment] = Sighting()
        return sighting

    def has_log(self, segment: int) -> bool:
        """Whether it had one at the last look, and nothing was found since that says otherwise."""
        return self._log(segment) is not None

    def written(self, segment: int) -> float | None:
        """When a finished segment was last written, in seconds since the epoch; None while it may still be."""
        log, sidecar = self._log(segment), self._sidecar(segment)
        if log is None or self.sighting(segment).finished is None:
            return None
        return max(log.modified, 0.0 if sidecar is None else sidecar.modified)

    def segments(self) -> Iterable[int]:
        """Ids that have a log at the last look, ascending."""
        return [segment for segment in self._views.ids if self._log(segment) is not None]

    def segments_below(self, segment: int) -> Iterator[int]:
        """Those below one, descending."""
        ids = self._views.ids
        below = (ids[number] for number in range(bisect_left(ids, segment) - 1, -1, -1))
        return (each for each in below if self._log(each) is not None)

    def durable_ends(self, offset: NodeOffset) -> dict[int, int]:
        """How far each log of the last look is durable from an offset on: the end on record, else what its sidecar
        says, 0 without one.

        Beside COMPLETED stands no more than the file's length, so that of a segment not yet read is a bound.
        """
        ids = self._views.ids
        ends = {}
        for segment in chain(ids[bisect_left(ids, offset.s) :], (late for late, _ in offset.p)):
            if self._log(segment) is not None:
                closed, sighting = self.closed.get(segment), self.sighting(segment)
                ends[segment] = max(sighting.end, sighting.number or 0) if closed is None else closed.end
        return ends

    def log_name(self, segment: int) -> str:
        """The file name of a segment seen at the last look or held open."""
        if (held := self.files.get(segment)) is not None:
            return held.path.name
        log = self._log(segment)
        return log.name.log if log else f"segment {segment}"

    def _update(self, segment: int) -> None:
        sighting = self.sighting(segment)
        log, sidecar = self._log(segment), self._sidecar(segment)
        if sidecar is not None:
            sighting.take_sidecar(sidecar, log)
        sighting.orphan_since = None if log is not None or sidecar is None else sighting.orphan_since or self._clock()
        if sighting.finished is None and segment in self.closed:
            sighting.finished = "recorded"
        if log is not None and sighting.finished is None:
            found = self._finished(segment, log, sidecar)
            # What a native log's writer did not publish may not be on the disk: only DONE says that it is.
            unsure = found is not None and not self.archived(segment) and self.is_native(segment)
            sighting.finished = None if unsure else found

    def is_native(self, segment: int) -> bool:
        """Whether a segment of the last look is one of a native log: by its header, without one by the folder."""
        log, sidecar = self._log(segment), self._sidecar(segment)
        if sidecar is not None and self.archived(segment):
            # Not worth fetching it.
            return sidecar.own
        if log is None or segment in self._native:
            return self._native.get(segment, self.dropped is not None)
        try:
            with self._open(segment, None) as file:
                header = file.header()
        except (CdcError, FileNotFoundError):
            header = None
        if header is None:
            return self.dropped is not None
        self._native[segment] = header.native
        return header.native

    def own_restart(self, segment: int) -> bool:
        """Whether a finished segment's sidecar says that nothing is open at its end."""
        sidecar = self._sidecar(segment)
        content = None if sidecar is None else sidecar.content
        return content is not None and content.completed and content.restart == Position(segment, content.end)

    @property
    def dropped(self) -> int | None:
        """The highest id that the limit of a native log took away, 0 if none; None: this is a server's folder."""
        if (dropped := self._looks.listing.dropped) is not None:
            return dropped
        own = not self._looks.own <= self._hidden or any(each.own for each in self._archived.sidecars.values())
        return 0 if own else None

    def _finished(self, segment: int, log: LogFile, sidecar: SidecarFile | None) -> str | None:
        if self._stopped:
            return "stopped"
        if self.archived(segment):
            return "unlinked"
        if log.links == 1 and self._has_second_names():
            # The server closes and syncs a segment before it unlinks its own name. Where no log has a second name,
            # as in a folder that was copied, one name says nothing.
            return "unlinked"
        if sidecar is None:
            return None
        quiet = self._clock() - max(log.modified, sidecar.modified)
        if quiet >= self._left_seconds:
            return "quiet"
        if self._quiet_seconds is None or quiet < self._quiet_seconds:
            return None
        higher = (other for other in self._looks.sidecars if other not in self._hidden)
        return "quiet" if any(other > segment for other in higher) else None

    def _has_second_names(self) -> bool:
        """Some log has a second name now; asked for once a look."""
        if self._linked is None:
            self._linked = self._looks.linked(self._hidden)
        return self._linked

    def _view(self, segment: int) -> SegmentView:
        closed = self.closed.get(segment)
        sighting = self.sighting(segment)
        log = self._log(segment)
        held = self.files.get(segment)
        if held is not None and log is None and not held.lasts:
            self.files.drop(segment)
            held = None
        cleaned = self.taken_away(segment)
        # Its last name is gone while it is held open here: it cannot grow any more, and is read to its end without
        # loss.
        unseen = log is None and not self._frozen
        if unseen and held is not None and sighting.finished is None and (cleaned or held.status().links == 0):
            sighting.finished = "deleted"
        alone = sighting.finished == "unlinked" and log is not None and self._clock() - log.changed >= LONE_SECONDS
        return SegmentView(
            segment=segment,
            log=log is not None or held is not None,
            sidecar=sighting.sidecar,
            end=sighting.end,
            orphan=held is None and sighting.orphan(self._clock()) >= ORPHAN_SECONDS,
            finished=sighting.finished,
            closed=None if closed is None else closed.end,
            lone=alone and not sighting.sidecar,
            cleaned=cleaned,
            published=sighting.published,
        )
