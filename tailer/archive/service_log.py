"""Whether a log is a service's own, and what a reader asks for that begins with all of it. Reads names and heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from tailer.archive.kept import own_folder
from tailer.errors import CdcError, UsageError
from tailer.framing.name import SegmentName, parse_log_name
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.segments.looks import look
from tailer.segments.segment import SegmentFile

_HIGH: Final = "HIGH"
"""What a service's writer keeps beside its own segments, before there is one."""


def begin_with_kept(options: TailOptions, places: Sequence[LogPlace]) -> TailOptions | None:
    """The options of a run from all that the writers of these logs keep; None where they are not services' own.

    UsageError where only some are, where a writer's own segments are not there, and for an archive.
    """
    own = [place for place in places if isinstance(place, Path) and is_service_log(place)]
    if not own:
        return None
    if len(own) < len(places):
        other = next(place for place in places if place not in own)
        raise UsageError(
            "--from snapshot of a service's own log and of another one",
            file=str(other),
            expected="a service's own log, as the others are",
            remedy="Follow them in runs of their own.",
        )
    for place in own:
        _check_kept(place)
    if options.archive is not None:
        raise UsageError(
            "--from snapshot of a service's own log begins with what its writer keeps, and not in an archive",
            remedy="Say --from earliest with the archive, or leave the archive out.",
        )
    return replace(options, start="earliest", kept=True)


def is_service_log(folder: Path) -> bool:
    """Whether a service wrote what is in a log folder, or the writer's own folder beside it."""
    if not folder.is_dir():
        return False
    listing = look(folder)
    if listing.dropped is not None or any(each.own for each in listing.sidecars.values()):
        return True
    if listing.sidecars:
        return False
    own = own_folder(folder)
    return next(_native([own, folder]), (own / _HIGH).is_file())


def _native(folders: Sequence[Path]) -> Iterator[bool]:
    """Of each segment whose head can be read whether its entries are a service's records, the newest first."""
    for folder in folders:
        for name in sorted(_segments(folder), key=lambda each: each.segment, reverse=True):
            with suppress(CdcError, FileNotFoundError), SegmentFile(folder / name.log, name.segment) as file:
                header = file.header()
                if header is not None:
                    yield header.native


def _segments(folder: Path) -> Iterator[SegmentName]:
    if folder.is_dir():
        yield from filter(None, (parse_log_name(file.name) for file in folder.iterdir()))


def _check_kept(place: Path) -> None:
    own = own_folder(place)
    if not own.is_dir():
        raise UsageError(
            "--from snapshot of a service's own log begins with what its writer keeps, and that is not here",
            file=str(place),
            expected=f"the writer's own segments in {own}",
            found="no such folder",
            remedy="Say --from earliest to begin with what is in this folder, or run this where the service runs.",
        )
