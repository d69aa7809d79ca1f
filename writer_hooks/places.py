"""Names of a log's folders and files. Touches no disk."""

from __future__ import annotations

from pathlib import Path

from tailer.framing.name import SegmentName, parse_log_name, parse_sidecar_name

DESCRIPTOR = 7
"""Segments are framed as this descriptor of Cassandra's says."""


class Places:
    """Where everything of one log lies: `commitlog` is the writer's own, `cdc_raw` what readers see."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commitlog = folder / "commitlog"
        self.cdc_raw = folder / "cdc_raw"
        self.lock = self.commitlog / "LOCK"
        self.high = self.commitlog / "HIGH"
        self.failed = self.commitlog / "FAILED"
        self.dropped = self.cdc_raw / "DROPPED"
        self.newest = self.cdc_raw / "NEWEST"

    def own(self, segment: int) -> Path:
        """The writer's name of a segment."""
        return self.commitlog / SegmentName(DESCRIPTOR, segment).log

    def raw(self, segment: int) -> Path:
        """The readers' name of a segment."""
        return self.cdc_raw / SegmentName(DESCRIPTOR, segment).log

    def sidecar(self, segment: int) -> Path:
        return self.cdc_raw / SegmentName(DESCRIPTOR, segment).sidecar


def log_ids(names: list[str]) -> list[int]:
    """Ids of the segments among the names of a folder, in order."""
    found = [parse_log_name(name) for name in names]
    return sorted(name.segment for name in found if name is not None and name.version == DESCRIPTOR)


def sidecar_ids(names: list[str]) -> list[int]:
    """Ids of the sidecars among the names of a folder, in order."""
    found = [parse_sidecar_name(name) for name in names]
    return sorted(name.segment for name in found if name is not None and name.version == DESCRIPTOR)
