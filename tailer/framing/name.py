"""File names of segments and sidecars (format page, section 1). Knows no folder."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SEGMENT: Final = re.compile(r"CommitLog-(\d{1,9})-(\d{1,19})\.log", re.ASCII)
_SIDECAR: Final = re.compile(r"CommitLog-(\d{1,9})-(\d{1,19})_cdc\.idx", re.ASCII)


class SegmentName(NamedTuple):
    """Descriptor version and segment id, as the file's name says them."""

    version: int
    segment: int

    @property
    def log(self) -> str:
        return f"CommitLog-{self.version}-{self.segment}.log"

    @property
    def sidecar(self) -> str:
        return f"CommitLog-{self.version}-{self.segment}_cdc.idx"


def parse_log_name(name: str) -> SegmentName | None:
    """The version and id in a segment's file name; None for any other file."""
    match = _SEGMENT.fullmatch(name)
    return SegmentName(int(match[1]), int(match[2])) if match else None


def parse_sidecar_name(name: str) -> SegmentName | None:
    """The version and id in a sidecar's file name; None for any other file."""
    match = _SIDECAR.fullmatch(name)
    return SegmentName(int(match[1]), int(match[2])) if match else None
