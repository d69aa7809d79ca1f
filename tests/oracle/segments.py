"""How far each segment of a folder may be read: sidecars, link counts and sync markers.

Walks the framing of a log only: header, markers, and the plain length of compressed and encrypted sections.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

_LOG = re.compile(r"CommitLog-\d+-(\d+)\.log")


@dataclass(frozen=True)
class Segment:
    """A log as it lies there. `edges` are logical: the header's length, then every section's end."""

    id: int
    edges: tuple[int, ...]
    sidecar: str | None
    links: int

    @property
    def completed(self) -> bool:
        return self.sidecar is not None and self.sidecar.endswith("\nCOMPLETED")

    @property
    def published(self) -> int:
        """The sidecar's number, 0 where there is none."""
        found = re.match(r"\d+", self.sidecar or "")
        return int(found[0]) if found else 0

    @property
    def log_end(self) -> int:
        return self.edges[-1]

    def covered(self) -> int:
        """The last section edge not beyond the sidecar."""
        return max((edge for edge in self.edges if edge <= self.published), default=0)


@dataclass(frozen=True)
class Reach:
    """Rows count up to `limit` (logical, an entry's end), definitions up to `known`."""

    segment: int
    limit: int
    known: int


@dataclass(frozen=True)
class Plan:
    """The segments in order; `held` is the unfinished one that is waited for, `promised` what stands behind it."""

    reaches: tuple[Reach, ...]
    held: int | None
    promised: tuple[int, ...]


def segments(folder: Path) -> list[Segment]:
    found = []
    for log in folder.iterdir():
        if named := _LOG.fullmatch(log.name):
            sidecar = log.with_name(f"{log.stem}_cdc.idx")
            text = sidecar.read_text() if sidecar.exists() else None
            found.append(Segment(int(named[1]), edges(log.read_bytes()), text, log.stat().st_nlink))
    return sorted(found, key=lambda segment: segment.id)


def plan(found: list[Segment], *, stopped: bool) -> Plan:
    """Which part of which segment counts (architecture section 3)."""
    links_tell = any(segment.links > 1 for segment in found)
    reaches = []
    for number, segment in enumerate(found):
        finished = stopped or segment.completed or (links_tell and segment.links == 1)
        if segment.sidecar is None and not stopped:
            reaches.append(Reach(segment.id, 0, segment.log_end))
        elif finished:
            reaches.append(Reach(segment.id, segment.log_end, segment.log_end))
        else:
            reaches.append(Reach(segment.id, segment.covered(), segment.covered()))
            behind = tuple(later.id for later in found[number + 1 :] if later.published)
            return Plan(tuple(reaches), segment.id, behind)
    return Plan(tuple(reaches), None, ())


def edges(data: bytes) -> tuple[int, ...]:
    """Logical edges of the sections whose markers check, from the header on; (0,) where there is no header yet."""
    if len(data) < 18 or not any(data[:4]):
        return (0,)
    size = int.from_bytes(data[12:14], "big")
    parameters = json.loads(data[14 : 14 + size])
    framed = "compressionClass" in parameters or "encCipher" in parameters
    seed = zlib.crc32(data[8:12] + data[4:8])
    at = logical = 18 + size
    made = [logical]
    while at + 8 <= len(data):
        following, check = struct.unpack_from(">II", data, at)
        if zlib.crc32(struct.pack(">I", at), seed) != check or not at + 8 <= following <= len(data):
            break
        logical += 8 + (struct.unpack_from(">i", data, at + 8)[0] if framed else following - at - 8)
        made.append(logical)
        at = following
    return tuple(made)
