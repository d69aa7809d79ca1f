"""What an open finds of a run before, made whole: durable as far as it checks, every segment ended truthfully.

Killed anywhere and run again it gives the same: no byte of a section that checks is ever absent from its file. Knows
nothing of appends.
"""

from __future__ import annotations

from typing import NamedTuple

from tailer.errors import CorruptError
from tailer.framing.sidecar import Sidecar, decode_sidecar
from tailer.position import Position
from writer_hooks.create import remove_segment
from writer_hooks.disk import (
    TEMPORARY,
    Files,
    read_all,
    read_small,
    sync_file,
    sync_folder,
    unlink_if_there,
    write_all,
)
from writer_hooks.failed import read_failed
from writer_hooks.newest_segment import check_newest, read_newest, write_newest
from writer_hooks.own_sections import Reader
from writer_hooks.own_tail import Tail, read_tail
from writer_hooks.places import Places, log_ids, sidecar_ids
from writer_hooks.publisher import Published, write_done

_PIECE = 1 << 20


class Recovered(NamedTuple):
    """`used`: every id in a file name; `end`: where the log ended, `0:0` where nothing is left of it; `last_ts`: the
    last time that it gave to a change, 0 for none."""

    used: list[int]
    end: Position
    last_ts: int


class Found(NamedTuple):
    """The folders as they were found. `raw`: ids with a link for readers; `named`: with a sidecar of any content."""

    own: list[int]
    raw: set[int]
    named: set[int]


def recover(files: Files, places: Places, boot_id: str) -> Recovered:
    """Raises CorruptError where what was published does not check or a segment was emptied, LossError where the newest
    segment is gone, OSError, SyncFailedError."""
    found = _look(files, places)
    newest = read_newest(files, places)
    bound = read_failed(files, places.failed, boot_id)
    tails = _tails(files, places, found, bound)
    last = max((segment for segment, tail in tails.items() if tail is not None), default=None)
    # Before anything is deleted: a reader's link may be all that is left of a segment.
    check_newest(places, newest, found.own, last)
    _check_kept(files, places, tails, last, newest)
    if newest != last and (newest or last):
        # Before segments without an entry are deleted, of which it may name one.
        write_newest(files, places, last or 0)
    for segment, tail in tails.items():
        if tail is None:
            remove_segment(files, places, segment)
        elif not tail.ended:
            _settle(files, places, segment, tail)
    _sweep(files, places, found, min(tails, default=0), last or 0)
    sync_folder(files, places.commitlog)
    sync_folder(files, places.cdc_raw)
    for segment, tail in tails.items():
        if tail is not None and not tail.ended and segment in found.raw:
            _end(files, places, segment, tail, segment in found.named, segment == last)
    if unlink_if_there(files, places.failed):
        sync_folder(files, places.commitlog)
    used = sorted({*found.own, *found.raw, *found.named})
    return Recovered(used, *_log_end(files, places, last, tails))


def _look(files: Files, places: Places) -> Found:
    own, raw = files.names(places.commitlog), files.names(places.cdc_raw)
    for folder, names in ((places.commitlog, own), (places.cdc_raw, raw)):
        for name in names:
            if name.endswith(TEMPORARY):
                unlink_if_there(files, folder / name)
    return Found(log_ids(own), set(log_ids(raw)), set(sidecar_ids(raw)))


def read_sidecar(files: Files, places: Places, segment: int) -> Sidecar | None:
    """The sidecar's content; None where there is none, or one that was cut."""
    text = read_small(files, places.sidecar(segment))
    sidecar = decode_sidecar(text) if text is not None else None
    return sidecar if sidecar is not None and sidecar.first is not None else None


def _tails(files: Files, places: Places, found: Found, bound: Position | None) -> dict[int, Tail | None]:
    """By segment what is believed of it; None for one without an entry."""
    tails: dict[int, Tail | None] = {}
    newest = True
    for segment in reversed(found.own):
        sidecar = read_sidecar(files, places, segment) if segment in found.named else None
        ended = sidecar is not None and sidecar.completed
        # Older segments without a sidecar were ended in order, and only the newest with an entry can have a torn tail.
        whole = not ended and (newest or segment in found.named)
        with Reader(files, places.own(segment)) as reader:
            tail = read_tail(reader, segment, sidecar, bound, whole)
        tails[segment] = tail
        newest = newest and tail is None
    return dict(sorted(tails.items()))


def _check_kept(
    files: Files, places: Places, tails: dict[int, Tail | None], last: int | None, newest: int | None
) -> None:
    """CorruptError for a segment that had an entry and has none. `last`: the newest that has one."""
    for segment in (segment for segment, tail in tails.items() if tail is None):
        # Segments get their first entries in order, and the header of each is durable before its first entry.
        if segment > (last or 0) and (segment != newest or _has_header(files, places, segment)):
            continue
        raise CorruptError(
            "a segment has no changes any more",
            at=Position(segment, 0),
            file=str(places.own(segment)),
            expected="changes, as it had some",
            found="none that check",
            remedy="The file is damaged: restore it, or move it away and accept what is lost.",
        )


def _has_header(files: Files, places: Places, segment: int) -> bool:
    with Reader(files, places.own(segment)) as reader:
        header = reader.header()
    return header is not None and header.segment == segment


def _settle(files: Files, places: Places, segment: int, tail: Tail) -> None:
    """Makes the tail durable by writing it over itself, which makes its pages dirty; then cuts what is behind it."""
    if not tail.whole:
        return
    path = places.own(segment)
    fd = files.open(path)
    try:
        for at in range(tail.rewrite_at, tail.file_end, _PIECE):
            write_all(files, fd, read_all(files, fd, min(_PIECE, tail.file_end - at), at), at)
        files.truncate(fd, tail.file_end)
        sync_file(files, fd, path)
    finally:
        files.close(fd)


def _sweep(files: Files, places: Places, found: Found, first: int, last: int) -> None:
    """Names that a crash brought back: a reader's link without the writer's and without a sidecar, of a segment that
    held nothing or was discarded. `first`, `last`: the oldest and the newest segment of the log's own."""
    for segment in sorted(found.raw - found.named - set(found.own)):
        # A link between the log's own segments that has an entry can restore the writer's name, which somebody deleted.
        if not first < segment < last or _is_empty(files, places, segment):
            unlink_if_there(files, places.raw(segment))


def _is_empty(files: Files, places: Places, segment: int) -> bool:
    with Reader(files, places.raw(segment)) as reader:
        return read_tail(reader, segment, None, None, whole=False) is None


def _end(files: Files, places: Places, segment: int, tail: Tail, named: bool, last: bool) -> None:
    if named or (last and tail.tracked):
        end = Position(segment, tail.end)
        write_done(files, places, Published(segment, tail.first, tail.end, end))
    else:
        unlink_if_there(files, places.raw(segment))


def _log_end(files: Files, places: Places, last: int | None, tails: dict[int, Tail | None]) -> tuple[Position, int]:
    if last is None:
        return Position(0, 0), 0
    tail = tails[last]
    if tail is None or not tail.whole:
        with Reader(files, places.own(last)) as reader:
            tail = read_tail(reader, last, None, None, True)
    if tail is None:
        raise CorruptError("a segment lost its entries while the log was opened", file=str(places.own(last)))
    return Position(last, tail.end), tail.last_ts
