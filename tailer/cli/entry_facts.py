"""The entries of a segment, for `inspect`: place, size, tables, and what does not check. Decodes no mutation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from tailer.errors import CorruptError
from tailer.format.entry import HEAD_BYTES
from tailer.format.header import Header
from tailer.format.peek import peek
from tailer.format.section import MARKER_BYTES, NoSection, Section
from tailer.limits import ENTRY_OVERHEAD
from tailer.source.segment import SegmentFile

TableNames = Mapping[str, str]
"""From a table id (32 hex digits) to `keyspace.table`, as far as it is known."""


class EntryFacts(msgspec.Struct, frozen=True, tag="entry", tag_field="is"):
    """One good entry: logical `start` and `end`, payload `size`, the tables known to be in it.

    `updates` may be more than there are `tables`: ids behind the first are seen only where they are known.
    """

    segment: int
    start: int
    end: int
    size: int
    updates: int
    tables: tuple[str, ...]


class FaultFacts(msgspec.Struct, frozen=True, tag="fault", tag_field="is"):
    """Bytes that are no good entry, or a section that does not decompress (`length` is then its plain length)."""

    segment: int
    start: int
    length: int
    error: str
    expected: str
    found: str


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
            yield FaultFacts(
                file.segment, section.start, section.plain_length, error.what, f"{error.expected}", f"{error.found}"
            )


def _section_entries(
    file: SegmentFile, header: Header, section: Section, ids: set[bytes]
) -> Iterator[EntryFacts | FaultFacts]:
    data, entries = file.entries(section)
    logical = section.start + MARKER_BYTES
    mutations = header.payload == "cassandra"
    for start, size in zip(map(int, entries.starts), map(int, entries.sizes), strict=True):
        seen = peek(data, start, size, ids) if mutations else None
        if seen is not None:
            ids.update(bytes.fromhex(table) for table in seen.tables)
        begin = logical + start - HEAD_BYTES
        updates, tables = seen or (0, ())
        yield EntryFacts(file.segment, begin, begin + size + ENTRY_OVERHEAD, size, updates, tables)
    for fault in entries.faults:
        yield FaultFacts(
            file.segment, logical + fault.offset, fault.length, fault.error.value, f"{fault.expected}", f"{fault.found}"
        )
