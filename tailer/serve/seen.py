"""What looks at the log folder have shown, and which look showed it first: from that, what differs between two lists.

One thread looks and asks. Answers nobody: see `listing.py`.
"""

from __future__ import annotations

import stat
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from tailer.framing.name import SegmentName
from tailer.segments.folder import LogFile
from tailer.segments.looks import Looks, Pace
from tailer.segments.wake import Waker, open_waker
from tailer.serve.clean_list import CleanedNow, CleanList
from tailer.wire.listing import ListAnswer, LogInfo, SidecarInfo, log_info, sidecar_info
from tailer.wire.state import encode

GONE_MAX: Final = 4096
"""Names that went and are told of; who knows a list from before gets all of it."""

_Info = LogInfo | SidecarInfo


@dataclass(slots=True)
class _Names:
    """What is told of names, by name, and at which version it last changed: what changed last stands last."""

    infos: dict[str, _Info] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    def put(self, name: str, info: _Info | None, version: int) -> bool:
        """Whether that is news; None: nothing is told of it any more."""
        if self.infos.get(name) == info:
            return False
        self.versions.pop(name, None)
        if info is None:
            del self.infos[name]
        else:
            self.infos[name] = info
            self.versions[name] = version
        return True

    def since(self, version: int) -> Iterator[_Info]:
        """What changed behind a version, the newest first."""
        for name in reversed(self.versions):
            if self.versions[name] <= version:
                return
            yield self.infos[name]


class Answer(NamedTuple):
    """`etag`: of the list as it is with it. `cleaned`: the list of cleaned segments, which is no part of the body, for
    each client has its own; None where it is that of the earlier list."""

    etag: str
    body: bytes
    cleaned: CleanedNow | None


class Seen:
    """Of one folder. `version`: rises with each look that shows something else. Not thread-safe.

    `records`: how many the state's journal has.
    """

    def __init__(
        self,
        folder: Path,
        cleaned: CleanList,
        records: Callable[[], int],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.version = 0
        self._folder = folder
        self._cleaned = cleaned
        self._ask_records = records
        self._records = 0
        self._wall = wall
        self._looks = Looks(folder)
        self._pace = Pace()
        self._waker: Waker | None = None
        self._watched: tuple[int, int] | None = None
        self._names = _Names()
        self._gone: deque[tuple[int, str]] = deque()
        self._gone_before = 0
        self._links: set[str] = set()
        self._rest: tuple[object, ...] = ()
        self._linked = False
        self._cleaned_at = 0
        self._list = cleaned.refresh()
        self._told: dict[int, set[SegmentName]] = {}
        self._anew = False
        self._retired: list[Waker] = []

    def descriptor(self) -> int | None:
        """What is readable while there is a hint of a change; None where none is given."""
        return None if self._waker is None else self._waker.descriptor()

    def look(self) -> int:
        """Look again; the version then. OSError and documented errors where the folder cannot be looked at."""
        try:
            return self._look()
        except BaseException:
            # What was heard of is said by nobody again.
            self._looks, self._pace, self._anew = Looks(self._folder), Pace(), True
            raise

    def look_for(self, versions: Collection[int], head: ListAnswer) -> tuple[int, dict[int, Answer]]:
        """`look`, and where it shows something new the answers for who has one of these versions."""
        before, version = self.version, self.look()
        return version, {known: self.answer(known, head) for known in versions} if version != before else {}

    def advanced(self, segment: int) -> int | None:
        """How far a segment is durable, if the newest look that showed something showed that."""
        sidecar = self._looks.sidecars.get(segment)
        if sidecar is None or sidecar.content is None or self._names.versions.get(sidecar.name.sidecar) != self.version:
            return None
        return sidecar.content.end

    def take_retired(self) -> list[Waker]:
        """Wakers that are not needed any more, to be closed by who waited at them."""
        retired, self._retired = self._retired, []
        return retired

    def answer(self, since: int, head: ListAnswer) -> Answer:
        """The list, or what differs from the one of an earlier version; `head` has what is not of the folder.

        `since` 0, or of a version whose names are not all told of any more: everything.
        """
        whole = since < self._gone_before or since > self.version or not since
        since = 0 if whole else since
        there = self._names.infos
        infos = sorted(self._names.since(since), key=lambda info: info.name)
        listing = self._looks.listing
        news = whole or self._cleaned_at > since
        answer = msgspec.structs.replace(
            head,
            segments_info=[each for each in infos if isinstance(each, LogInfo)],
            sidecars=[each for each in infos if isinstance(each, SidecarInfo)],
            gone=[] if whole else [name for version, name in self._gone if version > since and name not in there],
            others=self._others(),
            dropped=listing.dropped,
            cleaned_tag=self._list.tag,
            linked=self._linked,
            records=self._records,
            since="" if whole else f"{head.boot}-{since}",
            etag=f"{head.boot}-{self.version}",
        )
        return Answer(answer.etag, encode(answer), self._list if news and self._list.text else None)

    def close(self) -> None:
        for each in (self._waker, *self.take_retired()):
            if each is not None:
                each.close()

    def _look(self) -> int:
        now = self._wall()
        heard, due = self._heard(), self._pace.due(now)
        began = time.thread_time() if due else 0.0
        asked = self._looks.look(heard or (), whole=due or heard is None, again=due)
        if due:
            self._pace.listed(now, time.thread_time() - began)
        if self._anew:
            asked, self._anew = {*asked, *self._told}, False
        # After the folder: what is taken away was recorded before the first file went.
        cleaned = self._cleaned.refresh()
        linked = self._looks.linked(cleaned.content)
        version = self.version + 1
        news = [self._put_segment(segment, version) for segment in asked]
        if cleaned.tag != self._list.tag:
            self._cleaned_at = version
        self._records = self._ask_records()
        rest = (self._others(), self._looks.listing.dropped, linked, cleaned.tag, self._records)
        if any(news) or rest != self._rest:
            self.version = version
        self._list, self._linked, self._rest = cleaned, linked, rest
        return self.version

    def _heard(self) -> set[str] | None:
        """Names that were heard of since the last look; None where the folder must be listed."""
        status = self._folder.stat()
        place = (status.st_dev, status.st_ino)
        if self._waker is None or place != self._watched:
            # Another folder has the name now, of which the watch tells nothing.
            if self._waker is not None:
                self._retired.append(self._waker)
            self._waker, self._watched = open_waker(self._folder), place
            return None
        names = self._waker.names()
        return None if names is None else set(names)

    def _put_segment(self, segment: int, version: int) -> bool:
        """What is told of a segment's two files; whether that is news."""
        log, sidecar = self._looks.logs.get(segment), self._looks.sidecars.get(segment)
        names = {each.name for each in (log, sidecar) if each is not None} | self._told.pop(segment, set())
        news = False
        for name in names:
            told = log if log is not None and log.name == name and not self._is_link(log) else None
            info = None if told is None else log_info(told, told.inode, sidecar)
            beside = sidecar if sidecar is not None and sidecar.name == name else None
            text = None if beside is None else sidecar_info(name, beside.text, beside.modified)
            news |= self._put(name.log, info, version) | self._put(name.sidecar, text, version)
            if log is None:
                self._links.discard(name.log)
            if info is not None or text is not None or name.log in self._links:
                self._told.setdefault(segment, set()).add(name)
        return news

    def _put(self, name: str, info: _Info | None, version: int) -> bool:
        had = name in self._names.infos
        if not self._names.put(name, info, version):
            return False
        if had and info is None:
            self._gone.append((version, name))
            while len(self._gone) > GONE_MAX:
                self._gone_before, _ = self._gone.popleft()
        return True

    def _is_link(self, log: LogFile) -> bool:
        """Whether its name is a link: what it leads to is not given to others, wherever it lies."""
        before = self._names.infos.get(log.name.log)
        if isinstance(before, LogInfo) and before.inode == log.inode:
            return False
        try:
            link = stat.S_ISLNK((self._folder / log.name.log).lstat().st_mode)
        except FileNotFoundError:
            return False
        (self._links.add if link else self._links.discard)(log.name.log)
        return link

    def _others(self) -> dict[str, str]:
        return {**self._looks.listing.others, **dict.fromkeys(self._links, "a link")}
