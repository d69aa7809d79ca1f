"""A Cassandra node that captures changes: the bytes and the files of a real one, in the order in which it makes them.

From the format page and the files of real servers, with nothing of the product. A segment has its second name in
`cdc_raw` from its creation on; a sync writes the section, then its marker, syncs the file, and then writes the idx file
in place, truncated first. A node that starts again replays what its commit log holds: then the idx file says the file's
length.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.helpers.logs.frame import SectionPlace, SegmentWriter
from tests.helpers.logs.mutation import encode_mutation
from tests.simulation.database import Change
from tests.simulation.logged import Ledger, Logged

FILE_BYTES: Final = 1 << 16
"""The length that a segment has from its beginning; it is sparse."""


class CassandraNode:
    """One run of the server, in the process that makes this: it ends with it. `home` has `commitlog` and `cdc_raw`."""

    def __init__(self, home: Path, ledger: Ledger) -> None:
        self._commitlog, self._raw = home / "commitlog", home / "cdc_raw"
        self._ledger = ledger
        self._pending: list[Change] = []
        for folder in (self._commitlog, self._raw):
            folder.mkdir(exist_ok=True)
        # As CommitLogSegment's idBase: above what its commit log holds. A clock that is right is above all others, too.
        replayed = self._replay()
        highest = replayed if ledger.back else max([replayed, *map(_segment_of, self._raw.glob("*.log"))])
        self._open(max(time.time_ns() // 10**6, highest + 1))

    def write(self, change: Change) -> None:
        """Acknowledged at once: it is in the buffer of the next section."""
        self._pending.append(change)

    def sync(self) -> None:
        """What was written is durable, and promised."""
        if not self._pending:
            return
        payloads = [encode_mutation(each.mutation) for each in self._pending]
        place = self._writer.section(payloads)
        data = bytes(self._writer.data[place.at : place.next_at])
        segment = self._writer.segment
        logged = [
            Logged((segment, entry.start), change) for entry, change in zip(place.entries, self._pending, strict=True)
        ]
        self._ledger.written[segment].append((place, data, logged))
        self._captured = self._captured or any(each.is_captured for each in logged)
        self._pending = []
        os.pwrite(self._file, data[8:], place.at + 8)
        os.pwrite(self._file, data[:8], place.at)
        os.fdatasync(self._file)
        self._ledger.settle(segment, len(self._ledger.written[segment]))
        if self._captured:
            self._idx(f"{place.end}")

    @property
    def position(self) -> tuple[int, int]:
        """Behind all that was synced: segment and offset."""
        return self._writer.segment, self._writer.end

    def roll(self) -> None:
        """The segment is closed; the next one begins."""
        self.sync()
        self._finish()
        self._open(self._writer.segment + 1)

    def stop(self) -> None:
        """In order, as `nodetool drain` does."""
        self.sync()
        self._finish()

    def _finish(self) -> None:
        if self._captured:
            self._idx(f"{self._writer.end}\nCOMPLETED")
        os.close(self._file)
        (self._commitlog / self._writer.name).unlink()
        if not self._captured:
            # Without a captured change its name in `cdc_raw` goes, and nobody has read it.
            (self._raw / self._writer.name).unlink()
            with contextlib.suppress(FileNotFoundError):
                (self._raw / self._writer.sidecar_name).unlink()

    def _open(self, segment: int) -> None:
        # No two segments that begin within a millisecond are given one id.
        while segment in self._ledger.written:
            segment += 1
        self._writer, self._captured = SegmentWriter(segment), False
        self._ledger.written[segment] = []
        log = self._commitlog / self._writer.name
        self._file = os.open(log, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        os.ftruncate(self._file, FILE_BYTES)
        os.pwrite(self._file, self._writer.data, 0)
        (self._raw / self._writer.name).hardlink_to(log)

    def _idx(self, text: str) -> None:
        file = os.open(self._raw / self._writer.sidecar_name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(file, text.encode())
        os.close(file)

    def _replay(self) -> int:
        """The highest segment of what another run has left. All that its files hold is durable now."""
        highest = 0
        for log in sorted(self._commitlog.iterdir()):
            segment = _segment_of(log)
            highest = max(highest, segment)
            data = log.read_bytes()
            there = _sections(data, self._ledger.written.get(segment, ()))
            if there:
                self._ledger.settle(segment, there)
            written = self._ledger.written.get(segment, [])[:there]
            captured = any(each.is_captured for _, _, logged in written for each in logged)
            raw = self._raw / log.name
            if captured:
                if not raw.exists():
                    raw.hardlink_to(log)
                (self._raw / f"{log.stem}_cdc.idx").write_text(f"{len(data)}\nCOMPLETED")
            elif raw.exists():
                raw.unlink()
            log.unlink()
        return highest


def _segment_of(log: Path) -> int:
    return int(log.stem.rpartition("-")[2])


def _sections(data: bytes, written: Iterable[tuple[SectionPlace, bytes, list[Logged]]]) -> int:
    """How many sections of a segment its file has."""
    count = 0
    for place, section, _ in written:
        if data[place.at : place.next_at] != section:
            break
        count += 1
    return count
