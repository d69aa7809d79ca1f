"""A service's payload: msgpack records. Changes that count at once, and at each commit the rows of its transaction.

A transaction's changes lie before its commit, perhaps in earlier segments: `transactions` finds them, once for a span
and only if it has commits. A change names its own definition, wherever that stood.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from tailer.errors import ACCEPT, CdcError, DefinitionError, LossError
from tailer.position import Position, Span
from tailer.reading.bundle import Bundle, Part, held_back
from tailer.reading.payload import Entries
from tailer.reading.task import DefinitionsById, ReadTask
from tailer.reading.transactions import RunPlace, Transaction, TransactionWalk, runs_from
from tailer.rows.choice import AnyBatch, Decoded
from tailer.rows.explain_record import explain_record
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.rows.records import read_records
from tailer.rows.schema_row import schema_batch
from tailer.scan.index import Status
from tailer.scan.record.head import IN_TRANSACTION, NO_RECORD, UNUSUAL, change_head
from tailer.scan.record.kinds import kinds_of
from tailer.scan.record.record import CHANGE, COMMIT, KIND_IGNORABLE, STATE, Commit, decode_record
from tailer.schema.record_definitions import is_native
from tailer.segments.group import Group, OnFault, entry_bytes
from tailer.segments.run import Run
from tailer.segments.segment import SegmentFile
from tailer.segments.segments import Segments

if TYPE_CHECKING:
    from tailer.segments.run import Numbers

FIRST_NUMBER: Final = 0
ALONE_MAX: Final = 256
"""Changes that are worth a scan of their own."""


class _Changes(Entries):
    """Changes that count at once."""

    def __init__(self, group: Group, segment: int, task: ReadTask, prepared: Prepared) -> None:
        super().__init__(group, segment, prepared)
        self._task = task

    def decode(self, chunk: Group, first: int) -> Decoded:
        place = Place(self._task.node, self.segment, chunk.offsets, keeps_source=self._task.keeps_source)
        return self._read(chunk, first, None, place)

    def explain(self, decoded: Decoded, place: Place) -> DefinitionError:
        return explain_record(decoded.index, decoded.data, self.prepared, place)

    def _read(self, chunk: Group, first: int, number_from: int | None, place: Place) -> Decoded:
        what = chunk.data, chunk.starts, chunk.sizes, self.prepared, first, number_from
        return read_records(*what, place, self._task.typed)


class _Committed:
    """A transaction that is being read. `number`: the next row's."""

    def __init__(self, found: Transaction) -> None:
        self.found = found
        self.number = FIRST_NUMBER

    def go_on(self, number: int) -> None:
        """Rows up to that number were made."""
        self.number = number

    def pass_over(self, group: Group, entry: int) -> None:
        """The rows of a change that is left out keep their numbers."""
        start = int(group.starts[entry])
        head = change_head(group.data[start : start + int(group.sizes[entry])])
        self.number += 0 if head is None else head.rows


class _ChangesOf(_Changes):
    """Changes of one transaction. Their rows stand where it was committed, whatever segment these lie in, and are told
    apart by their numbers alone."""

    def __init__(self, group: Group, segment: int, task: ReadTask, prepared: Prepared, of: _Committed) -> None:
        super().__init__(group, segment, task, prepared)
        self._of = of

    def decode(self, chunk: Group, first: int) -> Decoded:
        found, span = self._of.found, self._task.span
        place = Place(self._task.node, span.segment, [found.commit] * len(chunk.offsets), found.name)
        decoded = self._read(chunk, first, self._of.number, place)
        self._of.go_on(decoded.number)
        if decoded.index.stopped.status != Status.OK:
            self._of.pass_over(chunk, decoded.index.stopped.entry)
        return decoded

    def rows_before(self, batch: AnyBatch, decoded: Decoded, chunk: Group, entry: int) -> int:
        index = decoded.index
        own = index.rows["number"][index.updates["entry"][index.rows["update"]] == entry]
        return bisect_left(batch.column("row"), int(own.min())) if len(own) else 0


class Records:
    """One task's records. `most`: entries and bytes of one scan and build. `left_out`: see `Reader`; `opened` closes
    the other segments."""

    def __init__(
        self,
        task: ReadTask,
        file: SegmentFile,
        prepared: Prepared,
        segments: Segments,
        on_fault: OnFault,
        most: tuple[int, int],
        left_out: Counter[str],
        opened: ExitStack,
    ) -> None:
        self.unknown = 0
        self._task = task
        self._file = file
        self._prepared = prepared
        self._segments = segments
        self._on_fault = on_fault
        self._most = most
        self._left_out = left_out
        self._open = opened
        self._found: dict[int, Transaction] | None = None
        self._others: tuple[int, SegmentFile] | None = None

    def parts(self, group: Group) -> Iterator[Entries | AnyBatch]:
        """Changes and, each at its commit, the changes of transactions; what is small is read together at once."""
        import numpy as np

        kinds = kinds_of(group.data, group.starts, group.sizes)
        changes = self._schema_changes(group)
        if not changes and not (kinds == COMMIT).any():
            # The scan passes over what is no change, and cheaper than they are sorted out.
            yield self._changes(group)
            return
        unknown = (kinds == UNUSUAL) | (kinds == NO_RECORD) | ((kinds > STATE) & (kinds < KIND_IGNORABLE))
        scanned = np.flatnonzero((kinds == CHANGE) | unknown)
        commits = np.flatnonzero(kinds == COMMIT).tolist()
        bundle = Bundle(group, self._task.span.segment)
        begin = 0
        for number in sorted({*commits, *changes}):
            end = int(np.searchsorted(scanned, number))
            yield from self._between(group, bundle, scanned[begin:end])
            begin = end
            if number not in changes and self._takes(bundle, int(group.offsets[number])):
                continue
            yield from self._flush(group, bundle)
            if number in changes:
                yield self._schema_row(group, number, changes[number])
            else:
                yield from self._commit(group, number)
        yield from self._flush(group, bundle)
        yield self._chosen(group, scanned[begin:])

    def _changes(self, group: Group) -> Entries:
        return _Changes(group, self._task.span.segment, self._task, self._prepared)

    def _chosen(self, group: Group, numbers: Numbers) -> Entries:
        if len(numbers) == len(group.starts):
            return self._changes(group)
        return self._changes(Group(group.data, group.starts[numbers], group.sizes[numbers], group.offsets[numbers]))

    def _between(self, group: Group, bundle: Bundle, numbers: Numbers) -> Iterator[Entries | AnyBatch]:
        """Changes that count at once: few go into the bundle, many are read by themselves."""
        if len(numbers) == 0:
            return
        most, most_bytes = self._most
        if len(bundle) >= most or bundle.size >= most_bytes:
            yield from self._flush(group, bundle)
        if len(numbers) > ALONE_MAX or not bundle.add(Part(None, numbers)):
            yield from self._flush(group, bundle)
            yield self._chosen(group, numbers)

    def _takes(self, bundle: Bundle, offset: int) -> bool:
        """Whether the transaction that is committed there goes into the bundle: all of it lies near, and nothing is
        known against it."""
        found = self._transactions().get(offset)
        if found is None or found.lost is not None or held_back(self._task.walk_skips, found):
            return False
        import numpy as np

        most, most_bytes = self._most
        entries = bundle.entries_of(found)
        if entries is None or len(entries) > ALONE_MAX or len(bundle) >= most or bundle.size >= most_bytes:
            return False
        return bundle.add(Part(found, np.array(entries, np.int64)))

    def _flush(self, group: Group, bundle: Bundle) -> Iterator[Entries | AnyBatch]:
        """The bundle's rows; one part after another where something in it does not decode.

        A fault is told behind the rows before it, and of a bundle it is not known which those are.
        """
        if not len(bundle):
            bundle.clear()
            return
        task = self._task
        place = bundle.place(task.node, keeps_source=task.keeps_source)
        parts, entries = list(bundle.parts), bundle.entries()
        what = entries.data, entries.starts, entries.sizes, self._prepared, 0, FIRST_NUMBER, place
        decoded = read_records(*what, task.typed, bundle.before())
        good = decoded.index.stopped.status == Status.OK and decoded.number == bundle.rows
        bundle.clear()
        batch, faults, misfit, ignored = decoded.made
        if good and not faults and misfit is None:
            self._left_out.update(ignored)
            if len(batch):
                yield batch
            return
        for part in parts:
            if part.of is None:
                yield self._chosen(group, part.entries)
            else:
                yield from self._read_transaction(part.of)

    def _schema_changes(self, group: Group) -> dict[int, int]:
        """Numbers of the entries with a definition that the task's own have not, to the number of the change."""
        task = self._task
        if not task.schema_changes or not task.changes or not len(group.starts):
            return {}
        found = {}
        for at, change in enumerate(task.changes):
            number = bisect_left(group.offsets, change.end) - 1
            if number >= 0 and int(group.offsets[number] + group.sizes[number]) < change.end:
                found[number] = at
        return found

    def _schema_row(self, group: Group, number: int, which: int) -> AnyBatch:
        task = self._task
        before = dict(task.definitions)
        for change in task.changes[:which]:
            before.update(change.definitions)
        place = Place(task.node, task.span.segment, [int(group.offsets[number])])
        return schema_batch(task.changes[which].definitions, before, task.selection, place)

    def _commit(self, group: Group, number: int) -> Iterator[Entries]:
        """The changes of the transaction that is committed there."""
        offset = int(group.offsets[number])
        at = Position(self._task.span.segment, offset)
        start = int(group.starts[number])
        try:
            decode_record(group.data[start : start + int(group.sizes[number])], at, self._file.path.name)
        except CdcError as error:
            self._on_fault(at, error, entry_bytes(group, number))
            return
        found = self._transactions().get(offset)
        if found is None:
            return
        if found.lost is not None:
            self._on_fault(at, found.error(at.segment), entry_bytes(group, number))
            return
        yield from self._read_transaction(found)

    def _read_transaction(self, found: Transaction) -> Iterator[Entries]:
        of = _Committed(found)
        for place in found.runs:
            yield from self._read_run(of, place)

    def _transactions(self) -> dict[int, Transaction]:
        """By their commits; the walk is made when it is first asked for."""
        if self._found is None:
            task = self._task
            if task.walk is not None:
                self._found = {each.commit: each for each in task.walk}
            else:
                walk = walk_of(task, self._file, self._segments)
                self.unknown += walk.unknown
                self._found = walk.found
        return self._found

    def _read_run(self, of: _Committed, place: RunPlace) -> Iterator[Entries]:
        """Changes of a transaction that lie in a run, but for those that are to be left out."""
        import numpy as np

        file = self._opened(place.segment)
        file.remember(place.start, place.at)
        for _, run in runs_from(file, place.start, place.edge):
            numbers = np.array(_changes_of(of.found, place.segment, run), np.int64)
            skipped = {offset for segment, offset, _ in self._task.walk_skips if segment == place.segment}
            cuts = [at for at, number in enumerate(numbers.tolist()) if int(run.offsets[number]) in skipped]
            begin = 0
            for cut in (*cuts, len(numbers)):
                chosen = numbers[begin:cut]
                group = Group(run.data, run.starts[chosen], run.sizes[chosen], run.offsets[chosen])
                yield _ChangesOf(group, place.segment, self._task, self._prepared, of)
                if cut < len(numbers):
                    of.pass_over(Group(run.data, run.starts, run.sizes, run.offsets), int(numbers[cut]))
                begin = cut + 1

    def _opened(self, segment: int) -> SegmentFile:
        if segment == self._file.segment:
            return self._file
        if self._others is None or self._others[0] != segment:
            self._open.close()
            try:
                self._others = segment, self._open.enter_context(self._segments.opened(segment))
            except FileNotFoundError:
                raise lost_segment(segment, self._task.span) from None
        return self._others[1]


def record_definitions(task: ReadTask) -> DefinitionsById:
    """All that a task has, of its changes too: an entry names its definition, wherever in the span that stands."""
    known = {key: held for key, held in task.definitions.items() if is_native(key)}
    for change in task.changes:
        known.update(change.definitions)
    return known


def walk_of(task: ReadTask, file: SegmentFile, segments: Segments) -> TransactionWalk:
    """The walk for all commits of a task's span, walked."""
    import numpy as np

    definitions = {**task.definitions, **{key: d for change in task.changes for key, d in change.definitions.items()}}

    def is_tracked(key: bytes) -> bool:
        known = definitions.get(key.hex())
        return known is None or known.cdc

    span = task.span
    walk = TransactionWalk(span.segment, file.known_header().boot, segments, is_tracked, task.history_begins)
    file.remember(span.start, span.at)
    for _, run in runs_from(file, span.start, span.end):
        for number in np.flatnonzero(kinds_of(run.data, run.starts, run.sizes) == COMMIT).tolist():
            offset, start = int(run.offsets[number]), int(run.starts[number])
            if not span.lower <= offset < span.upper or any(at <= offset < at + size for at, size in task.skips):
                continue
            try:
                commit = decode_record(run.data[start : start + int(run.sizes[number])])
            except CdcError:
                # Told of where it is read.
                continue
            if isinstance(commit, Commit):
                walk.add(offset, commit)
    walk.run(file)
    return walk


def lost_segment(segment: int, span: Span) -> LossError:
    """A segment was deleted between the walk and the read."""
    return LossError(
        f"Changes are lost: segment {segment}, in which a transaction began, was deleted before it was read",
        at=Position(span.segment, span.lower),
        remedy=ACCEPT,
    )


def _changes_of(found: Transaction, segment: int, run: Run) -> list[int]:
    """Numbers of the run's entries that are changes of a transaction and count."""
    if found.listed is not None:
        low, high = Position(segment, int(run.offsets[0]) if len(run.offsets) else 0), Position(segment, run.edge)
        wanted = found.listed[bisect_left(found.listed, low) : bisect_right(found.listed, high)]
        return [bisect_left(run.offsets, at.offset) for at in wanted]
    numbers = []
    kinds = kinds_of(run.data, run.starts, run.sizes)
    for number in (kinds == IN_TRANSACTION).nonzero()[0].tolist():
        start = int(run.starts[number])
        head = change_head(run.data[start : start + int(run.sizes[number])])
        if head is not None and head.txn == found.txn and found.counts(Position(segment, int(run.offsets[number]))):
            numbers.append(number)
    return numbers
