"""`inspect` for people: facts of segments and entries as aligned lines. Reads nothing."""

from __future__ import annotations

import json
from typing import Final

from tailer.cli.entry_facts import EntryFacts, FaultFacts, TableFacts, TableNames
from tailer.cli.segment_facts import SegmentFacts, SidecarFacts, TailFacts
from tailer.errors import with_parts
from tailer.position import Position
from tailer.sinks.text import aligned, printable, size_text

_LABEL_COLUMNS: Final = 11
_SECTION_HEAD: Final = ["START", "END", "FILE OFFSET", "IN FILE", "PLAIN"]
_FOLDER_HEAD: Final = ["SEGMENT", "KIND", "SIZE", "SECTS", "LOG END", "SIDECAR", "LINKS", "ENDS WITH"]
_TABLE_HEAD: Final = ["ENTRIES", "BYTES", "TABLE", "ID"]


def folder_lines(segments: list[SegmentFacts]) -> list[str]:
    """One line a segment, in order of id."""
    rows = [_FOLDER_HEAD]
    for facts in segments:
        rows.append(
            [
                str(facts.segment),
                _short_kind(facts),
                size_text(facts.bytes),
                str(len(facts.sections)),
                str(facts.log_end),
                _sidecar(facts.sidecar),
                str(facts.links),
                _end(facts),
            ]
        )
    return aligned(rows, frozenset({2, 3, 4, 6}))


def segment_lines(facts: SegmentFacts, *, sections: bool) -> list[str]:
    """All that is known of one segment; `sections` line by line, or only how many there are."""
    known = [
        ("segment", f"{facts.segment}"),
        ("file", f"{facts.bytes} bytes, link count {facts.links}"),
        ("sidecar", _sidecar(facts.sidecar)),
    ]
    if facts.version is None:
        known.append(("header", _end(facts)))
    else:
        parameters = json.dumps(facts.parameters, ensure_ascii=False, separators=(",", ":"))
        known += [
            ("header", f"descriptor {facts.version}, {facts.kind}, payload {facts.payload}"),
            ("parameters", parameters),
            ("log end", f"{facts.log_end}, then {_end(facts)}"),
            ("sections", f"{len(facts.sections)}"),
        ]
    lines = [printable(facts.file)]
    lines += [f"  {label:<{_LABEL_COLUMNS}}{printable(text)}" for label, text in known]
    if sections and facts.sections:
        rows = [_SECTION_HEAD]
        rows += [[str(value) for value in (s.start, s.end, s.offset, s.bytes, s.plain_bytes)] for s in facts.sections]
        lines += [f"  {line}" for line in aligned(rows, frozenset(range(5)))]
    return lines


def table_lines(tables: list[TableFacts]) -> list[str]:
    """Entries and bytes by table; nothing where there are none."""
    if not tables:
        return []
    rows = [_TABLE_HEAD]
    rows += [[str(table.entries), str(table.bytes), printable(table.name or "?"), table.table] for table in tables]
    return [f"  {line}" for line in aligned(rows, frozenset({0, 1}))]


def entry_line(entry: EntryFacts | FaultFacts, names: TableNames) -> str:
    """Position (as `--from` takes it), size, tables; or what is wrong there."""
    position = Position(entry.segment, entry.start)
    if isinstance(entry, FaultFacts):
        return f"  {position}  {with_parts(entry.error, entry.expected, entry.found)} ({entry.length} bytes)"
    tables = [printable(names.get(table, table)) for table in entry.tables]
    if entry.record is not None:
        words = [entry.record, *tables]
        words += [f"{entry.updates} rows"] if entry.record == "change" else []
        words += [f"transaction {entry.txn}"] if entry.txn is not None else []
        return f"  {position!s:<30}  {entry.size:>9}  {', '.join(words)}"
    unseen = entry.updates - len(tables)
    if unseen > 0 and tables:
        tables.append(f"and {unseen} more")
    return f"  {position!s:<30}  {entry.size:>9}  {', '.join(tables)}".rstrip()


def _short_kind(facts: SegmentFacts) -> str:
    if facts.kind is None:
        return "-"
    return f"v{facts.version} {facts.kind.removesuffix('Compressor').partition('/')[0].lower()}"


def _sidecar(sidecar: SidecarFacts | None) -> str:
    if sidecar is None:
        return "-"
    if sidecar.end is None:
        return "unreadable"
    return f"{sidecar.end} done" if sidecar.completed else f"{sidecar.end}"


def _end(facts: SegmentFacts) -> str:
    if facts.error is not None:
        return facts.error
    return "no header yet" if facts.tail is None else _tail(facts.tail)


def _tail(tail: TailFacts) -> str:
    if tail.expected is None:
        return tail.why
    return f"{tail.why} (byte {tail.offset}: expected {tail.expected}, found {tail.found})"
