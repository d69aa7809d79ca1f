"""A plain segment that grows by one change row at a time, made of the entries of a genuine recorded log.

An entry's CRCs cover its size and its payload and not its place, so recorded entries are copied byte for byte; only the
sync markers around them are new. What was recorded before the first row (the schema) goes into the first section.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from tailer.demo.recording import Recording, load_recording
from tailer.demo.replay import write_recording
from tailer.framing.entry import scan_entries
from tailer.framing.header import encode_header
from tailer.framing.section import MARKER_BYTES, encode_marker
from tailer.limits import ENTRY_OVERHEAD
from tests.helpers.cli import run_process

ENTRY_HEAD_BYTES = 8
SEGMENT_BYTES = 32 * 1024 * 1024
"""The server's default (`commitlog_segment_size`); the file is sparse."""


class Material(NamedTuple):
    """Recorded bytes: a segment's name, id and header, the entries before the first row, entries of one row each."""

    log_name: str
    segment: int
    header: bytes
    schema: bytes
    entries: tuple[bytes, ...]


def load_material() -> Material:
    """From the demo's recording. Which of its entries give one row is asked of a run of `follow --once`."""
    recording = load_recording()
    counts = _rows_of_entries(recording)
    first = recording.segments[0]
    segment = _segment(first.name)
    first_row = min(offset for where, offset in counts if where == segment)
    entries = list(_entries(recording))
    return Material(
        first.name,
        segment,
        first.data[: first.edges[0]],
        b"".join(entry for where, offset, entry in entries if where == segment and offset < first_row),
        tuple(entry for where, offset, entry in entries if counts[where, offset] == 1),
    )


class GrowingSegment:
    """The segment in a folder of its own, as a server writes it: full size at once, linked into `cdc_raw`.

    Below it lie `finished` segments that are COMPLETED and empty, as nobody has cleaned them away.
    """

    def __init__(self, parent: Path, material: Material, finished: int = 0) -> None:
        self.folder = parent / "cdc_raw"
        self.folder.mkdir(parents=True)
        (parent / "commitlog").mkdir()
        for segment in range(material.segment - finished, material.segment):
            self._add_finished(segment)
        self._segment = material.segment
        self._sidecar = self.folder / material.log_name.replace(".log", "_cdc.idx")
        self._next = itertools.cycle(material.entries)
        log = parent / "commitlog" / material.log_name
        self._fd = os.open(log, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        os.ftruncate(self._fd, SEGMENT_BYTES)
        os.pwrite(self._fd, material.header, 0)
        (self.folder / material.log_name).hardlink_to(log)
        self._at = len(material.header)
        self._add_section(material.schema)

    def write_row(self) -> None:
        """One more section with one row: bytes, marker, fdatasync. Not promised yet."""
        self._add_section(next(self._next))

    def publish(self) -> float:
        """Promise what was written, as the server does: truncate, write, close. Gives `perf_counter` of the promise.

        That is behind the write and before `close`: closing wakes the readers, and on a busy machine they run, and may
        print their row, before this process gets to look at a clock again.
        """
        sidecar = os.open(self._sidecar, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(sidecar, str(self._at).encode())
        promised = time.perf_counter()
        os.close(sidecar)
        return promised

    def _add_section(self, entries: bytes) -> None:
        end = self._at + MARKER_BYTES + len(entries)
        os.pwrite(self._fd, entries, self._at + MARKER_BYTES)
        os.pwrite(self._fd, encode_marker(self._segment, self._at, end), self._at)
        os.fdatasync(self._fd)
        self._at = end

    def _add_finished(self, segment: int) -> None:
        log = self.folder / f"CommitLog-7-{segment}.log"
        header = encode_header(7, segment, {})
        log.write_bytes(header)
        os.truncate(log, SEGMENT_BYTES)
        log.with_name(f"{log.stem}_cdc.idx").write_text(f"{len(header)}\nCOMPLETED")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _rows_of_entries(recording: Recording) -> Counter[tuple[int, int]]:
    with tempfile.TemporaryDirectory() as folder:
        for _ in write_recording(recording, Path(folder)):
            pass
        read = run_process(["follow", Path(folder) / "cdc_raw", "--once", "--output", "json"])
    if read.code:
        raise RuntimeError(read.err)
    rows = map(json.loads, read.lines)
    return Counter((row["segment"], row["offset"]) for row in rows)


def _entries(recording: Recording) -> Iterator[tuple[int, int, bytes]]:
    """Segment, offset and bytes (head and CRCs included) of every recorded entry."""
    for recorded in recording.segments:
        for start, end in itertools.pairwise(recorded.edges):
            found = scan_entries(recorded.data[start + MARKER_BYTES : end])
            for payload, size in zip(found.starts, found.sizes, strict=True):
                offset = start + MARKER_BYTES + payload - ENTRY_HEAD_BYTES
                yield _segment(recorded.name), offset, recorded.data[offset : offset + size + ENTRY_OVERHEAD]


def _segment(log_name: str) -> int:
    return int(log_name.removesuffix(".log").split("-")[2])
