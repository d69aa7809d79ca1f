"""A log folder that a server writes in: one live segment at a time, section by section, then the next segment.

Every step is made in the order and in the way a server makes it: bytes, marker, fdatasync, then the sidecar, truncated
and written in place; the live segment has a second name in `commitlog/` beside the folder, a finished one has not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from tests.helpers.logs.frame import SegmentWriter

FILE_BYTES = 1024 * 1024
"""The length that a segment has from its beginning; it is sparse."""


class GrowingLog:
    """`cdc_raw` is made in `parent`. The first segment is there, and empty, when this is made."""

    def __init__(self, parent: Path, segment: int) -> None:
        self.folder = parent / "cdc_raw"
        self.folder.mkdir(parents=True)
        self._beside = parent / "commitlog"
        self._beside.mkdir()
        self._open(segment)

    def section(self, payloads: Iterable[bytes]) -> None:
        """One more section, durable but not promised yet."""
        place = self._writer.section(payloads)
        data = self._writer.data[place.at : place.next_at]
        os.pwrite(self._file, data[8:], place.at + 8)
        os.pwrite(self._file, data[:8], place.at)
        os.fdatasync(self._file)

    def publish(self) -> float:
        """Promise what is durable; gives `perf_counter` of the promise, just before readers are woken."""
        return self._write_sidecar(str(self._writer.end))

    def publish_whole(self) -> None:
        """As `publish`, but in one piece: nobody sees a sidecar that is empty."""
        text = self.folder.parent / "sidecar"
        text.write_text(str(self._writer.end))
        text.replace(self.folder / self._writer.sidecar_name)

    def roll_over(self) -> None:
        """Finish the live segment and begin the next."""
        self.finish()
        self._open(self._writer.segment + 1)

    def finish(self) -> None:
        self._write_sidecar(f"{self._writer.end}\nCOMPLETED")
        os.close(self._file)
        (self._beside / self._writer.name).unlink()

    def _open(self, segment: int) -> None:
        self._writer = SegmentWriter(segment)
        log = self._beside / self._writer.name
        self._file = os.open(log, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        os.ftruncate(self._file, FILE_BYTES)
        os.pwrite(self._file, self._writer.data, 0)
        (self.folder / self._writer.name).hardlink_to(log)

    def _write_sidecar(self, text: str) -> float:
        sidecar = os.open(self.folder / self._writer.sidecar_name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(sidecar, text.encode())
        promised = time.perf_counter()
        os.close(sidecar)
        return promised
