"""The range reader: a span and its definitions in, change rows out. Stateless: the same task gives the same rows.

One loop for all payloads: group by group, in chunks of bounded size; each chunk is decoded up to the first entry that
does not decode, cut at the entries whose values do not fit, and taken up again behind. Knows no sidecar, no position to
save and no sink; what cannot be delivered goes to `on_fault`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Final

from tailer.errors import CdcError, DefinitionError, RefusedError
from tailer.jit.ready import expect
from tailer.limits import MIB
from tailer.position import Position
from tailer.reading.counted_notices import CountedNotices
from tailer.reading.mutations import Mutations
from tailer.reading.payload import Entries, Payload
from tailer.reading.replaced_texts import ReplacedTexts, replaced_texts
from tailer.reading.task import DefinitionsById, ReadTask
from tailer.rows.choice import AnyBatch
from tailer.rows.explain import explain_misfit, explain_value
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared, prepare
from tailer.rows.table_masks import NO_MASKING, Masking
from tailer.scan.index import Status
from tailer.schema.builtin import system_tables
from tailer.schema.masks import Masks
from tailer.schema.selection import Selection
from tailer.schema.typed import TypedTable
from tailer.segments.group import Group, OnFault, entry_bytes, read_groups
from tailer.segments.mask_key import MaskKey
from tailer.segments.segment import SegmentFile
from tailer.segments.segments import NoSegments, Segments
from tailer.types.texts import OddKeys, counted_replacements

CHUNK_ENTRIES: Final = 4096
CHUNK_BYTES: Final = MIB
"""Entries of one scan and build, and their bytes: bounds the rows that are in memory at once."""

TYPED_CHUNK_ENTRIES: Final = 32768
TYPED_CHUNK_BYTES: Final = 4 * MIB
"""The same for rows that are made by the column: the cost of a batch is paid for more of them at once."""

NO_SEGMENTS: Final = NoSegments()


class Reader:
    """Reads tasks; keeps prepared definitions from one task to the next.

    `skipped`: entries passed over, by the id of their first table. `left_out`: values that a typed form has no column
    for, by column name. `replaced`: values with text that is no character. `unknown`: transactions left out that began
    before anything that is known. `key`: what hashes of masked columns are made with.
    """

    def __init__(self, key: MaskKey | None = None) -> None:
        self._key = key
        self.unknown = 0
        self.skipped: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.replaced: ReplacedTexts = Counter()
        self._prepared: Prepared | None = None
        self._prepared_of: tuple[DefinitionsById, Selection, Masks, TypedTable | None, OddKeys, bool] | None = None

    def read(
        self, task: ReadTask, file: SegmentFile, on_fault: OnFault, segments: Segments = NO_SEGMENTS
    ) -> Iterator[AnyBatch]:
        """The task's rows, in log order, in batches of bounded size.

        `file`: the span's segment; `segments`: the other ones of the folder, where a transaction of a native log may
        have begun. What does not check or decode goes to `on_fault` when the rows before it were taken. Raises
        DefinitionError where a definition cannot be used, or rows do not fit the task's typed form; RefusedError where
        the task's masks want another key.
        """
        rows = self._rows(task, file, on_fault, segments)
        if not task.extras:
            return rows
        # Only who asked for more needs it.
        from tailer.rows.widened import widened

        wide = (widened(batch, task.extras, task.ring) for batch in rows)
        return (batch for batch in wide if len(batch))

    def _rows(self, task: ReadTask, file: SegmentFile, on_fault: OnFault, segments: Segments) -> Iterator[AnyBatch]:
        expect(task.span.end - task.span.start)
        with ExitStack() as opened:
            payload = self._payload(task, file, segments, on_fault, opened)
            for group in read_groups(file, task.span, on_fault, task.skips):
                for part in payload.parts(group):
                    if isinstance(part, Entries):
                        yield from self._read_entries(task, part, on_fault)
                    else:
                        yield part
        self.unknown += payload.unknown

    def take_notices(self) -> list[str]:
        """What there is to say of transactions that were `unknown` since the last call."""
        unknown, self.unknown = self.unknown, 0
        return [_unknown_notice(unknown)] if unknown else []

    def _payload(
        self, task: ReadTask, file: SegmentFile, segments: Segments, on_fault: OnFault, opened: ExitStack
    ) -> Payload:
        header = file.header()
        if header is None or not header.native:
            unsigned = header is not None and header.version >= 8
            return Mutations(task, unsigned, partial(self._prepare, task), self.skipped)
        from tailer.reading.records import Records, record_definitions

        first = Position(task.span.segment, task.span.lower)
        prepared = self._prepare(task, record_definitions(task), first, native=True)
        return Records(task, file, prepared, segments, on_fault, _chunk_limits(task), self.left_out, opened)

    def _read_entries(self, task: ReadTask, entries: Entries, on_fault: OnFault) -> Iterator[AnyBatch]:
        """The rows of entries, in chunks of bounded size."""
        most, most_bytes = _chunk_limits(task)
        group = entries.group
        begin, end = 0, len(group.starts)
        while begin < end:
            stop = min(bisect_left(group.starts, group.starts[begin] + most_bytes, begin, end), begin + most)
            chunk = Group(group.data, group.starts[begin:stop], group.sizes[begin:stop], group.offsets[begin:stop])
            yield from self._read_chunk(task, entries, chunk, on_fault)
            begin = stop

    def _read_chunk(self, task: ReadTask, entries: Entries, chunk: Group, on_fault: OnFault) -> Iterator[AnyBatch]:
        place = Place(task.node, entries.segment, chunk.offsets)
        first = 0
        while first < len(chunk.starts):
            with counted_replacements() as count:
                decoded = entries.decode(chunk, first)
            if count():
                self.replaced.update(replaced_texts(decoded, entries.prepared))
            batch, faults, misfit, ignored = decoded.made
            self.left_out.update(ignored)
            # Whoever is told of a fault may stop there: all rows before it were delivered then, and none behind it.
            for fault in faults:
                before = entries.rows_before(batch, decoded, chunk, fault.entry)
                if before:
                    yield batch.slice(0, before)
                batch = batch.slice(before)
                _report(chunk, fault.entry, explain_value(fault, place), place, on_fault)
            if len(batch):
                yield batch
            if misfit is not None and task.typed is not None:
                raise explain_misfit(misfit, task.typed.table, place)
            stopped = decoded.index.stopped
            if stopped.status != Status.OK:
                _report(chunk, stopped.entry, entries.explain(decoded, place), place, on_fault)
            # At the end of a chunk that decoded whole, this is behind its last entry.
            first = stopped.entry + 1

    def _prepare(self, task: ReadTask, definitions: DefinitionsById, at: Position, *, native: bool = False) -> Prepared:
        """DefinitionsById made ready for a task; `at`: the first entry that is to be read by them."""
        wanted = definitions, task.selection, task.masks, task.typed, task.odd_keys, task.lacks_some
        if self._prepared is None or self._prepared_of != wanted:
            given, masks = (
                (definitions, task.masks) if task.typed is None else _of_form(task.typed, definitions, task.masks)
            )
            try:
                self._prepared = prepare(
                    given,
                    task.selection.ids(definitions),
                    unread=system_tables().keys() - definitions.keys(),
                    skip_unknown=native and bool(task.selection.tables) and not task.lacks_some,
                    # In a log of a service entries are of one table each, and name it.
                    reaches=(lambda keyspace: True) if native else task.selection.reaches,
                    masking=masking_of(masks, self._key),
                    strict_keys=task.odd_keys == "quarantine",
                )
            except DefinitionError as error:
                raise _placed(error, at) from None
            self._prepared_of = wanted
        return self._prepared


def _of_form(form: TypedTable, definitions: DefinitionsById, masks: Masks) -> tuple[DefinitionsById, Masks]:
    """Definitions with the names that columns have in a typed form, and the masks of columns by these names too."""
    if not form.earlier:
        return definitions, masks
    for definition in definitions.values():
        if definition.name == form.table:
            masks = masks.also(form.table, form.names_in(definition))
    return {key: form.renamed(definition) for key, definition in definitions.items()}, masks


def masking_of(masks: Masks, key: MaskKey | None) -> Masking:
    """Masks with their key. RefusedError where that is another one: equal values would no longer have equal hashes."""
    if not masks:
        return NO_MASKING
    if not masks.hashes:
        return Masking(masks)
    if key is None or key.fingerprint != masks.key:
        raise RefusedError(
            "rows that are hashed with one key are to be read with another",
            expected=f"the key with the fingerprint {masks.key}",
            found="none" if key is None else key.fingerprint,
            remedy="Give the file of that key with --mask-key.",
        )
    return Masking(masks, key.secret)


def count_left_out(left_out: Counter[str], why: str, notices: CountedNotices) -> None:
    """Move the numbers of values without a column in a typed form (`Reader.left_out`) into notices."""
    for name, number in left_out.items():

        def sentence(number: int, name: str = name) -> str:
            return f'warning: {number} values of column "{name}" were left out{why}'

        notices.count(("values", name), sentence, sentence, number)
    left_out.clear()


def _unknown_notice(count: int) -> str:
    """What is said of transactions that are not delivered because nothing tells what they hold."""
    return (
        f"{count} transactions began before the oldest segment that there was at the start: they belong to the history "
        "that is not known, and were not delivered"
    )


def _chunk_limits(task: ReadTask) -> tuple[int, int]:
    """Entries and bytes of a chunk."""
    return (CHUNK_ENTRIES, CHUNK_BYTES) if task.typed is None else (TYPED_CHUNK_ENTRIES, TYPED_CHUNK_BYTES)


def _placed(error: DefinitionError, at: Position) -> DefinitionError:
    """A definition that cannot be used, told with the first entry that would be read by it."""
    if error.at is not None:
        return error
    return DefinitionError(error.what, at=at, expected=error.expected, found=error.found, remedy=error.remedy)


def _report(chunk: Group, entry: int, error: CdcError, place: Place, on_fault: OnFault) -> None:
    on_fault(place.of(entry), error, entry_bytes(chunk, entry))
