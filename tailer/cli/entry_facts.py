"""The entries of a segment, for `inspect`: place, size, tables, and what does not check. Decodes no mutation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from tailer.errors import CdcError, CorruptError
from tailer.framing.entry import HEAD_BYTES
from tailer.framing.header import Header
from tailer.framing.peek import TABLE_ID_BYTES, peek
from tailer.framing.section import MARKER_BYTES, NoSection, Section
from tailer.limits import ENTRY_OVERHEAD
from tailer.scan.record.head import change_head
from tailer.scan.record.record import (
    BEGIN,
    CHANGE,
    COMMIT,
    DEFINITION,
    ROLLBACK,
    ROLLBACK_TO,
    SAVEPOINT,
    STATE,
    Definition,
    decode_record,
    record_kind,
)
from tailer.segments.segment import SegmentFile

KINDS: Final = {
    DEFINITION: "definition",
    CHANGE: "change",
    BEGIN: "begin",
    SAVEPOINT: "savepoint",
    ROLLBACK_TO: "rollback_to",
    COMMIT: "commit",
    ROLLBACK: "rollback",
    STATE: "state",
}
"""What the records of a native log are called."""

TableNames = Mapping[str, str]
"""From a table id (32 hex digits) to `keyspace.table`, as far as it is known."""


class EntryFacts(msgspec.Struct, frozen=True, tag="entry", tag_field="is", omit_defaults=True):
    """One good entry: logical `start` and `end`, payload `size`, the tables known to be in it.

    `updates` may be more than there are `tables`: ids behind the first are seen only where they are known. Of a native
    log: `record` is what kind of record it is, `updates` how many rows a change has, `txn` its transaction.
    """

    segment: int
    start: int
    end: int
    size: int
    updates: int
    tables: tuple[str, ...]
    record: str | None = None
    txn: int | None = None


class FaultFacts(msgspec.Struct, frozen=True, tag="fault", tag_field="is"):
    """Bytes that are no good entry, or a section that does not decompress (`length` is then its plain length)."""

    segment: int
    start: int
    length: int
    error: str
    expected: str | None
    found: str | None


class TableFacts(msgspec.Struct, tag="table", tag_field="is"):
    """Entries of one segment that name this table, and their bytes with the 12 around each. An entry of several tables
    counts for each of them."""

    segment: int
    table: str
    name: str | None
    entries: int = 0
    bytes: int = 0


class TableCount:
    """Sums entries by table."""

    def __init__(self, segment: int, names: TableNames) -> None:
        self._segment = segment
        self._names = names
        self._tables: dict[str, TableFacts] = {}

    def add(self, entry: EntryFacts) -> None:
        for table in entry.tables:
            facts = self._tables.get(table)
            if facts is None:
                facts = self._tables[table] = TableFacts(self._segment, table, self._names.get(table))
            facts.entries += 1
            facts.bytes += entry.end - entry.start

    def tables(self) -> list[TableFacts]:
        """The most frequent first."""
        return sorted(self._tables.values(), key=lambda facts: (-facts.entries, facts.name or "", facts.table))


def entry_facts(file: SegmentFile, header: Header, names: TableNames) -> Iterator[EntryFacts | FaultFacts]:
    """Every entry of the segment in log order, up to the last good marker. Tables in `names` are looked for in each.

    Raises DefinitionError where the segment is encrypted and its key is missing.
    """
    ids = {bytes.fromhex(table_id) for table_id in names}
    for section in file.sections(header.length, header.length):
        if isinstance(section, NoSection):
            return
        try:
            yield from _section_entries(file, header, section, ids)
        except CorruptError as error:
            expected, found = (None if part is None else str(part) for part in (error.expected, error.found))
            yield FaultFacts(file.segment, section.start, section.plain_length, error.what, expected, found)


def record_facts(segment: int, begin: int, payload: bytes) -> EntryFacts:
    """The facts of a native log's record that begins at logical `begin`."""
    size = len(payload)
    kind = record_kind(payload)
    name = KINDS.get(kind, f"kind {kind}" if kind >= 0 else "no record")
    updates, tables, txn = 0, tuple[str, ...](), None
    if (head := change_head(payload)) is not None:
        updates, tables, txn = head.rows, (head.key[:TABLE_ID_BYTES].hex(),), head.txn
    else:
        with contextlib.suppress(CdcError):
            record = decode_record(payload)
            txn = getattr(record, "txn", None)
            tables = (record.table_id.hex(),) if isinstance(record, Definition) else ()
    return EntryFacts(segment, begin, begin + size + ENTRY_OVERHEAD, size, updates, tables, name, txn)


def _section_entries(
    file: SegmentFile, header: Header, section: Section, ids: set[bytes]
) -> Iterator[EntryFacts | FaultFacts]:
    data, entries = file.entries(section)
    logical = section.start + MARKER_BYTES
    for start, size in zip(map(int, entries.starts), map(int, entries.sizes), strict=True):
        begin = logical + start - HEAD_BYTES
        if header.native:
            yield record_facts(file.segment, begin, data[start : start + size])
            continue
        seen = peek(data, start, size, ids)
        if seen is not None:
            ids.update(bytes.fromhex(table) for table in seen.tables)
        updates, tables = seen or (0, ())
        yield EntryFacts(file.segment, begin, begin + size + ENTRY_OVERHEAD, size, updates, tables)
    for fault in entries.faults:
        yield FaultFacts(
            file.segment, logical + fault.offset, fault.length, fault.error.value, f"{fault.expected}", f"{fault.found}"
        )
