"""What a look at a `cdc_raw` folder sees: its segments and sidecars, and what each sidecar says; and how one is read.

Lists nothing (`looks.py`) and judges nothing (`planning/survey.py`).
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
from tailer.segments.regular import open_regular, status_of
from tailer.system_errors import system_error


class LogFile(NamedTuple):
    """A segment's file as `stat` shows it. `changed` is its ctime in seconds. `inode`: 0 where nobody needs it."""

    name: SegmentName
    links: int
    size: int
    changed: float
    modified: float
    inode: int = 0


class SidecarFile(NamedTuple):
    """A sidecar as it was read: `content` is None where it was empty, cut or not a number. `text`: its bytes."""

    name: SegmentName
    content: Sidecar | None
    modified: float
    text: bytes = b""

    @property
    def own(self) -> bool:
        """Whether it is of a native log's grammar."""
        return self.content is not None and self.content.restart is not None


class Listing(NamedTuple):
    """What was seen, by segment id.

    `dropped`: the highest id that a native log's own limit took away, None where nothing says so. `others`: what has a
    segment's or sidecar's name and is no regular file, with what it is: nobody opens it.
    """

    logs: Mapping[int, LogFile]
    sidecars: Mapping[int, SidecarFile]
    dropped: int | None = None
    others: Mapping[str, str] = MappingProxyType({})

    @property
    def segments(self) -> list[int]:
        """Ids that have a log, ascending."""
        return sorted(self.logs)

    @property
    def odd(self) -> set[int]:
        """Ids of which one of the two names belongs to `others`: little can be said of these segments."""
        names = (parse_log_name(name) or parse_sidecar_name(name) for name in self.others)
        return {name.segment for name in names if name is not None}

    def notices(self) -> list[str]:
        """What there is to say of `others`, one sentence each."""
        return [f"{name} is {kind}, no regular file: it is passed by" for name, kind in sorted(self.others.items())]


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


def read_sidecar(folder: Path, name: SegmentName) -> SidecarFile | str | None:
    """The sidecar as it is now; what it is where it is no regular file, None where it is not there."""
    # Texts, not Paths: joined at each look, they cost as much as what is asked of the system.
    path = f"{folder}/{name.sidecar}"
    status = status_of(path)
    if not isinstance(status, os.stat_result):
        return status
    try:
        fd = open_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise system_error("cannot read the sidecar", error, path) from error
    try:
        # One byte more than is allowed: a longer file must not pass as a short one.
        text = os.read(fd, SIDECAR_BYTES_MAX + 1)
        # Behind the reading: what is newer than the text must not look old.
        modified = os.fstat(fd).st_mtime
    finally:
        os.close(fd)
    return SidecarFile(name, decode_sidecar(text), modified, text)


def stat_log(folder: Path, name: SegmentName) -> LogFile | str | None:
    """The segment's file as it is now; what it is where it is no regular file, None where it is not there."""
    status = status_of(f"{folder}/{name.log}")
    if not isinstance(status, os.stat_result):
        return status
    return LogFile(name, status.st_nlink, status.st_size, status.st_ctime, status.st_mtime, status.st_ino)


def read_dropped(folder: Path, before: int | None) -> int | None:
    """The number in it; what was known before where it is none."""
    path = folder / DROPPED
    if not isinstance(status_of(path), os.stat_result):
        return before
    try:
        fd = open_regular(path)
    except FileNotFoundError:
        return before
    try:
        text = os.read(fd, SIDECAR_BYTES_MAX).strip()
    finally:
        os.close(fd)
    return max(int(text), before or 0) if text.isdigit() else before
