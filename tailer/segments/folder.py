"""A look at a `cdc_raw` folder: which segments and sidecars are there now, and what each sidecar says.

The folder is listed anew at each look, because a lower id may appear late. Judges nothing: see `planning/survey.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from tailer.errors import UsageError
from tailer.framing.name import SegmentName, parse_log_name, parse_sidecar_name
from tailer.framing.sidecar import Sidecar, decode_sidecar
from tailer.limits import SIDECAR_BYTES_MAX
from tailer.segments.regular import open_regular, other_kind
from tailer.system_errors import system_error, told


class LogFile(NamedTuple):
    """A segment's file as `stat` shows it. `changed` is its ctime in seconds."""

    name: SegmentName
    inode: int
    links: int
    size: int
    changed: float
    modified: float


class SidecarFile(NamedTuple):
    """A sidecar as it was read: `content` is None where it was empty, cut or not a number."""

    name: SegmentName
    inode: int
    content: Sidecar | None
    modified: float


class Listing(NamedTuple):
    """What one look saw, by segment id. `known`: ids that it took over from the look before.

    `dropped`: the highest id that a native log's own limit took away, None where nothing says so. `others`: what has a
    segment's or sidecar's name and is no regular file, with what it is: nobody opens it.
    """

    logs: dict[int, LogFile]
    sidecars: dict[int, SidecarFile]
    known: frozenset[int] = frozenset()
    dropped: int | None = None
    others: Mapping[str, str] = MappingProxyType({})

    @property
    def segments(self) -> list[int]:
        """Ids that have a log, ascending."""
        return sorted(self.logs)

    @property
    def linked(self) -> bool:
        """Some log has a second name, in the server's own folder. Counts that were taken over say nothing of now."""
        return any(log.links >= 2 for segment, log in self.logs.items() if segment not in self.known)

    @property
    def odd(self) -> set[int]:
        """Ids of which one of the two names belongs to `others`: little can be said of these segments."""
        names = (parse_log_name(name) or parse_sidecar_name(name) for name in self.others)
        return {name.segment for name in names if name is not None}

    def notices(self) -> list[str]:
        """What there is to say of `others`, one sentence each."""
        return [f"{name} is {kind}, no regular file: it is passed by" for name, kind in sorted(self.others.items())]


NOTHING: Final = Listing({}, {})

DROPPED: Final = "DROPPED"
"""The file in which the writer of a native log says what its limit took away, before it does."""


def check_folder(path: Path) -> None:
    """UsageError unless `path` is a folder that can be listed."""
    try:
        with os.scandir(path):
            return
    except FileNotFoundError:
        problem, remedy = "no such folder", "Give the server's cdc_raw_directory (cassandra.yaml)."
    except NotADirectoryError:
        problem, remedy = "this is not a folder", "Give the cdc_raw folder, not a file in it."
    except OSError as error:
        raise system_error("cannot list the folder", error, path) from error
    raise UsageError(problem, file=str(path), remedy=remedy)


_Files = Mapping[SegmentName, "os.DirEntry[str]"]


def look(path: Path, before: Listing = NOTHING) -> Listing:
    """The folder as it is now. Files that vanish between listing and reading are simply not there.

    What was completed in `before` and is there by name and inode is taken over as it was: a folder may hold a hundred
    of such segments, and is looked at for each row.
    """
    sidecar_files: dict[SegmentName, os.DirEntry[str]] = {}
    log_files: dict[SegmentName, os.DirEntry[str]] = {}
    dropped = None
    with os.scandir(path) as found:
        for file in found:
            if file.name == DROPPED:
                dropped = file
            elif (log_name := parse_log_name(file.name)) is not None:
                log_files[log_name] = file
            elif (sidecar_name := parse_sidecar_name(file.name)) is not None:
                sidecar_files[sidecar_name] = file
    known = _known(sidecar_files, log_files, before)
    cap = before.dropped if dropped is None else _read_dropped(dropped, before.dropped)
    others: dict[str, str] = {}
    logs = {segment: before.logs[segment] for segment in known}
    sidecars = {segment: before.sidecars[segment] for segment in known}
    # Sidecars before logs: a sidecar never promises more than the log holds that is looked at after it.
    for name, file in sidecar_files.items():
        if name.segment not in known and (sidecar := _read_sidecar(file, name, others)) is not None:
            sidecars[name.segment] = sidecar
    for name, file in log_files.items():
        if name.segment not in known and (log := _stat_log(file, name, others)) is not None:
            logs[name.segment] = log
    return Listing(logs, sidecars, known, cap, others)


def _known(sidecars: _Files, logs: _Files, before: Listing) -> frozenset[int]:
    """The segments that were completed and whose two files are still those. Asks nothing of the file system."""
    known = set()
    for segment, sidecar in before.sidecars.items():
        log = before.logs.get(segment)
        if log is None or sidecar.content is None or not sidecar.content.completed:
            continue
        sidecar_now, log_now = sidecars.get(sidecar.name), logs.get(log.name)
        if sidecar_now is None or log_now is None:
            continue
        if (sidecar_now.inode(), log_now.inode()) == (sidecar.inode, log.inode):
            known.add(segment)
    return frozenset(known)


def _read_sidecar(file: os.DirEntry[str], name: SegmentName, others: dict[str, str]) -> SidecarFile | None:
    if (kind := other_kind(file)) is not None:
        others[file.name] = kind
        return None
    try:
        with told("cannot read the sidecar", Path(file.path)):
            fd = open_regular(file.path)
    except FileNotFoundError:
        return None
    try:
        # One byte more than is allowed: a longer file must not pass as a short one.
        text = os.read(fd, SIDECAR_BYTES_MAX + 1)
        # Behind the reading: what is newer than the text must not look old.
        modified = os.fstat(fd).st_mtime
    finally:
        os.close(fd)
    return SidecarFile(name, file.inode(), decode_sidecar(text), modified)


def _read_dropped(file: os.DirEntry[str], before: int | None) -> int | None:
    """The number in it; what was known before where it is none."""
    if other_kind(file) is not None:
        return before
    try:
        fd = open_regular(file.path)
    except FileNotFoundError:
        return before
    try:
        text = os.read(fd, SIDECAR_BYTES_MAX).strip()
    finally:
        os.close(fd)
    return max(int(text), before or 0) if text.isdigit() else before


def _stat_log(file: os.DirEntry[str], name: SegmentName, others: dict[str, str]) -> LogFile | None:
    if (kind := other_kind(file)) is not None:
        others[file.name] = kind
        return None
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return LogFile(name, file.inode(), status.st_nlink, status.st_size, status.st_ctime, status.st_mtime)
