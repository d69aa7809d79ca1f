"""A state folder that knows what an archived log's journal knew, with its id and its numbers. Reads no segment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tailer.archive.manifest import Manifest, archived_records
from tailer.state.folder_journal import FILE_NAME, FolderJournal
from tailer.state.journal_base import Base, write_base
from tailer.state.journal_records import CompactedRecord, encode
from tailer.state.modes import make_folder, replace_file
from tailer.stores.store import Store


def restore_state(store: Store, identity: str, state: Path, chosen: Iterable[Manifest]) -> None:
    """Make the state of an archived log, so that positions of it count there too. One that has an id stays as it is."""
    held = list(chosen)
    files = {each.journal.name: each.journal for each in held}
    if not files or FolderJournal(state, writable=False).id:
        return
    records = {record.n: record for file in files.values() for record in archived_records(store, identity, file)}
    upto = max(each.j for each in held) + 1
    make_folder(state)
    write_base(state, Base(id=identity, upto=upto), [records[number] for number in sorted(records)])
    replace_file(state / FILE_NAME, encode(CompactedRecord(n=upto)))
