"""A look at a `cdc_raw` folder: which segments and sidecars are there now, and what each sidecar says.

The folder is listed anew at each look, because a lower id may appear late. Judges nothing: see `source/survey.py`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

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
    """A sidecar as it was read: `content` is None where it was empty, cut or not a number.

    `version`: inode, size and time of the file when it was read; the same ones, the same content.
    """

    name: SegmentName
    content: Sidecar | None
    modified: float
    version: tuple[int, int, int]

    @property
    def last_word(self) -> bool:
        """It said that no more will come."""
        return self.content is not None and self.content.completed


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


NOTHING: Final = Listing({}, {})


def look(path: Path, before: Listing = NOTHING) -> Listing:
    """The folder as it is now. Files that vanish between listing and reading are simply not there.

    `before`: an earlier look at it. A sidecar that was completed then and has not changed is not read again: a folder
    may hold a hundred of them, and is looked at several times a second.
    """
    logs: dict[int, LogFile] = {}
    sidecars: dict[int, SidecarFile] = {}
    sidecar_files: list[tuple[os.DirEntry[str], SegmentName]] = []
    log_files: list[tuple[os.DirEntry[str], SegmentName]] = []
    with os.scandir(path) as found:
        for file in found:
            if (log_name := parse_log_name(file.name)) is not None:
                log_files.append((file, log_name))
            elif (sidecar_name := parse_sidecar_name(file.name)) is not None:
                sidecar_files.append((file, sidecar_name))
    # Sidecars before logs: a sidecar never promises more than the log holds that is looked at after it.
    for file, name in sidecar_files:
        try:
            known = before.sidecars.get(name.segment)
            unchanged = known is not None and known.last_word and _version(file.stat()) == known.version
            sidecars[name.segment] = known if known is not None and unchanged else _read_sidecar(file.path, name)
        except FileNotFoundError:
            continue
    for file, name in log_files:
        try:
            logs[name.segment] = _log_file(name, file.stat())
        except FileNotFoundError:
            continue
    return Listing(logs, sidecars)


def _version(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _read_sidecar(file: str, name: SegmentName) -> SidecarFile:
    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Before the bytes: what is written meanwhile makes the version an old one, never the content.
        status = os.fstat(fd)
        # One byte more than is allowed: a longer file must not pass as a short one.
        text = os.read(fd, SIDECAR_BYTES_MAX + 1)
    finally:
        os.close(fd)
    return SidecarFile(name, decode_sidecar(text), status.st_mtime, _version(status))


def _log_file(name: SegmentName, status: os.stat_result) -> LogFile:
    return LogFile(name, status.st_nlink, status.st_size, status.st_ctime, status.st_mtime)
