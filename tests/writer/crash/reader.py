"""A reader of `cdc_raw/` by the design's text (sections 3 and 10), to which the writer's crashes are put.

It delivers what a reader may have delivered, no more: whole sections up to the published end, all of a DONE segment,
transactions at their commit. Whatever a writer must never leave raises Violation. Knows no code of the writer's, nor of
the tailer's planner.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tailer.position import Position
from tests.writer.crash.log import (
    CHANGE,
    COMMIT,
    DEFINITION,
    LOG_NAME,
    ROLLBACK_TO,
    STATE,
    Record,
    Segment,
    Violation,
    parse_segment,
    position,
)

NOTHING = Position(0, 0)


class Sidecar(NamedTuple):
    first: int
    end: int
    restart: Position
    done: bool


class Delivered(NamedTuple):
    """A row as a reader gets it: where its change or commit stands, and the number that is its key."""

    at: Position
    row: int
    table: str
    number: int


@dataclass
class Reading:
    """What one look at a folder gives. `held`: the segment that is waited for; `dropped`: commits lost to the cap."""

    rows: list[Delivered] = field(default_factory=list)
    unfinished: list[int] = field(default_factory=list)
    sidecars: dict[int, Sidecar] = field(default_factory=dict)
    dropped: list[Position] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        return [row.number for row in self.rows]


Definitions = dict[tuple[bytes, bytes], tuple[str, bool]]


def read_folder(files: Mapping[str, bytes], *, strict: bool = True, delivered_to: Position = NOTHING) -> Reading:
    """What a reader that starts at the oldest segment of this `cdc_raw/` delivers now.

    `strict`: no power loss since the last recovery, so every sidecar must be true to the last byte. `delivered_to`:
    commits up to there have been delivered before, and what they need may have been cleaned.
    """
    reading = Reading()
    dropped = int(files.get("DROPPED", b"0") or 0)
    read: list[tuple[Segment, Sidecar]] = []
    for segment in sorted(int(found[1]) for name in files if (found := LOG_NAME.fullmatch(name))):
        data = files[f"CommitLog-7-{segment}.log"]
        text = files.get(f"CommitLog-7-{segment}_cdc.idx")
        if text is None:
            continue
        sidecar = parse_sidecar(text)
        if sidecar is None:
            if strict:
                raise Violation(f"sidecar of {segment}: {text!r}")
            reading.unfinished.append(segment)
            break
        reading.sidecars[segment] = sidecar
        read.append((_checked(data, segment, sidecar), sidecar))
        if not sidecar.done:
            reading.unfinished.append(segment)
            break
    _deliver(read, reading, dropped, delivered_to)
    return reading


def parse_sidecar(text: bytes) -> Sidecar | None:
    found = re.fullmatch(rb"(\d+) (\d+) (\d+):(\d+)(\nDONE)?", text)
    if found is None:
        return None
    first, end, segment, offset = (int(found[number]) for number in (1, 2, 3, 4))
    return Sidecar(first, end, Position(segment, offset), found[5] is not None)


def _checked(data: bytes, segment: int, sidecar: Sidecar) -> Segment:
    """The segment, all that its sidecar says of it held against its bytes."""
    parsed = parse_segment(data, segment)
    if parsed is None:
        raise Violation(f"{segment} has a sidecar and no header")
    if sidecar.end not in parsed.edges() or sidecar.first not in parsed.edges():
        raise Violation(f"{segment}: {sidecar}, but the sections that check end at {parsed.edges()}")
    if sidecar.restart > (segment, sidecar.end):
        raise Violation(f"{segment}: {sidecar} restarts behind its end")
    if sidecar.done and (not parsed.clean or parsed.end != sidecar.end or len(data) != parsed.file_end):
        raise Violation(f"{segment} is DONE at {sidecar.end}, its log ends at {parsed.end} of {len(data)}")
    return parsed


def _deliver(read: list[tuple[Segment, Sidecar]], reading: Reading, dropped: int, delivered_to: Position) -> None:
    """Rows of all sections up to the ends, in order; transactions by walking back from their commit."""
    segments = [segment for segment, _ in read]
    for segment, sidecar in read:
        definitions: Definitions = {}
        for record, skipped in _records(segment, sidecar):
            if record.kind == DEFINITION:
                cdc = _define(record, definitions)
            elif record.kind == CHANGE:
                cdc = _known(record, definitions)[1]
                if record.fields[3] is None and not skipped:
                    reading.rows += _rows([record], definitions, record.at)
            else:
                cdc = record.kind == COMMIT and record.fields[2] is not None
                try:
                    reading.rows += _committed(record, segments, segment, reading, dropped) if cdc else []
                except Violation:
                    # Delivered before, and some of it cleaned since.
                    if record.at > delivered_to:
                        raise
            if skipped and cdc:
                raise Violation(f"{record} is for readers, and stands before {sidecar.first}")


def _records(segment: Segment, sidecar: Sidecar) -> Iterator[tuple[Record, bool]]:
    """The records up to the published end; with each whether it stands in the head that a reader skips."""
    for piece in segment.pieces:
        if piece.end.offset > sidecar.end:
            break
        if not piece.records or piece.records[-1].kind != STATE:
            raise Violation(f"section {piece.start} does not end with state")
        for record in piece.records:
            yield record, piece.start.offset < sidecar.first


def _define(record: Record, definitions: Definitions) -> bool:
    _, fingerprint, table_id, _, table, cdc, *_ = record.fields
    if (table_id, fingerprint) in definitions:
        raise Violation(f"definition of {table} twice in segment {record.at.segment}")
    definitions[table_id, fingerprint] = (table, cdc)
    return bool(cdc)


def _known(record: Record, definitions: Definitions) -> tuple[str, bool]:
    try:
        return definitions[record.fields[1], record.fields[2]]
    except KeyError:
        raise Violation(f"change at {record.at} before its definition in this segment") from None


def _rows(changes: list[Record], definitions: Definitions, at: Position) -> Iterator[Delivered]:
    number = 0
    for change in changes:
        table, cdc = definitions[change.fields[1], change.fields[2]]
        for row in change.fields[5]:
            if cdc:
                yield Delivered(at, number, table, int.from_bytes(row[1][0], "big"))
            number += 1


def _committed(
    commit: Record, segments: list[Segment], last: Segment, reading: Reading, dropped: int
) -> list[Delivered]:
    """The rows of a transaction, walked from the section that its commit names."""
    _, txn, first_bytes, expected, *_ = commit.fields
    if first_bytes is None:
        return []
    first = position(first_bytes)
    if first.segment <= dropped:
        reading.dropped.append(commit.at)
        return []
    changes: list[Record] = []
    voided: set[Position] = set()
    definitions: Definitions = {}
    for record in _walk(segments, first, commit.at, last.boot):
        if record.kind == DEFINITION:
            definitions[record.fields[2], record.fields[1]] = (record.fields[4], record.fields[5])
        elif record.at >= first and record.fields[_txn_index(record.kind)] == txn:
            if record.kind == CHANGE:
                changes.append(record)
            elif record.kind == ROLLBACK_TO:
                savepoint = position(record.fields[2])
                voided |= {change.at for change in changes if change.at >= savepoint}
    valid = [change for change in changes if change.at not in voided]
    tracked = next((number for number, change in enumerate(valid) if _cdc(change, definitions)), len(valid))
    valid = valid[tracked:]
    if len(valid) != expected:
        raise Violation(f"commit at {commit.at} says {expected} changes from {first}, there are {len(valid)}")
    return list(_rows(valid, definitions, commit.at))


def _cdc(change: Record, definitions: Definitions) -> bool:
    return definitions[change.fields[1], change.fields[2]][1]


def _txn_index(kind: int) -> int:
    return 3 if kind == CHANGE else 1


def _walk(segments: list[Segment], first: Position, until: Position, boot: str) -> Iterator[Record]:
    """The records of these segments of one run from the segment of `first` to `until`, definitions before it too."""
    if first.segment not in [segment.id for segment in segments]:
        raise Violation(f"{until} needs {first}, whose segment is gone")
    for segment in segments:
        if first.segment <= segment.id <= until.segment and segment.boot == boot:
            for piece in segment.pieces:
                for record in piece.records:
                    if record.at >= until:
                        return
                    if record.kind in (DEFINITION, CHANGE, ROLLBACK_TO):
                        yield record
