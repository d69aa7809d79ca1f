"""An archive becomes a log folder again, with a state beside it that knows what the journal knew.

Every byte is held to its manifest's SHA-256 before it gets its name. Killed anywhere and run again, the rest comes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from tailer.archive.manifest import ArchivedFile, Manifest, checked_parts, damaged, manifests
from tailer.archive.restored_state import restore_state
from tailer.errors import UsageError
from tailer.framing.name import parse_log_name, parse_sidecar_name
from tailer.on_disk import NEW, SafeOpen, put_in_place
from tailer.state.log_folder import state_folder
from tailer.state.modes import make_folder
from tailer.stores.store import Store
from tailer.system_errors import told

_FILES: Final = SafeOpen("the folder of restored segments")


class Restored(NamedTuple):
    """The segments that are there now, and how many bytes came."""

    segments: list[int]
    bytes: int


def restore(store: Store, identity: str, into: Path, written_since: float = 0.0) -> Restored:
    """Bring segments back that were last written at `written_since` (seconds since the epoch) or later.

    UsageError for a folder with anything else in it; CorruptError for bytes that are not those of the manifest.
    """
    chosen = [each for each in manifests(store, identity) if each.written >= written_since]
    _check_into(into, chosen)
    make_folder(into)
    restore_state(store, identity, state_folder(into), chosen)
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
        raise damaged(store, f"{place}/{file.name}", "the name of a segment or sidecar", file.name)
    path = into / file.name
    if path.exists() and path.stat().st_size == file.size:
        return 0
    temporary = path.with_name(path.name + NEW)
    with told("cannot restore the segment", path, writes=True), os.fdopen(_FILES.new(temporary), "wb") as out:
        for part in checked_parts(store, place, file):
            out.write(part)
        out.flush()
        os.fsync(out.fileno())
    put_in_place(temporary, path)
    return file.size
