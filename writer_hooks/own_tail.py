"""What can be believed of a dead segment: its end, and whether readers of `cdc_raw` need it. Changes nothing."""

from __future__ import annotations

from typing import NamedTuple

from tailer.errors import CorruptError
from tailer.framing.header import Header
from tailer.framing.sidecar import Sidecar
from tailer.position import Position
from tailer.scan.record.tracked import Finder
from writer_hooks.own_sections import Reader, Whole, state_of, whole_sections


class Tail(NamedTuple):
    """`ended`: its sidecar says DONE. `whole`: everything of it was read, else only that it has an entry.

    `end` is logical, `file_end` in the file; from `rewrite_at` on nothing is published. `tracked`: it holds something
    for readers of `cdc_raw`, from the section at `first` on at the earliest. `last_ts`: see `State`.
    """

    ended: bool
    whole: bool
    end: int = 0
    file_end: int = 0
    rewrite_at: int = 0
    tracked: bool = False
    first: int = 0
    last_ts: int = 0


def read_tail(
    reader: Reader, segment: int, sidecar: Sidecar | None, bound: Position | None, whole: bool
) -> Tail | None:
    """None for a segment without an entry. `bound`: where belief ends after a failed fsync.

    Raises CorruptError where something published does not check.
    """
    published = sidecar.end if sidecar is not None else 0
    ended = sidecar is not None and sidecar.completed
    header = reader.header()
    if header is None or header.segment != segment:
        _check_nothing(reader, segment, published)
        return None
    limit = _limit(segment, published, bound)
    if ended or not whole:
        first = next(whole_sections(reader, header), None)
        if first is None or (limit is not None and first.end > limit):
            _check_nothing(reader, segment, published)
            return None
        return Tail(ended, False)
    tail = _walk(reader, header, published, limit, sidecar)
    if tail.end < published:
        raise _corrupt(reader, Position(segment, tail.end), published)
    return tail if tail.end > header.length else None


def _limit(segment: int, published: int, bound: Position | None) -> int | None:
    if bound is None or segment < bound.segment:
        return None
    return max(published, bound.offset) if segment == bound.segment else published


def _check_nothing(reader: Reader, segment: int, published: int) -> None:
    if published:
        raise _corrupt(reader, Position(segment, 0), published)


def _corrupt(reader: Reader, at: Position, published: int) -> CorruptError:
    return CorruptError(
        "a segment does not check where it was durable",
        at=at,
        file=str(reader.path),
        expected=f"whole sections up to {published}",
        found=f"none from {at.offset} on",
        remedy="The file is damaged: restore it, or move it away and accept what is lost.",
    )


def _walk(reader: Reader, header: Header, published: int, limit: int | None, sidecar: Sidecar | None) -> Tail:
    end = file_end = rewrite_at = header.length
    last: Whole | None = None
    finder = Finder(header.segment, header.length)
    for section in whole_sections(reader, header):
        if limit is not None and section.end > limit:
            break
        end, file_end, last = section.end, section.next_at, section
        if end <= published:
            rewrite_at = file_end
        if sidecar is None:
            finder.look(section.start, (payload for _, payload in section.payloads()))
    first = sidecar.first if sidecar is not None and sidecar.first is not None else finder.first
    last_ts = 0 if last is None else state_of(reader, header, last).last_ts
    return Tail(False, True, end, file_end, rewrite_at, finder.tracked, first, last_ts)
