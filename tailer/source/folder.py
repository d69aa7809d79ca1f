"""A look at a `cdc_raw` folder: which segments and sidecars are there now, and what each sidecar says.

The folder is listed anew at each look, because a lower id may appear late. Judges nothing: see `source/survey.py`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from tailer.errors import UsageError
from tailer.format.name import SegmentName, parse_log_name, parse_sidecar_name
from tailer.format.sidecar import Sidecar, decode_sidecar
from tailer.limits import SIDECAR_BYTES_MAX


class LogFile(NamedTuple):
    """A segment's file as `stat` shows it. `changed` is its ctime in seconds."""

    name: SegmentName
    links: int
    size: int
    changed: float
    modified: float


class SidecarFile(NamedTuple):
    """A sidecar as it was read: `content` is None where it was empty, cut or not a number."""

    name: SegmentName
    content: Sidecar | None
    modified: float


class Listing(NamedTuple):
    """What one look saw, by segment id."""

    logs: dict[int, LogFile]
    sidecars: dict[int, SidecarFile]

    @property
    def segments(self) -> list[int]:
        """Ids that have a log, ascending."""
        return sorted(self.logs)


def check_folder(path: Path) -> None:
    """UsageError unless `path` is a folder that can be listed."""
    try:
        with os.scandir(path):
            return
    except FileNotFoundError:
        problem, remedy = "no such folder", "Give the server's cdc_raw_directory (cassandra.yaml)."
    except NotADirectoryError:
        problem, remedy = "this is not a folder", "Give the cdc_raw folder, not a file in it."
    except PermissionError:
        problem, remedy = "no permission to list the folder", "Run as a user in the server's group, e.g. `cassandra`."
    raise UsageError(problem, file=str(path), remedy=remedy)


def look(path: Path) -> Listing:
    """The folder as it is now. Files that vanish between listing and reading are simply not there."""
    logs: dict[int, LogFile] = {}
    sidecars: dict[int, SidecarFile] = {}
    sidecar_names: list[SegmentName] = []
    log_names: list[SegmentName] = []
    with os.scandir(path) as found:
        for item in found:
            if (log_name := parse_log_name(item.name)) is not None:
                log_names.append(log_name)
            elif (sidecar_name := parse_sidecar_name(item.name)) is not None:
                sidecar_names.append(sidecar_name)
    # Sidecars before logs: a sidecar never promises more than the log holds that is looked at after it.
    for name in sidecar_names:
        sidecar = _read_sidecar(path / name.sidecar, name)
        if sidecar is not None:
            sidecars[name.segment] = sidecar
    for name in log_names:
        log = _stat_log(path / name.log, name)
        if log is not None:
            logs[name.segment] = log
    return Listing(logs, sidecars)


def _read_sidecar(path: Path, name: SegmentName) -> SidecarFile | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        # One byte more than is allowed: a longer file must not pass as a short one.
        text = os.read(fd, SIDECAR_BYTES_MAX + 1)
        modified = os.fstat(fd).st_mtime
    finally:
        os.close(fd)
    return SidecarFile(name, decode_sidecar(text), modified)


def _stat_log(path: Path, name: SegmentName) -> LogFile | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return LogFile(name, status.st_nlink, status.st_size, status.st_ctime, status.st_mtime)
