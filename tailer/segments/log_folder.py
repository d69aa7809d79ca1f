"""Whether a folder is one that a log is kept in, and which one was probably meant where it is not.

A server or a service has two names of each segment: its own, in `commitlog`, and the readers', in `cdc_raw`, where the
sidecars are. Reads names and inodes, and no file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from tailer.errors import SystemFailedError, UsageError
from tailer.framing.name import parse_log_name, parse_sidecar_name
from tailer.segments.folder import DROPPED, check_folder

NAME: Final = "cdc_raw"
"""What Cassandra and `writer_hooks` call the folder: one of this name is taken though it is empty."""

OWN_NAME: Final = "commitlog"
STATE_SUFFIX: Final = ".cdc_tail"
"""What the name of the state folder has behind that of the log folder beside it."""

_LOOKED_AT: Final = 1000
"""Entries of a folder in which a log folder is looked for."""

_WANTED: Final = f"a server's cdc_raw_directory, or the {NAME} of a service"
_REMEDY: Final = (
    f"Give the server's cdc_raw_directory (cassandra.yaml); one that is still empty is taken if its name is {NAME}."
)

_LATER: Final = (
    "Is its file system mounted, and has the server been started with cdc_enabled? Start again then. Else give the "
    "server's cdc_raw_directory (cassandra.yaml)."
)


def check_log_folder(path: Path, known: Callable[[], bool]) -> None:
    """UsageError unless a log is kept in `path`; it names the folder that was probably meant. SystemFailedError where a
    log may be there later: nothing is there, and a log was read there before, or the folder has the name of one and
    may be made or mounted yet.

    Any folder with a sidecar is one, whatever its name, and one of segments alone if no server or service has them as
    its own. `known`: whether a log was read here before, so that an empty folder is one whose segments are gone.
    """
    if not os.path.lexists(path) and (known() or _may_come(path)):
        raise SystemFailedError("no such folder", file=str(path), remedy=_LATER)
    check_folder(path)
    segments = _inodes(path)
    if segments is None:
        return
    real = Path(os.path.realpath(path))
    if segments:
        found = f"segments that a server or a service has as its own ({OWN_NAME})"
        wrong = real.name == OWN_NAME or any(_shares(other, segments) for other in _beside(real))
    else:
        found = "neither a segment nor a sidecar"
        wrong = (real / NAME).is_dir() or not (NAME in (path.name, real.name) or known())
    if wrong:
        remedy = probably(path) or _REMEDY
        raise UsageError("this is no log folder", file=str(path), expected=_WANTED, found=found, remedy=remedy)


def _may_come(path: Path) -> bool:
    """Whether a folder that is not there may be a log's at boot: its file system is mounted later, or the server makes
    it at its first start. What is above it is there then, or the next folder above is a mount point, which is empty."""
    if path.name != NAME:
        return False
    above = Path(os.path.abspath(path)).parent  # noqa: PTH100 - links stay as they were named
    if os.path.isdir(above):  # noqa: PTH112 - one that may not be looked at is none
        return True
    there = next(each for each in above.parents if os.path.isdir(each))  # noqa: PTH112
    try:
        with os.scandir(there) as found:
            return next(found, None) is None
    except PermissionError:
        return False


def probably(path: Path) -> str:
    """A sentence with the log folders that may have been meant by another one; empty where there are none near it."""
    meant = list(_meant(Path(os.path.realpath(path))))
    return f"Probably meant: {' or '.join(map(str, meant))}." if meant else ""


def _inodes(path: Path) -> set[int] | None:
    """The segments in a folder by their inodes; None where a reader's file says that it is a log folder."""
    segments = set()
    with os.scandir(path) as found:
        for file in found:
            if file.name == DROPPED or parse_sidecar_name(file.name) is not None:
                return None
            if parse_log_name(file.name) is not None:
                segments.add(file.inode())
    return segments


def _beside(real: Path) -> Iterator[Path]:
    """Where readers have their names of the segments in a folder, if it is somebody's own."""
    return (other for other in (real / NAME, real.parent / NAME) if other != real and other.is_dir())


def _shares(other: Path, segments: set[int]) -> bool:
    """Whether another folder has one of these segments too."""
    try:
        with os.scandir(other) as found:
            return any(file.inode() in segments for file in found if parse_log_name(file.name) is not None)
    except PermissionError:
        # Who cannot be asked is no witness.
        return False


def _meant(real: Path) -> Iterator[Path]:
    """Log folders near a folder: that it is the state of, that it lies in, in it, beside it; else one level deeper."""
    near = [real.with_name(real.name.removesuffix(STATE_SUFFIX))] if real.name.endswith(STATE_SUFFIX) else []
    near += [parent for parent in real.parents if parent.name == NAME]
    near += [real / NAME, real.parent / NAME]
    there = [each for each in dict.fromkeys(near) if each != real and each.is_dir()]
    yield from there or _deeper(real)


def _deeper(real: Path) -> Iterator[Path]:
    with os.scandir(real) as found:
        for file in islice(found, _LOOKED_AT):
            if file.is_dir(follow_symlinks=False) and (inner := Path(file.path) / NAME).is_dir():
                yield inner
