"""The log read back for the service itself: committed changes of all tables, in the order in which they count.

Memory is bounded: a transaction that is too large for it is read from its segments again at its commit. Nothing of the
log object is used but how far it is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from tailer.errors import CdcError, LossError, UsageError
from tailer.limits import MIB
from tailer.position import Position
from tailer.scan.record.record import Change, Commit, Definition, Rollback, RollbackTo, decode_position
from writer_hooks.declared_table import Table
from writer_hooks.disk import Files
from writer_hooks.misfit import MisfitError
from writer_hooks.own_entries import Definitions, Entries, Entry
from writer_hooks.own_restart import NOWHERE, own_segments, restart_at
from writer_hooks.places import Places
from writer_hooks.read_back import NO_MODELS, Models, RowValues, row_reader
from writer_hooks.writer_errors import disk_error

HELD_BYTES_MAX: Final = 64 * MIB
"""Payloads of open transactions that are kept in memory at most."""

MISFITS_MAX: Final = 10_000
"""So many rows that a class does not take are counted for its error."""


class Replayed(NamedTuple):
    """A change that counts. `position`: where its entry begins, its commit's for a change of a transaction.

    `end`: the end of that entry. A store that has applied everything up to there goes on with `replay(end)`.
    """

    position: Position
    end: Position
    txn: str | None
    definition: Definition
    change: Change
    into: Models = NO_MODELS
    misfits: Callable[[Replayed], Iterator[int]] = lambda first: iter(())
    """How many rows of each change of its table, from that one on, its class does not take."""

    def rows(self) -> Iterator[RowValues]:
        """The change's rows, with values of Python by column name, and as a value of the class that was asked for.

        Raises UsageError for a row that the class does not take: with its field, and how many such rows there are.
        """
        model = self.into.get(self.definition.table_id)
        try:
            yield from row_reader(self.definition, model).rows(self.change)
        except MisfitError as error:
            raise self._refused(getattr(model, "__name__", repr(model)), error) from None

    def _refused(self, model: str, error: MisfitError) -> UsageError:
        count, more = 0, ""
        try:
            for misfits in self.misfits(self):
                count += misfits
                if count >= MISFITS_MAX:
                    more = "or more "
                    break
        except CdcError:
            # What is wrong with the log behind this row is no matter of this error, and comes when it is read.
            more = "or more "
        name = f"{self.definition.keyspace}.{self.definition.table}"
        remedy = f"Give {error.field} " + ("a default" if error.missing else "a type that takes what was written")
        return UsageError(
            f"{model} does not take {count} {more}{'row' if count == 1 else 'rows'} of {name} from here on "
            f"(field {error.field})",
            at=self.position,
            expected=error.expected,
            found=error.found,
            remedy=f"{remedy}; or replay without `into`, and make the values of `row.key` and `row.columns`.",
        )


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


def replay(
    files: Files,
    places: Places,
    since: Position,
    until: Position,
    held_bytes_max: int = HELD_BYTES_MAX,
    *,
    given: Iterable[Definition] = (),
    into: Models = NO_MODELS,
) -> Iterator[Replayed]:
    """Changes whose entry, or commit, begins at `since` or later, up to the durable end `until`.

    `given`: definitions that are known without looking for them. `into`: see `Replayed.rows`. Raises LossError where
    segments that it needs are gone, CorruptError, and what `disk_error` makes of an OSError.
    """
    _check_there(files, places, since, until)
    return Replay(files, places, since, until, held_bytes_max, given, into).run()


def _check_there(files: Files, places: Places, since: Position, until: Position) -> None:
    segments = own_segments(files, places)
    gone = NOWHERE < since < until and since.segment not in segments
    if segments and (gone or NOWHERE < since < Position(segments[0], 0)):
        raise LossError(
            "a replay begins in a segment that is gone",
            at=since,
            expected=f"{Position(segments[0], 0)} or later",
            found=since,
            remedy="It was discarded or lost: replay from a position that was never discarded before, or from "
            "`earliest`.",
        )


class Replay:
    """One replay's state: definitions seen, transactions open."""

    def __init__(
        self,
        files: Files,
        places: Places,
        since: Position,
        until: Position,
        held_bytes_max: int,
        given: Iterable[Definition],
        into: Models,
    ) -> None:
        self._files = files
        self._places = places
        self._since = since
        self._until = until
        self._held_bytes_max = held_bytes_max
        self._into = into
        self._entries = Entries(files, places, since, until)
        self._definitions = Definitions(files, places, given)
        self._open: dict[int, _Held] = {}
        self._held = 0

    def run(self) -> Iterator[Replayed]:
        if self._since >= self._until:
            return
        try:
            yield from self._run()
        except OSError as error:
            raise disk_error("the log could not be read back", error) from error

    def _run(self) -> Iterator[Replayed]:
        restart = restart_at(self._files, self._places, self._since)
        boot = ""
        for entry in self._entries.read(min(restart, self._since)):
            if entry.boot != boot:
                # What a dead run left open never counts.
                boot = entry.boot
                self._open.clear()
                self._held = 0
            yield from self._take(entry)

    def _take(self, entry: Entry) -> Iterator[Replayed]:
        record = entry.record
        if isinstance(record, Definition):
            self._definitions.add(record)
        elif isinstance(record, Change):
            if record.txn is not None:
                self._hold(record.txn, entry, record)
            elif entry.at >= self._since:
                yield self._replayed(entry, record, entry.at)
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
        kept = ((at, change) for at, change, _ in held.changes)
        for at, change in self._spilled(entry, commit, held) if held.spilled else kept:
            count += 1
            yield self._replayed(entry, change, at)
        if count != commit.n_any:
            raise LossError(
                "changes of a committed transaction are gone",
                at=entry.at,
                expected=f"{commit.n_any} changes",
                found=count,
                remedy="Segments of it were deleted: restore them, or replay from a position behind its commit.",
            )

    def _spilled(self, entry: Entry, commit: Commit, held: _Held) -> Iterator[tuple[Position, Change]]:
        assert commit.first_any is not None
        for each in self._entries.read(decode_position(commit.first_any)):
            if each.at >= entry.at:
                return
            record = each.record
            ours = isinstance(record, Change) and record.txn == commit.txn and each.boot == entry.boot
            if ours and not any(begin <= each.at < end for begin, end in held.voids):
                assert isinstance(record, Change)
                yield each.at, record

    def _replayed(self, entry: Entry, change: Change, at: Position) -> Replayed:
        """`at`: of the change's own entry, before which its definition stands."""
        definition = self._definitions.of(change.table_id, change.fingerprint, at)
        txn = None if change.txn is None else f"{entry.boot}-{change.txn}"
        return Replayed(entry.at, entry.end, txn, definition, change, self._into, self._misfits)

    def _misfits(self, first: Replayed) -> Iterator[int]:
        table = first.definition.table_id
        again = Replay(self._files, self._places, first.position, self._until, self._held_bytes_max, (), NO_MODELS)
        for each in again.run():
            if each.definition.table_id == table:
                yield row_reader(each.definition, self._into[table]).misfits(each.change)


def models_of(tables: Iterable[object], wanted: Iterable[type[object]]) -> Models:
    """By table id the classes that are wanted. UsageError for one that none of the tables was declared by."""
    declared = [table for table in tables if isinstance(table, Table)]
    found: dict[bytes, type[object]] = {}
    for model in wanted:
        of_it = [table.id for table in declared if table.declared_by is model]
        if not of_it:
            raise UsageError(
                f"into: no table of this log was declared by {getattr(model, '__name__', model)}",
                expected=", ".join(table.declared_by.__name__ for table in declared if table.declared_by is not None)
                or "none",
                found=getattr(model, "__name__", repr(model)),
                remedy="Give its table, made by Table.of, to SegmentLog.open.",
            )
        found |= dict.fromkeys(of_it, model)
    return found
