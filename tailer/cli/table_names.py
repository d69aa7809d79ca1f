"""Names for table ids, for reports that must do without definitions: whatever can be found names what it names.

Built-in system tables, the journal, a CQL file, and the log's own schema rows as far as they can be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tailer.cli.entry_facts import TableNames
from tailer.definitions.learning import BEGINNING, Definitions
from tailer.errors import CorruptError
from tailer.framing.section import NoSection
from tailer.schema.builtin import system_tables
from tailer.schema.cql_file import read_cql
from tailer.schema.selection import Selection
from tailer.segments.run import run_of
from tailer.segments.segment import SegmentFile
from tailer.state.journal import Journal


def table_names(journal: Journal, files: Iterable[SegmentFile], schema: Path | None) -> TableNames:
    """`keyspace.table` by table id, as far as it is known. Raises UsageError for a CQL file that cannot be read."""
    known = Definitions(journal, Selection(), tolerant=True)
    if schema is not None:
        known.add(read_cql(schema), str(schema), BEGINNING)
    for file in files:
        _learn(known, file)
    known.learn_collected(None)
    return {**system_tables(), **{table: definition.name for table, definition in known.latest().items()}}


def _learn(known: Definitions, file: SegmentFile) -> None:
    """Take the segment's schema rows, up to the first bytes that do not check: `inspect` itself tells of those."""
    try:
        header = file.header()
        if header is None:
            return
        for section in file.sections(header.length, header.length):
            if isinstance(section, NoSection):
                return
            known.collect(file.segment, run_of(section, *file.entries(section), native=header.native))
    except CorruptError:
        return
