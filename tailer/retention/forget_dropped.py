"""Leaves out of a journal what only dropped consumers said. Their positions are gone, so nothing else tells that their
records are needless, and each name that ever was would keep some for ever.

No other consumer goes by them, wherever it stands: so no offset becomes too old by it, as by `clean`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tailer.errors import CdcError
from tailer.limits import KIB
from tailer.retention.forget import without
from tailer.state.affected import consumer_of
from tailer.state.consumers import consumer_path, is_running
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import AnyRecord, encode
from tailer.state.lease_file import read_lease
from tailer.state.quarantine import quarantine_path

DROPPED_BYTES: Final = 256 * KIB
"""So much must have become needless before a drop writes the journal anew."""


def dropped_names(state: Path, names: Iterable[str]) -> set[str]:
    """Those of these names of which the state folder has nothing but records.

    A name is needed that somebody holds or took and may come back for, although it is not registered yet, and one with
    entries in quarantine or images: who shows or replays them goes by its definitions and masks.
    """
    return {name for name in names if not _is_needed(state, name)}


def forget_dropped(state: Path, least: int = DROPPED_BYTES) -> None:
    """Leave out of a state's journal what there is of dropped consumers, where that is so many bytes or more.

    The drop is done before. What keeps this from being done, a journal that cannot be read or a disk that is full, is
    told where the journal is needed.
    """
    with suppress(CdcError):
        # One that is not written: `clean` asks each minute, and then nothing is made durable for nothing.
        records = FolderJournal(state, writable=False).read()
        kept = {record.n for record in _left(state, records)}
        if sum(len(encode(record)) for record in records if record.n not in kept) >= least:
            leave_out_dropped(FolderJournal(state))


def leave_out_dropped(journal: FolderJournal) -> bool:
    """The same whatever it is; whether there was anything."""
    # Asked under the journal's lock: who writes in a consumer's name has the name's lock by then.
    return journal.compact(0, lambda records: _left(journal.folder, records), pinned=False) is not None


def _left(state: Path, records: Sequence[AnyRecord]) -> Sequence[AnyRecord]:
    named = {name for record in records if (name := consumer_of(record)) is not None}
    return without(records, dropped_names(state, named))


def _is_needed(state: Path, name: str) -> bool:
    images = state / "images" / name
    if any(path.exists() for path in (consumer_path(state, name), quarantine_path(state, name), images)):
        return True
    try:
        return bool(read_lease(state, name).reader) or is_running(state, name)
    except CdcError:
        # What cannot be read is no proof.
        return True
