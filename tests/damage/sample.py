"""The small segments that are damaged: one per codec, a few sections, some ten entries, and the rows that they hold."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.damage.damages import Damage
from tests.damage.deliver import Outcome, deliver
from tests.helpers.log_writer import (
    FORMATS,
    KEY,
    LogFolder,
    SectionPlace,
    SegmentWriter,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)

SEGMENT = 1_700_000_000_001
TABLE = simple_table("ks", "t")
SECTIONS: tuple[list[int], ...] = ([], [0, 1, 2], [], [3, 4, 5], [6, 7, 8])
"""The rows of each section, by the value they set; the definition stands first."""


@dataclass(frozen=True)
class Sample:
    """One segment and its truth: each row's text, with the logical offsets of its entry."""

    writer: SegmentWriter
    rows: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def vouched(self, end: int) -> tuple[str, ...]:
        """The rows up to the last section edge not beyond `end`."""
        edge = max((section.end for section in self.writer.sections if section.end <= end), default=0)
        return tuple(row for row, stop in zip(self.rows, self.ends, strict=True) if stop <= edge)

    @property
    def readable(self) -> bool:
        """Whether the file holds the plain bytes as they are, so that it tells where an entry lies."""
        return self.writer.form.name in ("plain", "noop")

    def body_at(self, place: SectionPlace) -> int:
        """File offset of a section's body."""
        return place.at + (12 if self.writer.form.framed else 8)

    def file_offset(self, place: SectionPlace, logical: int) -> int:
        """File offset of a logical one inside a section of a readable form."""
        return self.body_at(place) + logical - place.start - 8

    @property
    def last(self) -> SectionPlace:
        return self.writer.sections[-1]

    @property
    def before_last(self) -> int:
        """A sidecar's number that lags one section behind."""
        return self.last.start


def make(form: str) -> SegmentWriter:
    payloads = [[insert_payload(TABLE, v, f"k{v}", v) for v in values] for values in SECTIONS]
    payloads[0].append(create_payload(TABLE))
    writer = segment_of(SEGMENT, payloads, form=FORMATS[form])
    if form == "plain":
        # What a live file shows behind its last marker: the next marker's zeros, entries not yet covered, more zeros.
        writer.data += bytes(8) + writer.entries[1].bytes
        writer.pad(len(writer.data) + 40)
    return writer


@cache
def sample(form: str, folder: Path) -> Sample:
    """The segment read undamaged, checked against what was put into it."""
    writer = make(form)
    log = LogFolder(folder / form / "truth")
    log.put(writer, live(writer))
    rows = read(log.path).rows
    entries = writer.entries[1:]
    values = [json.loads(row)["columns"]["v"] for row in rows]
    offsets = [json.loads(row)["offset"] for row in rows]
    assert values == [value for section in SECTIONS for value in section]
    assert offsets == [entry.start for entry in entries]
    return Sample(writer, tuple(rows), tuple(offsets), tuple(entry.end for entry in entries))


def read(folder: Path, **options: Any) -> Outcome:
    return deliver(folder, keys=lambda alias: KEY, **options)


class Patient:
    """A log file that is damaged in place and healed again."""

    def __init__(self, path: Path, healthy: bytes) -> None:
        path.write_bytes(healthy)
        self.healthy = healthy
        self._path = path

    def hurt(self, damage: Damage) -> AbstractContextManager[bytes]:
        """With this damage; the file's content."""
        if damage.wrong is None:
            return self.cut_to(damage.at)
        return self.with_bytes(damage.at, damage.wrong)

    @contextmanager
    def with_bytes(self, at: int, damaged: bytes) -> Iterator[bytes]:
        """These bytes instead of those at file offset `at`; the file's content."""
        with self._path.open("r+b", buffering=0) as file:
            os.pwrite(file.fileno(), damaged, at)
            try:
                yield self.healthy[:at] + damaged + self.healthy[at + len(damaged) :]
            finally:
                os.pwrite(file.fileno(), self.healthy[at : at + len(damaged)], at)

    @contextmanager
    def cut_to(self, length: int) -> Iterator[bytes]:
        """The first `length` bytes only; the file's content."""
        os.truncate(self._path, length)
        try:
            yield self.healthy[:length]
        finally:
            self._path.write_bytes(self.healthy)
