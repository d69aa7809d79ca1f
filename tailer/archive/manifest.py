"""An archive's names and manifests: each segment has one, which was put there last and says what must be there.

    <state's id>/<segment>/CommitLog-….log, CommitLog-…_cdc.idx, manifest.json
    <state's id>/journal-<SHA-256>.jsonl       records that the journal had then: definitions, log ends, what was lost

A segment is archived when its manifest is there. What else lies in such a folder is passed by.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from tailer.errors import CorruptError, UsageError
from tailer.state.journal_records import AnyRecord, checks, decode
from tailer.stores.store import Store
from tailer.typed_decode import decode_json
from tailer.versions import UNDECODABLE, VersionNamed, check_version, decode_whole

VERSION: Final = 1
MANIFEST: Final = "manifest.json"
_IDENTITY: Final = re.compile(r"[0-9a-f]{16}")
_REMEDY: Final = "Restore it from another copy of the archive; what was taken from it so far is whole."


class ArchivedFile(msgspec.Struct, frozen=True):
    """One file: its name, bytes, and SHA-256 in hex digits."""

    name: str
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What an archive holds of a segment.

    `sidecar`: None where it had none. `end`, `published`: where its log ends and how far it was vouched for, as the
    journal knew; None where nobody had read it. `journal`: the file with the records that counted, `j` of them in all.
    `written`: when the log was last written, in seconds since the epoch. `previous`: of a service's own log the id of
    the segment before it that readers had, 0 for the log's first; None where nothing says so.
    """

    segment: int
    log: ArchivedFile
    sidecar: ArchivedFile | None
    end: int | None
    published: int | None
    journal: ArchivedFile
    j: int
    written: float
    previous: int | None = None
    v: int = VERSION


def is_identity(name: str) -> bool:
    """Whether a name may be the id of a log's state."""
    return _IDENTITY.fullmatch(name) is not None


def identities(store: Store) -> list[str]:
    """The logs that an archive holds, by the ids of their states."""
    names = filter(is_identity, store.names(""))
    return [name for name in names if archived_ids(store, name)]


def the_identity(store: Store) -> str:
    """The one log of an archive. UsageError where it has none, or several."""
    found = identities(store)
    if len(found) != 1:
        raise UsageError(
            "the archive of one log",
            file=store.where,
            expected="one log, or --log ID" if found else "a folder <state's id>/<segment>/manifest.json",
            found=", ".join(found) if found else "none",
        )
    return found[0]


def archived_ids(store: Store, identity: str) -> list[int]:
    """Of which segments an archive may hold a manifest, ascending."""
    return sorted(int(name) for name in store.names(identity) if name.isdecimal() and name.isascii())


def manifests(store: Store, identity: str) -> Iterator[Manifest]:
    """What is archived of a log, by ascending id. A segment without a manifest was never archived whole."""
    for segment in archived_ids(store, identity):
        if (manifest := read_manifest(store, identity, segment)) is not None:
            yield manifest


def read_manifest(store: Store, identity: str, segment: int) -> Manifest | None:
    """What is archived of a segment; None for nothing. RefusedError for a later version, CorruptError for no JSON."""
    name = f"{identity}/{segment}/{MANIFEST}"
    try:
        text = b"".join(store.parts(name))
    except FileNotFoundError:
        return None
    try:
        found = decode_json(text, VersionNamed).v
        check_version(found, VERSION, "the archive's manifest", file=f"{store.where}/{name}")
        return decode_whole(text, Manifest, ("previous",))
    except UNDECODABLE as error:
        raise CorruptError(
            "the archive's manifest is damaged",
            file=f"{store.where}/{name}",
            expected="a manifest",
            found=str(error),
            remedy="Restore it from another copy of the archive.",
        ) from error


def checked_parts(store: Store, place: str, file: ArchivedFile) -> Iterator[bytes]:
    """A file's bytes. CorruptError where there is none, and behind the last byte where they are others."""
    name, hashed, size = f"{place}/{file.name}", hashlib.sha256(), 0
    try:
        for part in store.parts(name):
            hashed.update(part)
            size += len(part)
            yield part
    except FileNotFoundError:
        raise damaged(store, name, f"{file.size} bytes", "no such file") from None
    if (size, hashed.hexdigest()) != (file.size, file.sha256):
        raise damaged(
            store, name, f"{file.size} bytes, SHA-256 {file.sha256}", f"{size} bytes, SHA-256 {hashed.hexdigest()}"
        )


def archived_records(store: Store, identity: str, file: ArchivedFile) -> list[AnyRecord]:
    """The journal's records in one of its files."""
    data = b"".join(checked_parts(store, identity, file))
    records = []
    for number, line in enumerate(data.splitlines(), 1):
        if not checks(line):
            raise damaged(store, f"{identity}/{file.name}", "lines that check", f"line {number}")
        records.append(decode(line, f"{store.where}/{identity}/{file.name}, line {number}"))
    return records


def damaged(store: Store, name: str, expected: str, found: str) -> CorruptError:
    """The error of what is not as its manifest says."""
    return CorruptError(
        "the archive is damaged", file=f"{store.where}/{name}", expected=expected, found=found, remedy=_REMEDY
    )
