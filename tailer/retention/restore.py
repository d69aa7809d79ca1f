"""An archive becomes a log folder again, with a state beside it that knows what the journal knew.

Every byte is held to its manifest's SHA-256 before it gets its name. Killed anywhere and run again, the rest comes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tailer.errors import CorruptError, UsageError
from tailer.framing.name import parse_log_name, parse_sidecar_name
from tailer.on_disk import NEW, put_in_place
from tailer.retention.archive import ArchivedFile, Manifest, read_manifest
from tailer.retention.archive_store import Store
from tailer.state.consumers import replace_file
from tailer.state.journal import FILE_NAME, Journal
from tailer.state.journal_base import Base, write_base
from tailer.state.journal_records import AnyRecord, CompactedRecord, checks, decode, encode
from tailer.state.log_folder import state_folder
from tailer.state.modes import make_folder
from tailer.system_errors import told

_REMEDY: Final = "Restore it from another copy of the archive; what was restored so far is whole."


class Restored(NamedTuple):
    """The segments that are there now, and how many bytes came."""

    segments: list[int]
    bytes: int


def identities(store: Store) -> list[str]:
    """The logs that an archive holds, by the ids of their states."""
    return [name for name in store.names("") if any(each.isdecimal() for each in store.names(name))]


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


def manifests(store: Store, identity: str) -> Iterator[Manifest]:
    """What is archived of a log, by ascending id. A segment without a manifest was never archived whole."""
    for segment in sorted(int(name) for name in store.names(identity) if name.isdecimal()):
        if (manifest := read_manifest(store, identity, segment)) is not None:
            yield manifest


def restore(store: Store, identity: str, into: Path, written_since: float = 0.0) -> Restored:
    """Bring segments back that were last written at `written_since` (seconds since the epoch) or later.

    UsageError for a folder with anything else in it; CorruptError for bytes that are not those of the manifest.
    """
    chosen = [each for each in manifests(store, identity) if each.written >= written_since]
    _check_into(into, chosen)
    make_folder(into)
    _restore_state(store, identity, state_folder(into), chosen)
    came = 0
    for manifest in chosen:
        # The sidecar last: without its log it would be a loss.
        for file in (manifest.log, manifest.sidecar):
            if file is not None:
                came += _bring(store, f"{identity}/{manifest.segment}", file, into)
    return Restored([each.segment for each in chosen], came)


def _check_into(into: Path, chosen: Iterable[Manifest]) -> None:
    names = {each.log.name for each in chosen} | {each.sidecar.name for each in chosen if each.sidecar is not None}
    others = [each.name for each in into.iterdir() if _stem(each.name) not in names] if into.exists() else []
    if others:
        raise UsageError(
            "a folder to restore into",
            file=str(into),
            expected="an empty one, or one that this archive was restored into",
            found=f"{len(others)} other files, such as {min(others)}",
            remedy="Take a folder of its own: a live log folder is the server's.",
        )


def _stem(name: str) -> str:
    """The name of what a killed run has left of a file."""
    return name.removesuffix(NEW)


def _bring(store: Store, place: str, file: ArchivedFile, into: Path) -> int:
    """One file, whole and checked; nothing where it is there already. How many bytes came."""
    if parse_log_name(file.name) is None and parse_sidecar_name(file.name) is None:
        raise _damaged(store, f"{place}/{file.name}", "the name of a segment or sidecar", file.name)
    path = into / file.name
    if path.exists() and path.stat().st_size == file.size:
        return 0
    temporary = path.with_name(path.name + NEW)
    with told("cannot restore the segment", path, writes=True), temporary.open("wb") as out:
        for part in _checked(store, place, file):
            out.write(part)
        out.flush()
        os.fsync(out.fileno())
    put_in_place(temporary, path)
    return file.size


def _checked(store: Store, place: str, file: ArchivedFile) -> Iterator[bytes]:
    """A file's bytes. CorruptError behind the last one where they are others."""
    name, hashed, size = f"{place}/{file.name}", hashlib.sha256(), 0
    try:
        for part in store.parts(name):
            hashed.update(part)
            size += len(part)
            yield part
    except FileNotFoundError:
        raise _damaged(store, name, f"{file.size} bytes", "no such file") from None
    if (size, hashed.hexdigest()) != (file.size, file.sha256):
        raise _damaged(
            store, name, f"{file.size} bytes, SHA-256 {file.sha256}", f"{size} bytes, SHA-256 {hashed.hexdigest()}"
        )


def _damaged(store: Store, name: str, expected: str, found: str) -> CorruptError:
    return CorruptError(
        "the archive is damaged", file=f"{store.where}/{name}", expected=expected, found=found, remedy=_REMEDY
    )


def _restore_state(store: Store, identity: str, state: Path, chosen: Iterable[Manifest]) -> None:
    """A journal with the archived one's id and numbers, so that positions of it count here too."""
    files = {each.journal.name: each.journal for each in chosen}
    if not files or Journal(state, writable=False).id:
        return
    records: dict[int, AnyRecord] = {}
    for name, file in files.items():
        data = b"".join(_checked(store, identity, file))
        for number, line in enumerate(data.splitlines(), 1):
            if not checks(line):
                raise _damaged(store, f"{identity}/{name}", "lines that check", f"line {number}")
            record = decode(line, f"{store.where}/{identity}/{name}, line {number}")
            records[record.n] = record
    upto = max(each.j for each in chosen) + 1
    make_folder(state)
    write_base(state, Base(id=identity, upto=upto), [records[number] for number in sorted(records)])
    replace_file(state / FILE_NAME, encode(CompactedRecord(n=upto)))
