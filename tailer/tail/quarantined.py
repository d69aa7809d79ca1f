"""Entries in quarantine, read again by what is known of definitions now. Reads no segment and writes nothing.

A definition counts where its position says; an entry for which none counts yet is read by the first that came later,
for nothing else will ever say what its bytes are. Of what does not decode the error is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

import msgspec
import numpy as np

from tailer.definitions.at_spans import DefinitionsAtSpans
from tailer.definitions.bound_masks import BoundMasks
from tailer.definitions.learning import Definitions
from tailer.definitions.outside import OutsideSources
from tailer.errors import CdcError, CorruptError, DefinitionError, SinkError
from tailer.framing.entry import HEAD_BYTES, scan_entries
from tailer.framing.name import parse_log_name
from tailer.limits import ENTRY_OVERHEAD
from tailer.options.tail import TailOptions
from tailer.position import Span
from tailer.reading.reader import masking_of
from tailer.reading.replaced_texts import ReplacedTexts, replaced_texts
from tailer.reading.task import DefinitionsById
from tailer.rows.batch import Batch
from tailer.rows.choice import Decoded
from tailer.rows.explain import explain, explain_value
from tailer.rows.explain_record import explain_record
from tailer.rows.mutations import read_mutations
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared, prepare
from tailer.rows.records import read_records
from tailer.scan.index import Status
from tailer.scan.record.head import IN_TRANSACTION
from tailer.scan.record.kinds import kinds_of
from tailer.schema.builtin import system_tables
from tailer.schema.cql_file import read_cql, tables_without_cdc
from tailer.schema.follow import SchemaState
from tailer.schema.masks import NO_MASKS, Masks
from tailer.schema.model import TableDefinition
from tailer.schema.record_definitions import is_native
from tailer.schema.selection import Selection
from tailer.state.journal import Journal
from tailer.state.journal_records import DefinitionRecord
from tailer.state.quarantine import Kept
from tailer.types.texts import counted_replacements

FROM_UNSIGNED_TIMES: Final = 8
"""The descriptor from which on a server's local times are unsigned."""


class KnownNow:
    """The definitions of a state folder, with those of a file and a server if the options name them.

    `journal`: one that is not written, for what is given here counts for these entries alone. `masks`: those of the
    `consumer` whose entries they are, whose key the options name.
    """

    def __init__(
        self, journal: Journal, options: TailOptions, masks: Masks = NO_MASKS, consumer: str | None = None
    ) -> None:
        known = Definitions(journal, Selection(), tolerant=True, consumer=consumer)
        found = frozenset(known.history.newest)
        OutsideSources(options, known).give(None)
        self._history = known.history
        self._masking = masking_of(BoundMasks(known.history).of(masks), options.masks_and_key()[1])
        self._newest_of = known.newest_of
        self._at = DefinitionsAtSpans(known.history)
        # Of a table with the id of an earlier one the history has the later one's alone.
        given = SchemaState()
        if options.schema_file is not None:
            given.apply(read_cql(options.schema_file))
        self._given = given.definitions
        self._without_cdc = _without_cdc(options, found, given)
        self.replaced: ReplacedTexts = Counter()
        """Values with a U+FFFD in place of what is no character, in the rows given so far."""
        self._native = {r.key: r.definition for r in journal.read() if isinstance(r, DefinitionRecord)}

    def newest_of(self, id: str) -> TableDefinition | None:
        """The newest definition of a table by its id, as rows have it."""
        newest = self._newest_of(id)
        return None if newest is None else self._masking.masks.shown(newest)

    def rows(self, record: Kept) -> Batch:
        """The rows of an entry, as a run gives them that knew its definitions when it came by.

        Raises what is wrong with it still: DefinitionError, CorruptError for bytes that are no entry.
        """
        data = _entry(record)
        refused: DefinitionError | None = None
        for definitions in self._native_ones() if self._native else self._of_mutation(record, data):
            try:
                return self._read(record, data, definitions)
            except DefinitionError as error:
                # What is told is what stood in the way first: of the definition that counts there.
                refused = refused or error
        assert refused is not None
        raise refused

    def _native_ones(self) -> Iterator[DefinitionsById]:
        """A change names its definition, wherever in the log that stood."""
        yield self._native

    def _of_mutation(self, record: Kept, data: bytes) -> Iterator[DefinitionsById]:
        """By which definitions an entry is tried, the likeliest first."""
        at = record.at
        there = self._at.of(Span(at.segment, at.offset, at.offset, 0, at.offset, at.offset)).valid
        known = _named_in(there, data)
        yield known
        later = [_named_in(event.changed, data) for event in self._history.events if event.at > at]
        later = [changed for changed in later if changed]
        first: dict[str, object] = {}
        for changed in reversed(later):
            first.update(changed)
        if first.keys() - known.keys():
            known = {**first, **known}  # type: ignore[dict-item]
            yield known
        for changed in later:
            known = {**known, **changed}
            yield known
        given = _named_in(self._given, data)
        if given.keys() - there.keys():
            yield {**known, **given}

    def _read(self, record: Kept, data: bytes, definitions: DefinitionsById) -> Batch:
        place = Place(record.node, record.segment, [record.offset])
        selection = Selection(record.tables or (), self._masking.masks.tables)
        self._check_captures(record, data, definitions, selection)
        unread = system_tables().keys() - definitions.keys()
        prepared = prepare(definitions, selection.ids(definitions), unread=unread, masking=self._masking)
        starts, sizes = np.array([HEAD_BYTES], np.int64), np.array([len(data) - ENTRY_OVERHEAD], np.int64)
        if self._native:
            _check_alone(record, data, starts, sizes)
        with counted_replacements() as count:
            if self._native:
                decoded = read_records(data, starts, sizes, prepared, 0, None, place)
            else:
                decoded = read_mutations(data, starts, sizes, prepared, 0, _unsigned(record), place)
        if decoded.index.stopped.status != Status.OK:
            raise self._explain(decoded, prepared, place)
        if decoded.made.faults:
            raise explain_value(decoded.made.faults[0], place)
        if count():
            self.replaced.update(replaced_texts(decoded, prepared))
        rows: Batch = decoded.made.batch  # type: ignore[assignment]  # no typed form was asked for
        return rows

    def _check_captures(self, record: Kept, data: bytes, definitions: DefinitionsById, selection: Selection) -> None:
        """A table without `cdc = true` gives no rows, and an entry is replayed once: a file that says nothing of `cdc`
        is no reason to give none of it."""
        for key, held in _named_in(definitions, data).items():
            if key in self._without_cdc and selection.names(held) and not selection.wants(held):
                raise DefinitionError(
                    f"the file of --schema does not say whether {held.name} captures",
                    at=record.at,
                    file=record.file,
                    expected="cdc = true, or cdc = false if its rows are not wanted",
                    found="a CREATE TABLE without cdc",
                    remedy="Add it to the statement in the file, and replay again.",
                )

    def _explain(self, decoded: Decoded, prepared: Prepared, place: Place) -> CdcError:
        told = explain_record if self._native else explain
        return told(decoded.index, decoded.data, prepared, place)


def _without_cdc(options: TailOptions, found: Collection[str], given: SchemaState) -> frozenset[str]:
    """The ids of tables of which nothing says whether they capture: a file alone defines them, and does not say it.
    `found`: the ids that the journal knows."""
    if options.schema_file is None or options.server is not None:
        return frozenset()
    names = tables_without_cdc(options.schema_file)
    return frozenset(id for id, held in given.definitions.items() if held.name in names and id not in found)


def _entry(record: Kept) -> bytes:
    """The one whole entry that a record is of. CorruptError for all else: no definition mends that."""
    if record.row is not msgspec.UNSET:
        raise SinkError(
            f"row {record.row} of the entry was refused by an outlet's target",
            at=record.at,
            remedy="Its bytes are the row's JSON: `cdc-tail quarantine DIR show` has it.",
        )
    try:
        data = bytes.fromhex(record.bytes)
    except ValueError:
        data = b""
    found = scan_entries(data)
    if record.code != DefinitionError.code or found.faults or len(found.starts) != 1:
        raise CorruptError(
            "bytes that are no whole entry",
            at=record.at,
            file=record.file,
            remedy="No definition mends these: restore the segment, and read it with another consumer.",
        )
    return data


def _check_alone(
    record: Kept, data: bytes, starts: np.typing.NDArray[np.int64], sizes: np.typing.NDArray[np.int64]
) -> None:
    """The rows of a transaction are numbered where it was committed, which an entry alone does not tell."""
    if int(kinds_of(data, starts, sizes)[0]) == IN_TRANSACTION:
        raise DefinitionError(
            "a change of a transaction, whose rows are numbered from its commit on",
            at=record.at,
            file=record.file,
            remedy="Read the segment again with another consumer, while it is there.",
        )


def _named_in(definitions: DefinitionsById, data: bytes) -> DefinitionsById:
    """Those whose table's id stands in an entry: it has the ids of its tables literally."""
    return {key: held for key, held in definitions.items() if not is_native(key) and bytes.fromhex(held.id) in data}


def _unsigned(record: Kept) -> bool:
    name = parse_log_name(record.file)
    return name is not None and name.version >= FROM_UNSIGNED_TIMES
