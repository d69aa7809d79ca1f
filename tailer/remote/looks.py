"""Looks at a node's segments: what its list says, shown as a folder's. Judges nothing: `planning/survey.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from types import MappingProxyType
from typing import TypeVar

from tailer.remote.link import Link
from tailer.remote.seen import Seen
from tailer.segments.folder import Listing, LogFile, SidecarFile

_File = TypeVar("_File")


class RemoteLooks:
    """Of one survey; see `Looks`."""

    def __init__(self, link: Link) -> None:
        self.logs: dict[int, LogFile] = {}
        self.sidecars: dict[int, SidecarFile] = {}
        self.own: set[int] = set()
        self.unsettled: set[int] = set()
        self._link = link
        self._number = -1
        self._linked = False
        self._others: dict[str, str] = {}
        self._dropped: int | None = None

    @property
    def listing(self) -> Listing:
        return Listing(self.logs, self.sidecars, self._dropped, MappingProxyType(self._others))

    def look(self, names: Iterable[str] = (), *, whole: bool, again: bool = False) -> set[int]:
        """Raises what keeps the list from being the newest, as `Link.look`."""
        changed: set[int] = self._link.look(self._take)
        # Of these something may be different because time goes by.
        return changed | self.unsettled

    def linked(self, hidden: Collection[int] = ()) -> bool:
        """As the node counts them: of segments that are done its list may have an old count."""
        return self._linked and any(log.links >= 2 for segment, log in self.logs.items() if segment not in hidden)

    def has_dropped(self) -> bool:
        return self._dropped is not None

    def _take(self, seen: Seen) -> set[int]:
        changed = None if self._number < 0 else seen.news(self._number)
        if changed is None:
            changed = {*self.logs, *self.sidecars, *seen.logs, *seen.sidecars}
        for segment in changed:
            _put(self.logs, segment, seen.logs.get(segment))
            _put(self.sidecars, segment, seen.sidecars.get(segment))
            self._settle(segment)
        self._number, self._others, self._dropped = seen.number, dict(seen.others), seen.dropped
        self._linked = seen.linked
        return changed

    def _settle(self, segment: int) -> None:
        log, sidecar = self.logs.get(segment), self.sidecars.get(segment)
        content = None if sidecar is None else sidecar.content
        settled = log is not None and content is not None and content.completed
        gone = log is None and sidecar is None
        (self.unsettled.discard if settled or gone else self.unsettled.add)(segment)
        (self.own.add if sidecar is not None and sidecar.own else self.own.discard)(segment)


def _put(into: dict[int, _File], segment: int, value: _File | None) -> None:
    if value is None:
        into.pop(segment, None)
    else:
        into[segment] = value
