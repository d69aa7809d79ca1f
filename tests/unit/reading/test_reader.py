"""The loop over chunks: what comes in which order where entries do not decode, do not fit, or have no place.

The same for both payloads. An event is the offsets of a batch's rows, or the position of a fault; entries are told by
their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from tailer.errors import CdcError, DefinitionError
from tailer.position import Position, Span
from tailer.reading import reader as loop
from tailer.reading.reader import Reader
from tailer.reading.task import Change, ReadTask
from tailer.schema.model import Column, TableDefinition
from tailer.schema.record_definitions import definition_key
from tailer.schema.selection import Selection
from tailer.schema.typed import TypedOptions, TypedTable, typed_table
from tailer.segments.segment import SegmentFile
from tailer.segments.segments import NoSegments
from tests.helpers.logs.frame import SegmentWriter
from tests.helpers.logs.native import INSERT, PARTITION_KEY, REGULAR, NativeTable, NativeWriter, commit, row
from tests.helpers.logs.native import cell as native_cell
from tests.unit.rows.tables import table
from tests.unit.scan.mutations import cell, ck, counted, mutation, update

CHUNK = 4
SEGMENT = 7
GOOD, BAD_VALUE, LONG, NEW_COLUMN = "good", "bad value", "long", "new column"
"""An entry with one row; one whose value is none of its type; one with bytes behind it; one that sets a column which
the typed form has not."""

WRITTEN = table(Column("v", "regular", "smallint"), Column("w", "regular", "int"))
FORM_OF = table(Column("v", "regular", "smallint"))
RECORDS = NativeTable(
    bytes(range(16)),
    "ks",
    "t",
    (("k", PARTITION_KEY, "int", False), ("v", REGULAR, "smallint", False), ("w", REGULAR, "int", False)),
)


def mutation_of(kind: str) -> bytes:
    def one(column: str, value: bytes) -> bytes:
        content = counted(value) if column == "v" else value
        return mutation(update(b"\x24" + ck(b"a") + b"\x00" + cell(0x08, content), columns=[column]))

    return {
        GOOD: one("v", b"\0\x07"),
        BAD_VALUE: one("v", b"\0\0\x07"),
        LONG: one("v", b"\0\x07") + b"\0\0",
        NEW_COLUMN: one("w", b"\0\0\0\x07"),
    }[kind]


def record_of(kind: str, txn: int | None = None) -> bytes:
    def one(column: int, value: bytes) -> bytes:
        return RECORDS.change([row(INSERT, [b"\0\0\0\x01"], None, [native_cell(column, value)])], txn=txn)

    return {
        GOOD: one(1, b"\0\x07"),
        BAD_VALUE: one(1, b"\0\0\x07"),
        LONG: one(1, b"\0\x07") + b"\0\0",
        NEW_COLUMN: one(2, b"\0\0\0\x07"),
    }[kind]


@dataclass
class Written:
    """A segment whose last section is read, and by which definition. `form_of`: that of the typed form."""

    frame: SegmentWriter
    key: str
    definition: TableDefinition
    form_of: TableDefinition


def mutations(kinds: Sequence[str]) -> Written:
    frame = SegmentWriter(SEGMENT)
    frame.section(map(mutation_of, kinds))
    return Written(frame, WRITTEN.id, WRITTEN, FORM_OF)


def records(kinds: Sequence[str]) -> Written:
    return recorded([record_of(kind) for kind in kinds])


def recorded(payloads: Sequence[bytes]) -> Written:
    writer = NativeWriter(SEGMENT)
    writer.section([RECORDS.definition])
    writer.section(payloads)
    columns = Column("k", "partition_key", "int", 0), Column("v", "regular", "smallint")
    definition = TableDefinition(RECORDS.id.hex(), "ks", "t", (*columns, Column("w", "regular", "int")), cdc=True)
    form_of = TableDefinition(RECORDS.id.hex(), "ks", "t", columns, cdc=True)
    return Written(writer.frame, definition_key(RECORDS.id, RECORDS.fp), definition, form_of)


WRITERS = pytest.mark.parametrize("write", [mutations, records])


class _Alone(NoSegments):
    """The folder has no other segment."""

    def between(self, first: int, last: int) -> Sequence[int]:
        return [SEGMENT] if first <= SEGMENT <= last else []


def span_of(frame: SegmentWriter) -> Span:
    """The last section."""
    section = frame.sections[-1]
    return Span(SEGMENT, section.start, section.end, section.at, section.start, section.end)


class Reading:
    """One reading with everything that came, in order. `stops`: it ends at the first fault."""

    def __init__(self, path: Path, written: Written, *, typed: bool = False, stops: bool = False) -> None:
        frame = written.frame
        self.events: list[object] = []
        self.errors: list[CdcError] = []
        self.numbers: list[int] = []
        self.reader = Reader()
        self._stops = stops
        self._entries = {place.start: number for number, place in enumerate(frame.sections[-1].entries)}
        file = path / frame.name
        file.write_bytes(frame.data)
        form = typed_table(written.form_of, [], TypedOptions()) if typed else None
        with SegmentFile(file, SEGMENT) as opened:
            try:
                for batch in self.reader.read(self._task(written, form), opened, self._on_fault, _Alone()):
                    self.events.append([self._entries[int(offset)] for offset in batch.column("offset")])
                    self.numbers += map(int, batch.column("row"))
            except CdcError as error:
                self.errors.append(error)

    def _task(self, written: Written, form: TypedTable | None) -> ReadTask:
        known = {written.key: written.definition}
        return ReadTask("local", span_of(written.frame), known, (), Selection(), typed=form)

    def _on_fault(self, at: Position, error: CdcError, data: bytes) -> None:
        if self._stops:
            raise error
        self.events.append(self._entries[at.offset])
        self.errors.append(error)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CHUNK_ENTRIES", CHUNK)
    monkeypatch.setattr(loop, "TYPED_CHUNK_ENTRIES", CHUNK)


@WRITERS
@pytest.mark.parametrize("typed", [False, True], ids=["generic", "typed"])
@pytest.mark.parametrize(
    ("kinds", "events"),
    [
        ([GOOD] * 5, [[0, 1, 2, 3], [4]]),
        ([GOOD, BAD_VALUE, GOOD, GOOD, GOOD], [[0], 1, [2, 3], [4]]),
        ([BAD_VALUE, BAD_VALUE, GOOD], [0, 1, [2]]),
        ([GOOD, GOOD, BAD_VALUE], [[0, 1], 2]),
        ([GOOD, LONG, GOOD, GOOD, GOOD], [[0], 1, [2, 3], [4]]),
        ([GOOD, GOOD, GOOD, LONG, GOOD], [[0, 1, 2], 3, [4]]),
        ([GOOD, GOOD, GOOD, GOOD, LONG], [[0, 1, 2, 3], 4]),
        ([LONG, LONG, LONG, LONG, LONG], [0, 1, 2, 3, 4]),
        ([GOOD, BAD_VALUE, GOOD, LONG, BAD_VALUE, GOOD], [[0], 1, [2], 3, 4, [5]]),
    ],
    ids=[
        "chunks", "a fault in the middle", "faults at the beginning", "a fault at the end", "stopped in the middle",
        "stopped at a chunk's end", "stopped at the last entry", "stopped at each entry", "a fault before the stop",
    ],
)  # fmt: skip
def test_rows_and_faults_come_in_log_order(
    tmp_path: Path, write: Callable[[Sequence[str]], Written], typed: bool, kinds: list[str], events: list[object]
) -> None:
    found = Reading(tmp_path, write(kinds), typed=typed)
    assert found.events == events
    assert len(found.errors) == sum(kind != GOOD for kind in kinds)
    assert all(isinstance(error, DefinitionError) for error in found.errors)


@WRITERS
def test_a_misfit_behind_a_fault_ends_the_reading_there(
    tmp_path: Path, write: Callable[[Sequence[str]], Written]
) -> None:
    written = write([GOOD, BAD_VALUE, GOOD, NEW_COLUMN, GOOD])
    found = Reading(tmp_path, written, typed=True)
    assert found.events == [[0], 1, [2]]
    fault, misfit = found.errors
    assert str(fault).startswith("a value that does not fit its type")
    assert "for which this run's typed form has no place" in str(misfit)
    assert misfit.at == Position(SEGMENT, written.frame.sections[-1].entries[3].start)


@WRITERS
def test_a_fault_behind_a_misfit_is_not_told(tmp_path: Path, write: Callable[[Sequence[str]], Written]) -> None:
    found = Reading(tmp_path, write([GOOD, NEW_COLUMN, BAD_VALUE, GOOD]), typed=True)
    assert found.events == [[0]]
    (misfit,) = found.errors
    assert "for which this run's typed form has no place" in str(misfit)


@WRITERS
@pytest.mark.parametrize("fault", [BAD_VALUE, LONG])
def test_whoever_stops_at_a_fault_has_all_rows_before_it(
    tmp_path: Path, write: Callable[[Sequence[str]], Written], fault: str
) -> None:
    found = Reading(tmp_path, write([GOOD, GOOD, fault, GOOD]), stops=True)
    assert found.events == [[0, 1]]
    assert len(found.errors) == 1


@WRITERS
def test_a_chunk_ends_before_the_bytes_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Sequence[str]], Written]
) -> None:
    monkeypatch.setattr(loop, "CHUNK_BYTES", 1)
    assert Reading(tmp_path, write([GOOD] * 3)).events == [[0], [1], [2]]


@pytest.mark.parametrize("left_out", [BAD_VALUE, LONG])
def test_rows_behind_a_change_of_a_transaction_that_is_left_out_keep_their_numbers(
    tmp_path: Path, left_out: str
) -> None:
    """All of them stand at the commit; a fault stands at its own entry. The second chunk goes on from the first."""
    kinds = [GOOD, GOOD, left_out, GOOD, GOOD, left_out, GOOD]
    changes = [record_of(kind, 1) for kind in kinds]
    first = recorded(changes).frame.sections[-1].entries[0].start
    found = Reading(tmp_path, recorded([*changes, commit(1, (SEGMENT, first), len(changes))]))
    assert found.events == [[7, 7], 2, [7], [7], 5, [7]]
    assert found.numbers == [0, 1, 3, 4, 6]


def test_mutations_are_read_by_the_definitions_that_were_in_force(tmp_path: Path) -> None:
    """The change is made by the second entry, which is read by what was known before."""
    kinds = [GOOD, BAD_VALUE, BAD_VALUE, GOOD]
    written = mutations(kinds)
    frame = written.frame
    (tmp_path / frame.name).write_bytes(frame.data)
    blob = table(Column("v", "regular", "blob"))
    change = Change(frame.entries[1].end, {blob.id: blob})
    events: list[object] = []
    with SegmentFile(tmp_path / frame.name, SEGMENT) as file:
        task = ReadTask("local", span_of(frame), {WRITTEN.id: WRITTEN}, (change,), Selection(), schema_changes=True)
        for batch in Reader().read(task, file, lambda at, error, data: events.append(at.offset)):
            events.append(list(zip(batch.column("op"), batch.column("columns"), strict=True)))
    ((op, made),) = events.pop(2)
    assert op == "schema"
    assert msgspec.json.decode(made, type=TableDefinition) == blob
    assert events == [
        [("insert", '{"v":7}')],
        frame.entries[1].start,
        [("insert", '{"v":"0x000007"}'), ("insert", '{"v":"0x0007"}')],
    ]
