"""Which log of an archive is that of a folder: by the id of its state, or the one that the user names.

An archive may hold the logs of several nodes, so nothing is guessed: a folder whose state is new has nothing archived.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tailer.archive.manifest import archived_ids, is_identity, manifests
from tailer.archive.older_segments import OlderSegments
from tailer.archive.restored_state import restore_state
from tailer.archive.segments import ArchivedSegments
from tailer.errors import RefusedError, UsageError
from tailer.state.folder_journal import FolderJournal
from tailer.stores.open import open_store


class Found(NamedTuple):
    """A log's segments that are elsewhere, None where there are none of it; `notice`: what there is to say of that."""

    segments: OlderSegments | None
    notice: str = ""


def find_archived(where: str, shared: Path, state: Path, *, writes: bool) -> Found:
    """What the archive WHERE, or WHERE/ID, holds of the log whose own state is `shared`; `state`: the reader's.

    With an ID, a state that is still new becomes that log's. RefusedError for another log than the state's.
    """
    place, named = _named(where)
    store, ours = open_store(place), FolderJournal(shared, writable=False).id
    if named is not None:
        if ours and ours != named:
            raise RefusedError("the archive is of another log", file=str(shared), expected=ours, found=named)
        if not archived_ids(store, named):
            raise UsageError("the archive has no such log", file=store.where, found=named)
        if writes and not ours and state == shared:
            restore_state(store, named, state, manifests(store, named))
        return Found(ArchivedSegments(store, named))
    if not ours:
        return Found(None, f"nothing of {store.where} is of this log, whose state is new: name a log with WHERE/ID")
    none = "" if archived_ids(store, ours) else f"{store.where} has nothing of this log ({ours}) yet"
    return Found(ArchivedSegments(store, ours), none)


def _named(where: str) -> tuple[str, str | None]:
    """The archive, and the id of one log that stands behind it."""
    path, mark, options = where.partition("?")
    rest, _, last = path.rstrip("/").rpartition("/")
    return (rest + mark + options, last) if rest and is_identity(last) else (where, None)
