"""Puts segments into an archive: each with its sidecar, and its manifest last (`tailer/archive/manifest.py`).

Decides nothing about what may go; holds no lock.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from tailer.archive.manifest import MANIFEST, ArchivedFile, Manifest, read_manifest
from tailer.errors import CdcError, RefusedError
from tailer.framing.name import SegmentName, parse_log_name
from tailer.retention.needed import HeldSegment
from tailer.segments.looks import look
from tailer.segments.regular import open_regular
from tailer.segments.segment import SegmentFile
from tailer.state.ids import NO_IDS, Ids
from tailer.state.journal import Journal
from tailer.state.journal_records import (
    AnyRecord,
    DefinitionRecord,
    LearntRecord,
    RetractRecord,
    SchemaRecord,
    SegmentEndRecord,
    encode,
)
from tailer.stores.store import PART_BYTES, Store
from tailer.system_errors import told

_HELD: Final = (SchemaRecord, DefinitionRecord, RetractRecord, SegmentEndRecord, LearntRecord)


class Seen(NamedTuple):
    """A segment as it was archived: what tells whether it is the same still. Numbers of `stat`, and the sidecar."""

    name: SegmentName
    log: tuple[int, int, int]
    sidecar: bytes | None


class _GoneError(Exception):
    """A file of the log folder is not there any more, or not what it was a moment ago."""


def archive(
    folder: Path, store: Store, journal: Journal, segments: Sequence[HeldSegment], cleaned: Ids = NO_IDS
) -> dict[int, Seen]:
    """Put segments into the archive; what each was then. One that vanishes meanwhile is left out.

    `cleaned`: captured segments that `clean` took away before. Raises SystemFailedError where the archive cannot be
    written; RefusedError for a manifest of a later version.
    """
    if not segments:
        return {}
    known = _put_journal(store, journal)
    ends = {record.segment: record for record in journal.segment_ends(None)}
    listing = look(folder)
    captured = cleaned.with_ids([*listing.sidecars, *([listing.dropped] if listing.dropped else [])])
    done = {}
    for held in segments:
        try:
            done[held.segment] = _put(folder, store, journal, held, known, ends.get(held.segment), captured)
        except _GoneError:
            continue
    return done


def unchanged(folder: Path, seen: dict[int, Seen]) -> set[int]:
    """Those that are in the folder now as they were archived."""
    return {segment for segment, before in seen.items() if _is_same(folder, before)}


def check_identity(journal: Journal, folder: Path) -> str:
    """Under which name the archive has a log. RefusedError where its state has none yet: nobody has read there."""
    if not journal.id:
        raise RefusedError(
            "the state folder has no id yet, by which the archive would know this log",
            file=str(folder),
            remedy="Register a consumer first (`follow --consumer NAME`).",
        )
    return journal.id


def _put(
    folder: Path,
    store: Store,
    journal: Journal,
    held: HeldSegment,
    known: ArchivedFile,
    end: SegmentEndRecord | None,
    captured: Ids,
) -> Seen:
    identity = check_identity(journal, folder)
    seen = _seen(folder, held.file)
    wanted = [_digest(seen.name.log, _parts(folder / seen.name.log))]
    if seen.sidecar is not None:
        wanted.append(_digest(seen.name.sidecar, [seen.sidecar]))
    manifest = Manifest(
        segment=held.segment,
        log=wanted[0],
        sidecar=wanted[1] if len(wanted) > 1 else None,
        end=None if end is None else end.end,
        published=None if end is None else end.published,
        journal=known,
        j=journal.count,
        written=max(held.written, held.published),
        previous=_previous(folder / seen.name.log, held.segment, captured),
    )
    before = read_manifest(store, identity, held.segment)
    if before is None or (before.log, before.sidecar) != (manifest.log, manifest.sidecar):
        hashed = hashlib.sha256()
        store.put(f"{identity}/{held.segment}/{seen.name.log}", _hashing(_parts(folder / seen.name.log), hashed))
        if hashed.hexdigest() != manifest.log.sha256:
            raise _GoneError
        if seen.sidecar is not None:
            store.put(f"{identity}/{held.segment}/{seen.name.sidecar}", [seen.sidecar])
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        store.put(f"{identity}/{held.segment}/{MANIFEST}", [text + b"\n"])
    return seen


def _previous(path: Path, segment: int, captured: Ids) -> int | None:
    """The id of the segment before one of a service's own log; see `Manifest`.

    One that held nothing for readers was never theirs: of those that it stands for the last one that was counts.
    """
    try:
        with SegmentFile(path, segment) as file:
            header = file.header()
    except FileNotFoundError:
        raise _GoneError from None
    except CdcError:
        # Told where its rows are wanted.
        return None
    if header is None or not header.native:
        return None
    return max(captured.below(segment).lasts[-1:], default=header.previous) if header.previous else 0


def _put_journal(store: Store, journal: Journal) -> ArchivedFile:
    """The records by which the log is read, once for the same ones."""
    records: Iterable[AnyRecord] = journal.read()
    lines = [encode(each) for each in records if isinstance(each, _HELD) and getattr(each, "consumer", None) is None]
    digest = _digest("", lines)
    file = msgspec.structs.replace(digest, name=f"journal-{digest.sha256}.jsonl")
    if file.name not in store.names(journal.id):
        store.put(f"{journal.id}/{file.name}", lines)
    return file


def _seen(folder: Path, file: str) -> Seen:
    name = parse_log_name(file)
    if name is None:
        raise _GoneError
    try:
        status = (folder / name.log).stat()
    except FileNotFoundError:
        raise _GoneError from None
    try:
        sidecar = b"".join(_parts(folder / name.sidecar))
    except _GoneError:
        sidecar = None
    return Seen(name, (status.st_ino, status.st_size, status.st_mtime_ns), sidecar)


def _is_same(folder: Path, before: Seen) -> bool:
    try:
        return _seen(folder, before.name.log) == before
    except _GoneError:
        return False


def _digest(name: str, parts: Iterable[bytes]) -> ArchivedFile:
    hashed, size = hashlib.sha256(), 0
    for part in parts:
        hashed.update(part)
        size += len(part)
    return ArchivedFile(name, size, hashed.hexdigest())


def _hashing(parts: Iterable[bytes], hashed: hashlib._Hash) -> Iterator[bytes]:
    for part in parts:
        hashed.update(part)
        yield part


def _parts(path: Path) -> Iterator[bytes]:
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        raise _GoneError from None
    with told("cannot read the segment", path), os.fdopen(descriptor, "rb") as file:
        while part := file.read(PART_BYTES):
            yield part
