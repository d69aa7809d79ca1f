"""`cdc-tail inspect`: what is in a segment or a folder of them, as the bytes say it. Needs no definitions.

Heads only unless entries or tables are asked for, so that a folder of any size answers at once. Judges nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import typer

from tailer.cli.command import command
from tailer.cli.entry_facts import EntryFacts, TableCount, TableNames, entry_facts
from tailer.cli.inspect_text import entry_line, folder_lines, segment_lines, table_lines
from tailer.cli.rows import Form, output_form
from tailer.cli.segment_facts import SegmentFacts, segment_facts
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.framing.name import parse_log_name
from tailer.options.tail import tail_options
from tailer.options.to_terminal import SEGMENT_OR_DIR
from tailer.segments.folder import Listing, LogFile, check_folder
from tailer.segments.looks import look
from tailer.segments.segment import KeySource, SegmentFile
from tailer.state.log_folder import log_state

app = typer.Typer(add_completion=False)


@command(
    app,
    "inspect",
    {"path": SEGMENT_OR_DIR},
    epilog="Example: cdc-tail inspect /var/lib/cassandra/cdc_raw --tables",
)
def inspect(
    path: Path,
    count_tables: bool,
    entries: bool,
    output: Form | None,
    values: dict[str, Any],
) -> None:
    """Show a segment or a folder: header, sections, sidecar, entries, tables. Works without definitions."""
    options = tail_options(values)
    folder, logs, listing = _find(path, options.state)
    keys = options.keys()
    wanted = Wanted(count_tables, entries, pretty=output_form(output) == "pretty")
    as_table = wanted.pretty and len(logs) != 1
    if as_table:
        _write(folder_lines([facts for _, facts in _opened(folder, logs, listing, keys)]))
    if as_table and not wanted.deep:
        return
    names: TableNames = {}
    if wanted.deep:
        from tailer.cli.table_names import table_names

        # All segments of the folder, for the one asked for may hold rows of tables that another one defines.
        around = [listing.logs[segment] for segment in listing.segments]
        files = (file for file, facts in _opened(folder, around, listing, keys) if facts.version is not None)
        names = table_names(folder, files, options.schema_file, options.state)
    for file, facts in _opened(folder, logs, listing, keys):
        _write(_head(facts, wanted, as_table=as_table))
        _write(_deep(file, facts, wanted, names))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for beyond heads, and in which form."""

    tables: bool
    entries: bool
    pretty: bool

    @property
    def deep(self) -> bool:
        return self.tables or self.entries


def _find(path: Path, state: Path | None) -> tuple[Path, list[LogFile], Listing]:
    """The folder, the segments in it to show (ascending), and what is beside them.

    A single segment may lie anywhere, also in a server's own folder.
    """
    name = parse_log_name(path.name)
    if name is None and path.is_file():
        raise UsageError("this is no segment", file=str(path), expected="CommitLog-<version>-<id>.log", found=path.name)
    folder = path.parent if name is not None else path
    if name is None:
        log_state(folder, state)
    else:
        check_folder(folder)
    listing = look(folder)
    if name is None:
        for notice in listing.notices():
            STANDARD_ERROR.notice(notice)
        return folder, [listing.logs[segment] for segment in listing.segments], listing
    if (kind := listing.others.get(path.name)) is not None:
        raise UsageError("this is no segment", file=str(path), expected="a regular file", found=kind)
    log = listing.logs.get(name.segment)
    if log is None or log.name != name:
        raise UsageError("no such segment", file=str(path))
    return folder, [log], listing


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


def _opened(
    folder: Path, logs: list[LogFile], listing: Listing, keys: KeySource
) -> Iterator[tuple[SegmentFile, SegmentFacts]]:
    """Each segment, open, with its facts. In a live folder one may be deleted meanwhile: it is passed over."""
    for log in logs:
        try:
            file = SegmentFile(folder / log.name.log, log.name.segment, keys)
        except FileNotFoundError:
            continue
        with file:
            yield file, segment_facts(file, log, listing)


def _head(facts: SegmentFacts, wanted: Wanted, *, as_table: bool) -> list[str]:
    if not wanted.pretty:
        return [msgspec.json.encode(facts).decode()]
    return ["", facts.file] if as_table else segment_lines(facts, sections=not wanted.deep)


def _deep(file: SegmentFile, facts: SegmentFacts, wanted: Wanted, names: TableNames) -> Iterator[str]:
    """Entries as they are read, then the count by table."""
    header = file.header() if facts.version is not None else None
    if header is None or not wanted.deep:
        return
    count = TableCount(facts.segment, names)
    for entry in entry_facts(file, header, names):
        if isinstance(entry, EntryFacts):
            count.add(entry)
        if wanted.entries:
            yield entry_line(entry, names) if wanted.pretty else msgspec.json.encode(entry).decode()
    if wanted.pretty:
        yield from table_lines(count.tables())
    else:
        yield from (msgspec.json.encode(table).decode() for table in count.tables())
