"""Reads a span of a native log: changes that count at once, and at each commit the rows of its transaction.

As stateless as `reader`, which calls it: the same task gives the same rows. A transaction's changes lie before its
commit, perhaps in earlier segments: `transactions` finds them, once for a span and only if it has commits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from tailer.errors import ACCEPT, CdcError, LossError
from tailer.position import Position, Span
from tailer.reading.bundle import Bundle, Part, held_back
from tailer.reading.transactions import RunPlace, Transaction, TransactionWalk, runs_from
from tailer.rows.explain import Misfit, explain_misfit, explain_value
from tailer.rows.explain_record import explain_record
from tailer.rows.generic.build import ValueFault
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.rows.records import read_records
from tailer.rows.schema_row import schema_batch
from tailer.scan.index import Status
from tailer.scan.record.head import IN_TRANSACTION, NO_RECORD, UNUSUAL, change_head
from tailer.scan.record.kinds import kinds_of
from tailer.scan.record.record import CHANGE, COMMIT, KIND_IGNORABLE, STATE, Commit, decode_record
from tailer.scan.record.scan import Scanned
from tailer.segments.group import Group, OnFault, entry_bytes, read_groups
from tailer.segments.run import Run
from tailer.segments.segment import SegmentFile
from tailer.segments.segments import Segments

if TYPE_CHECKING:
    from tailer.reading.task import ReadTask
    from tailer.rows.batch import Batch
    from tailer.rows.typed.batch import TypedBatch
    from tailer.segments.run import Numbers

    AnyBatch = Batch | TypedBatch

FIRST_NUMBER: Final = 0
ALONE_MAX: Final = 256
"""Changes that are worth a scan of their own."""


class RecordSpan:
    """One task's read. `unknown`: transactions left out because they began in a history that is not known.

    `most`: entries and bytes of one scan and build.
    """

    def __init__(
        self,
        task: ReadTask,
        file: SegmentFile,
        prepared: Prepared,
        segments: Segments,
        on_fault: OnFault,
        most: tuple[int, int],
        left_out: dict[str, int],
    ) -> None:
        self.unknown = 0
        self._task = task
        self._file = file
        self._prepared = prepared
        self._segments = segments
        self._on_fault = on_fault
        self._most = most
        self._left_out = left_out
        self._found: dict[int, Transaction] | None = None
        self._number = FIRST_NUMBER
        self._others: tuple[int, SegmentFile] | None = None
        self._open = ExitStack()

    def read(self) -> Iterator[AnyBatch]:
        """The task's rows, in log order."""
        task = self._task
        with self._open:
            for group in read_groups(self._file, task.span, self._on_fault, task.skips):
                yield from self._read_group(group)

    def _read_group(self, group: Group) -> Iterator[AnyBatch]:
        import numpy as np

        kinds = kinds_of(group.data, group.starts, group.sizes)
        if not self._schema_changes(group) and not (kinds == COMMIT).any():
            # The scan passes over what is no change, and cheaper than they are sorted out.
            yield from self._read_chosen(group, self._task.span.segment, None)
            return
        changes = self._schema_changes(group)
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
                yield self._schema_row(group, number)
            else:
                yield from self._commit(group, number)
        yield from self._flush(group, bundle)
        yield from self._read_changes(group, scanned[begin:])

    def _between(self, group: Group, bundle: Bundle, numbers: Numbers) -> Iterator[AnyBatch]:
        """Changes that count at once: few go into the bundle, many are read by themselves."""
        if len(numbers) == 0:
            return
        most, most_bytes = self._most
        if len(bundle) >= most or bundle.size >= most_bytes:
            yield from self._flush(group, bundle)
        if len(numbers) > ALONE_MAX or not bundle.add(Part(None, numbers)):
            yield from self._flush(group, bundle)
            yield from self._read_changes(group, numbers)

    def _takes(self, bundle: Bundle, offset: int) -> bool:
        """Whether the transaction that is committed there goes into the bundle: all of it lies near, and nothing is
        known against it."""
        if self._found is None:
            self._found = self._walk()
        found = self._found.get(offset)
        if found is None or found.lost is not None or held_back(self._task.walk_skips, found):
            return False
        import numpy as np

        most, most_bytes = self._most
        entries = bundle.entries_of(found)
        if entries is None or len(entries) > ALONE_MAX or len(bundle) >= most or bundle.size >= most_bytes:
            return False
        return bundle.add(Part(found, np.array(entries, np.int64)))

    def _flush(self, group: Group, bundle: Bundle) -> Iterator[AnyBatch]:
        """The bundle's rows; one part after another where something in it does not decode."""
        if not len(bundle):
            bundle.clear()
            return
        parts = list(bundle.parts)
        scanned, batch, faults, misfit, ignored = self._scan_and_build(
            bundle.entries(), 0, 0, bundle.place(self._task.node), bundle.before()
        )
        good = scanned.index.stopped.status == Status.OK and scanned.number == bundle.rows
        bundle.clear()
        if good and not faults and misfit is None:
            self._count_left_out(ignored)
            if len(batch):
                yield batch
            return
        for part in parts:
            if part.of is None:
                yield from self._read_changes(group, part.entries)
            else:
                yield from self._read_transaction(part.of)

    def _read_changes(self, group: Group, numbers: Numbers) -> Iterator[AnyBatch]:
        if len(numbers) == len(group.starts):
            chosen = group
        else:
            chosen = Group(group.data, group.starts[numbers], group.sizes[numbers], group.offsets[numbers])
        yield from self._read_chosen(chosen, self._task.span.segment, None)

    def _read_chosen(self, group: Group, segment: int, of: Transaction | None) -> Iterator[AnyBatch]:
        """Changes of a segment, in chunks of bounded size."""
        most, most_bytes = self._most
        begin, end = 0, len(group.starts)
        while begin < end:
            stop = min(bisect_left(group.starts, group.starts[begin] + most_bytes, begin, end), begin + most)
            chunk = Group(group.data, group.starts[begin:stop], group.sizes[begin:stop], group.offsets[begin:stop])
            yield from self._read_chunk(chunk, segment, of)
            begin = stop

    def _read_chunk(self, chunk: Group, segment: int, of: Transaction | None) -> Iterator[AnyBatch]:
        own = Place(self._task.node, segment, chunk.offsets)
        first = 0
        while first < len(chunk.starts):
            scanned, batch, faults, misfit = self._decode(chunk, first, of)
            for fault in faults:
                before = _rows_before(batch, scanned, chunk, fault.entry, of)
                if before:
                    yield batch.slice(0, before)
                batch = batch.slice(before)
                self._report(chunk, fault.entry, own, explain_value(fault, own))
            if len(batch):
                yield batch
            if misfit is not None and self._task.typed is not None:
                raise explain_misfit(misfit, self._task.typed.table, own)
            stopped = scanned.index.stopped
            if of is not None:
                self._number = scanned.number
            if stopped.status != Status.OK:
                error = explain_record(scanned.index, scanned.data, self._prepared, own)
                self._report(chunk, stopped.entry, own, error)
                self._pass_over(chunk, stopped.entry)
            first = stopped.entry + 1

    def _decode(
        self, chunk: Group, first: int, of: Transaction | None
    ) -> tuple[Scanned, AnyBatch, list[ValueFault], Misfit | None]:
        """What the changes from number `first` on give, up to the first that does not decode."""
        task, number = self._task, None if of is None else self._number
        place = Place(task.node, task.span.segment, chunk.offsets)
        if of is not None:
            place = Place(task.node, task.span.segment, [of.commit] * len(chunk.offsets), of.name)
        scanned, batch, faults, misfit, ignored = self._scan_and_build(chunk, first, number, place, None)
        self._count_left_out(ignored)
        return scanned, batch, faults, misfit

    def _scan_and_build(
        self, chunk: Group, first: int, number: int | None, place: Place, before: Numbers | None
    ) -> tuple[Scanned, AnyBatch, list[ValueFault], Misfit | None, Mapping[str, int]]:
        """The last: how many values of which column the typed form has no place for."""
        what = chunk.data, chunk.starts, chunk.sizes, self._prepared, first, number, place
        if self._task.typed is None:
            scanned, (batch, faults) = read_records(*what, before)
            return scanned, batch, faults, None, {}
        from tailer.rows.typed.choice import read_records as read_typed

        scanned, made = read_typed(*what, self._task.typed, before)
        return scanned, made.batch, made.faults, made.misfit, made.ignored

    def _count_left_out(self, ignored: Mapping[str, int]) -> None:
        for name, count in ignored.items():
            self._left_out[name] = self._left_out.get(name, 0) + count

    def _report(self, chunk: Group, entry: int, own: Place, error: CdcError) -> None:
        self._on_fault(own.of(entry), error, entry_bytes(chunk, entry))

    def _pass_over(self, chunk: Group, entry: int) -> None:
        """The rows of a change that is left out keep their numbers."""
        start = int(chunk.starts[entry])
        head = change_head(chunk.data[start : start + int(chunk.sizes[entry])])
        self._number += 0 if head is None else head.rows

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

    def _schema_row(self, group: Group, number: int) -> AnyBatch:
        task = self._task
        which = self._schema_changes(group)[number]
        before = dict(task.definitions)
        for change in task.changes[:which]:
            before.update(change.definitions)
        place = Place(task.node, task.span.segment, [int(group.offsets[number])])
        return schema_batch(task.changes[which].definitions, before, task.selection, place)

    def _commit(self, group: Group, number: int) -> Iterator[AnyBatch]:
        """The rows of the transaction that is committed there."""
        offset = int(group.offsets[number])
        at = Position(self._task.span.segment, offset)
        start = int(group.starts[number])
        try:
            decode_record(group.data[start : start + int(group.sizes[number])], at, self._file.path.name)
        except CdcError as error:
            self._on_fault(at, error, entry_bytes(group, number))
            return
        if self._found is None:
            self._found = self._walk()
        found = self._found.get(offset)
        if found is None:
            return
        if found.lost is not None:
            self._on_fault(at, found.error(at.segment), entry_bytes(group, number))
            return
        yield from self._read_transaction(found)

    def _read_transaction(self, found: Transaction) -> Iterator[AnyBatch]:
        self._number = FIRST_NUMBER
        for place in found.runs:
            yield from self._read_run(found, place)

    def _walk(self) -> dict[int, Transaction]:
        task = self._task
        if task.walk is not None:
            return {each.commit: each for each in task.walk}
        walk = walk_of(task, self._file, self._segments)
        self.unknown += walk.unknown
        return walk.found

    def _read_run(self, found: Transaction, place: RunPlace) -> Iterator[AnyBatch]:
        import numpy as np

        file = self._opened(place.segment)
        file.remember(place.start, place.at)
        for _, run in runs_from(file, place.start, place.edge):
            numbers = np.array(_changes_of(found, place.segment, run), np.int64)
            skipped = {offset for segment, offset, _ in self._task.walk_skips if segment == place.segment}
            cuts = [at for at, number in enumerate(numbers.tolist()) if int(run.offsets[number]) in skipped]
            begin = 0
            for cut in (*cuts, len(numbers)):
                chosen = numbers[begin:cut]
                group = Group(run.data, run.starts[chosen], run.sizes[chosen], run.offsets[chosen])
                yield from self._read_chosen(group, place.segment, found)
                if cut < len(numbers):
                    self._pass_over(Group(run.data, run.starts, run.sizes, run.offsets), int(numbers[cut]))
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


def _rows_before(batch: AnyBatch, scanned: Scanned, chunk: Group, entry: int, of: Transaction | None) -> int:
    """How many rows of a batch are of entries before one."""
    if of is None:
        return bisect_left(batch.column("offset"), int(chunk.offsets[entry]))
    index = scanned.index
    own = index.rows["number"][index.updates["entry"][index.rows["update"]] == entry]
    return bisect_left(batch.column("row"), int(own.min())) if len(own) else 0
