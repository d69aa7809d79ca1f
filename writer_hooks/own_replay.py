"""The log read back for the service itself: committed changes of all tables, in the order in which they count.

Memory is bounded: a transaction that is too large for it is read from its segments again at its commit. Nothing of the
log object is used but how far it is durable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tailer.errors import CorruptError, LossError
from tailer.framing.header import Header
from tailer.limits import ENTRY_OVERHEAD, MIB
from tailer.position import Position
from tailer.scan.record.record import (
    Change,
    Commit,
    Definition,
    Record,
    Rollback,
    RollbackTo,
    decode_position,
    decode_record,
)
from writer_hooks.disk import Files
from writer_hooks.own_restart import own_segments, restart_at
from writer_hooks.own_sections import Reader, Whole, whole_sections
from writer_hooks.places import Places
from writer_hooks.read_back import RowValues, known, row_values

HELD_BYTES_MAX: Final = 64 * MIB
"""Payloads of open transactions that are kept in memory at most."""


class Replayed(NamedTuple):
    """A change that counts. `position`: where its entry begins, its commit's for a change of a transaction.

    `end`: the end of that entry. A store that has applied everything up to there goes on with `replay(end)`.
    """

    position: Position
    end: Position
    txn: str | None
    definition: Definition
    change: Change

    def rows(self) -> Iterator[RowValues]:
        """The change's rows with their values by column name."""
        return row_values(known(self.definition), self.change)


class _Held:
    """An open transaction's changes, or, when they are `spilled`, only what of them is void."""

    def __init__(self) -> None:
        self.changes: list[tuple[Position, Change, int]] = []
        self.bytes = 0
        self.spilled = False
        self.voids: list[tuple[Position, Position]] = []

    def add(self, at: Position, change: Change, size: int) -> None:
        if not self.spilled:
            self.changes.append((at, change, size))
            self.bytes += size

    def void(self, since: Position, at: Position) -> None:
        self.voids.append((since, at))
        while self.changes and self.changes[-1][0] >= since:
            self.bytes -= self.changes.pop()[2]

    def spill(self) -> None:
        self.spilled = True
        self.changes = []
        self.bytes = 0


class Entry(NamedTuple):
    """A record of the log, where it begins and ends, and the run of the writer that wrote it."""

    at: Position
    end: Position
    boot: str
    record: Record


def replay(
    files: Files, places: Places, since: Position, until: Position, held_bytes_max: int = HELD_BYTES_MAX
) -> Iterator[Replayed]:
    """Changes whose entry, or commit, begins at `since` or later, up to the durable end `until`.

    Raises LossError where segments that it needs were discarded, CorruptError, OSError.
    """
    _check_there(files, places, since)
    return Replay(files, places, since, until, held_bytes_max).run()


def _check_there(files: Files, places: Places, since: Position) -> None:
    segments = own_segments(files, places)
    if segments and Position(0, 0) < since < Position(segments[0], 0):
        raise LossError(
            "a replay begins in a segment that is gone",
            at=since,
            expected=f"{Position(segments[0], 0)} or later",
            found=since,
            remedy="It was discarded: replay from a position that was never discarded before, or from `earliest`.",
        )


class Replay:
    """One replay's state: definitions seen, transactions open."""

    def __init__(self, files: Files, places: Places, since: Position, until: Position, held_bytes_max: int) -> None:
        self._files = files
        self._places = places
        self._since = since
        self._until = until
        self._held_bytes_max = held_bytes_max
        self._definitions: dict[tuple[bytes, bytes], Definition] = {}
        self._open: dict[int, _Held] = {}
        self._held = 0

    def run(self) -> Iterator[Replayed]:
        restart = restart_at(self._files, self._places, self._since)
        boot = ""
        for entry in self._entries(min(restart.segment, self._since.segment)):
            if entry.boot != boot:
                # What a dead run left open never counts.
                boot = entry.boot
                self._open.clear()
                self._held = 0
            yield from self._take(entry)

    def _take(self, entry: Entry) -> Iterator[Replayed]:
        record = entry.record
        if isinstance(record, Definition):
            self._definitions[record.table_id, record.fingerprint] = record
        elif isinstance(record, Change):
            if record.txn is not None:
                self._hold(record.txn, entry, record)
            elif entry.at >= self._since:
                yield self._replayed(entry, record)
        elif isinstance(record, RollbackTo):
            held = self._open.get(record.txn)
            if held is not None:
                self._held -= held.bytes
                held.void(decode_position(record.position), entry.at)
                self._held += held.bytes
        elif isinstance(record, Rollback):
            self._drop(record.txn)
        elif isinstance(record, Commit):
            held = self._drop(record.txn)
            if entry.at >= self._since and record.first_any is not None:
                yield from self._commit(entry, record, held)

    def _hold(self, txn: int, entry: Entry, change: Change) -> None:
        size = entry.end.offset - entry.at.offset
        held = self._open.setdefault(txn, _Held())
        held.add(entry.at, change, size)
        self._held += 0 if held.spilled else size
        while self._held > self._held_bytes_max:
            largest = max(self._open.values(), key=lambda each: each.bytes)
            self._held -= largest.bytes
            largest.spill()

    def _drop(self, txn: int) -> _Held:
        held = self._open.pop(txn, None) or _Held()
        self._held -= held.bytes
        return held

    def _commit(self, entry: Entry, commit: Commit, held: _Held) -> Iterator[Replayed]:
        count = 0
        for change in self._spilled(entry, commit, held) if held.spilled else (each for _, each, _ in held.changes):
            count += 1
            yield self._replayed(entry, change)
        if count != commit.n_any:
            raise LossError(
                "changes of a committed transaction are gone",
                at=entry.at,
                expected=f"{commit.n_any} changes",
                found=count,
                remedy="Segments of it were deleted: restore them, or replay from a position behind its commit.",
            )

    def _spilled(self, entry: Entry, commit: Commit, held: _Held) -> Iterator[Change]:
        assert commit.first_any is not None
        for each in self._entries(decode_position(commit.first_any).segment):
            if each.at >= entry.at:
                return
            record = each.record
            ours = isinstance(record, Change) and record.txn == commit.txn and each.boot == entry.boot
            if ours and not any(begin <= each.at < end for begin, end in held.voids):
                assert isinstance(record, Change)
                yield record

    def _replayed(self, entry: Entry, change: Change) -> Replayed:
        definition = self._definitions.get((change.table_id, change.fingerprint))
        if definition is None:
            raise CorruptError(
                "a change has no definition before it in its segment",
                at=entry.at,
                expected=f"one of table {change.table_id.hex()}, {change.fingerprint.hex()}",
                found="none",
            )
        txn = None if change.txn is None else f"{entry.boot}-{change.txn}"
        return Replayed(entry.at, entry.end, txn, definition, change)

    def _entries(self, first: int) -> Iterator[Entry]:
        """Every record from that segment's beginning on: definitions stand before what needs them."""
        for segment in own_segments(self._files, self._places):
            if not first <= segment <= self._until.segment:
                continue
            with Reader(self._files, self._places.own(segment)) as reader:
                header = reader.header()
                if header is None:
                    continue
                for section in whole_sections(reader, header):
                    if Position(segment, section.end) > self._until:
                        break
                    yield from _records(reader, header, section)


def _records(reader: Reader, header: Header, section: Whole) -> Iterator[Entry]:
    boot = str(header.parameters.get("boot", ""))
    for offset, payload in section.payloads():
        at = Position(header.segment, offset)
        record = decode_record(payload, at, str(reader.path))
        if record is not None:
            yield Entry(at, Position(header.segment, offset + len(payload) + ENTRY_OVERHEAD), boot, record)
