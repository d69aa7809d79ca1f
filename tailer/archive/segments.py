"""The archived segments of a log as a reader takes them: what a look shows of each, and its bytes when it is opened.

Manifests and sidecars are read once, of the segments that a reader may come to. A log is fetched when it is opened,
into a file without a name, which goes when it is closed: nothing is left behind by a reader that is killed. What does
not fit its manifest is not there, and a notice says why; whether it is missed, the planner tells.
"""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_left
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tailer.archive.manifest import Manifest, archived_ids, archived_records, checked_parts, read_manifest
from tailer.errors import CorruptError
from tailer.framing.name import parse_log_name
from tailer.framing.sidecar import decode_sidecar
from tailer.segments.folder import LogFile, SidecarFile
from tailer.state.journal_records import AnyRecord, RetractRecord
from tailer.stores.store import Store
from tailer.system_errors import told

_AT_ONCE: Final = 8
"""Manifests that are asked for side by side: an object store takes its time for each."""


class ArchivedSegments:
    """Of one log; see `OlderSegments`."""

    def __init__(self, store: Store, identity: str) -> None:
        self.identity = identity
        self.logs: dict[int, LogFile] = {}
        self.sidecars: dict[int, SidecarFile] = {}
        self.broken: set[int] = set()
        self.previous: dict[int, int] = {}
        self._store = store
        self._manifests: dict[int, Manifest] = {}
        self._first: int | None = None
        self._due = False
        self._news: set[int] = set()
        self._journals: set[str] = set()
        self._taken_back: set[int] = set()
        self._records: list[AnyRecord] = []
        self._notices: list[str] = []

    def begin(self, first: int) -> None:
        if self._first is None or first < self._first:
            self._first, self._due = first, True

    def look(self, *, again: bool) -> set[int]:
        if self._first is not None and (again or self._due):
            self._read(self._first)
            self._due = False
        news, self._news = self._news, set()
        return news

    def tell_again(self) -> None:
        self._news = {*self.logs, *self.broken}

    def path(self, segment: int) -> Path:
        manifest = self._manifests[segment]
        return Path(self._store.where) / self.identity / str(segment) / manifest.log.name

    def descriptor(self, segment: int) -> int:
        manifest = self._manifests.get(segment)
        if manifest is None or segment in self.broken:
            raise FileNotFoundError(f"segment {segment} is not archived")
        parts = checked_parts(self._store, f"{self.identity}/{segment}", manifest.log)
        where = Path(tempfile.gettempdir())
        try:
            with told("cannot keep the archived segment", where, writes=True), tempfile.TemporaryFile() as file:
                file.writelines(parts)
                file.flush()
                return os.dup(file.fileno())
        except CorruptError as error:
            self._break(segment, error)
            raise FileNotFoundError(error.sentence()) from error

    def take_records(self) -> list[AnyRecord]:
        records, self._records = self._records, []
        left_out = self._taken_back
        known = {r.n: r for r in records if not isinstance(r, RetractRecord) and r.n not in left_out}
        return [known[number] for number in sorted(known)]

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def missing(self, segment: int) -> str:
        broken = segment in self.broken
        return f"the archive's segment {segment} is damaged" if broken else f"segment {segment} was never archived"

    def _read(self, first: int) -> None:
        there = archived_ids(self._store, self.identity)
        # With the one before: what is open at the beginning of a segment is said at the end of that one.
        wanted = there[max(bisect_left(there, first) - 1, 0) :]
        new = [each for each in wanted if each not in self._manifests and each not in self.broken]
        if not new:
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(self._take, new):
                pass
        self._read_journals(new)
        self._news.update(new)

    def _take(self, segment: int) -> None:
        """One manifest, and what the sidecar says. Without a manifest it was never archived whole."""
        try:
            manifest = read_manifest(self._store, self.identity, segment)
            if manifest is None:
                return
            name = parse_log_name(manifest.log.name)
            if name is None or name.segment != segment:
                raise CorruptError("the archive's manifest is of another segment", file=manifest.log.name)
            sidecar = None
            if manifest.sidecar is not None:
                text = b"".join(checked_parts(self._store, f"{self.identity}/{segment}", manifest.sidecar))
                sidecar = SidecarFile(name, decode_sidecar(text), manifest.written)
        except CorruptError as error:
            self._break(segment, error)
            return
        self._manifests[segment] = manifest
        self.logs[segment] = LogFile(name, 1, manifest.log.size, manifest.written, manifest.written)
        if sidecar is not None:
            self.sidecars[segment] = sidecar
        if manifest.previous is not None:
            self.previous[segment] = manifest.previous

    def _read_journals(self, segments: Iterable[int]) -> None:
        held = (self._manifests[segment] for segment in segments if segment in self._manifests)
        for file in {manifest.journal.name: manifest.journal for manifest in held}.values():
            if file.name not in self._journals:
                self._records += archived_records(self._store, self.identity, file)
                self._journals.add(file.name)
        self._taken_back |= {record.of for record in self._records if isinstance(record, RetractRecord)}

    def _break(self, segment: int, error: CorruptError) -> None:
        self.broken.add(segment)
        self.logs.pop(segment, None)
        self.sidecars.pop(segment, None)
        self._news.add(segment)
        self._notices.append(f"warning: {error.sentence()}")
