"""`cdc-tail inspect`: what is in a segment or a folder of them, as the bytes say it. Needs no definitions.

Heads only unless entries or tables are asked for, so that a folder of any size answers at once. Judges nothing.
"""

from __future__ import annotations

import contextlib
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
from tailer.framing.name import SegmentName, parse_log_name
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions, tail_options
from tailer.options.to_terminal import SEGMENT_OR_PLACE
from tailer.segments.folder import Listing, LogFile, check_folder
from tailer.segments.looks import look
from tailer.segments.segment import KeySource, SegmentFile
from tailer.segments.source import FolderSource, Source, open_segment
from tailer.state.home import FolderHome
from tailer.state.node_log import NodeLog
from tailer.tail.node_log import PATIENCE_SECONDS, node_log

app = typer.Typer(add_completion=False)


@command(
    app,
    "inspect",
    {"path": SEGMENT_OR_PLACE},
    epilog="Example: cdc-tail inspect /var/lib/cassandra/cdc_raw --tables",
)
def inspect(
    path: LogPlace,
    count_tables: bool,
    entries: bool,
    output: Form | None,
    values: dict[str, Any],
) -> None:
    """Show a segment or a folder: header, sections, sidecar, entries, tables. Works without definitions."""
    options = tail_options(values)
    log, logs, listing = _find(path, options)
    with contextlib.closing(log.source):
        _show(log, logs, listing, options, Wanted(count_tables, entries, pretty=output_form(output) == "pretty"))


def _show(log: NodeLog, logs: list[LogFile], listing: Listing, options: TailOptions, wanted: Wanted) -> None:
    keys = options.keys()
    as_table = wanted.pretty and len(logs) != 1
    if as_table:
        _write(folder_lines([facts for _, facts in _opened(log.source, logs, listing, keys)]))
    if as_table and not wanted.deep:
        return
    names: TableNames = {}
    if wanted.deep:
        from tailer.cli.table_names import table_names

        # All segments of the folder, for the one asked for may hold rows of tables that another one defines.
        around = [listing.logs[segment] for segment in listing.segments]
        files = (file for file, facts in _opened(log.source, around, listing, keys) if facts.version is not None)
        names = table_names(log.home.journal(writable=False), files, options.schema_file)
    for file, facts in _opened(log.source, logs, listing, keys):
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


def _find(path: LogPlace, options: TailOptions) -> tuple[NodeLog, list[LogFile], Listing]:
    """The log, the segments in it to show (ascending), and what is beside them.

    A single segment may lie anywhere, also in a server's own folder.
    """
    name = parse_log_name(path.name) if isinstance(path, Path) else None
    if isinstance(path, Path) and name is not None:
        return _one(path, name, options)
    if isinstance(path, Path) and path.is_file():
        raise UsageError("this is no segment", file=str(path), expected="CommitLog-<version>-<id>.log", found=path.name)
    log = node_log(path, options, PATIENCE_SECONDS)
    listing = log.source.look()
    for notice in listing.notices():
        STANDARD_ERROR.notice(notice)
    return log, [listing.logs[segment] for segment in listing.segments], listing


def _one(path: Path, name: SegmentName, options: TailOptions) -> tuple[NodeLog, list[LogFile], Listing]:
    folder = path.parent
    check_folder(folder)
    listing = look(folder)
    if (kind := listing.others.get(path.name)) is not None:
        raise UsageError("this is no segment", file=str(path), expected="a regular file", found=kind)
    log = listing.logs.get(name.segment)
    if log is None or log.name != name:
        raise UsageError("no such segment", file=str(path))
    return NodeLog(FolderSource(folder), FolderHome(folder, options.state), folder), [log], listing


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


def _opened(
    source: Source, logs: list[LogFile], listing: Listing, keys: KeySource
) -> Iterator[tuple[SegmentFile, SegmentFacts]]:
    """Each segment, open, with its facts. In a live folder one may be deleted meanwhile: it is passed over."""
    for log in logs:
        try:
            file = open_segment(source, log.name, keys)
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
