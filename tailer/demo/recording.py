"""The demo's recording: a genuine log of a Cassandra server, as package data. Writes nothing and knows no replay.

`recording/` holds `recording.json` and one `.log.xz` for each segment: its bytes up to the end of its log (what follows
in the server's file are zeros). It was made from a recorded run by `tests/demo/make_recording.py`.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class RecordedSegment:
    """One segment as the server left it.

    `data` ends where the log ends; the server's file is `size` bytes long, the rest zeros. `edges` are file offsets:
    the header's end, then the end of each section. `first_published` is the first end that the server's sidecar held
    (a segment gets one with its first change of a table with CDC); None for a spare that was never written to.
    """

    name: str
    size: int
    data: bytes
    edges: tuple[int, ...]
    first_published: int | None

    @property
    def end(self) -> int:
        """Where the log ends: the last section edge."""
        return self.edges[-1]


@dataclass(frozen=True, slots=True)
class Recording:
    """The segments in the order of their ids, and the spare that stood ahead of the last one."""

    cassandra: str
    segments: tuple[RecordedSegment, ...]
    spare: RecordedSegment


def load_recording() -> Recording:
    """The recording that this package carries."""
    folder = files("tailer.demo").joinpath("recording")
    manifest = json.loads(folder.joinpath("recording.json").read_text("utf-8"))
    segments = tuple(
        RecordedSegment(
            name=entry["name"],
            size=entry["size"],
            data=lzma.decompress(folder.joinpath(entry["name"] + ".xz").read_bytes()),
            edges=tuple(entry["edges"]),
            first_published=entry["first_published"],
        )
        for entry in manifest["segments"]
    )
    return Recording(manifest["cassandra"], segments[:-1], segments[-1])
