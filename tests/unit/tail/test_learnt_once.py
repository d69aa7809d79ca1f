"""What was searched for definitions once is not searched again: a start with nothing new reads no section, and whatever
came in between, the rows are those of a run that knows nothing of earlier ones."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import tailer
from tailer.errors import DefinitionError
from tailer.framing.section import Section
from tailer.options.tail import TailOptions
from tailer.planning import learnt, reach
from tailer.position import Position
from tailer.retention.forget import floor_of, wanted
from tailer.segments.segment import SegmentFile
from tailer.state.consumers import consumer_path, read_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal import Journal
from tailer.state.journal_records import LearntRecord, SchemaRecord
from tailer.state.log_folder import state_folder
from tailer.tail.tail import Tail
from tests.helpers.log_writer import (
    FORMATS,
    Cell,
    Column,
    Liveness,
    LogFolder,
    Row,
    SegmentWriter,
    Update,
    alter_payload,
    completed,
    create_payload,
    encode_mutation,
    i32,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.logs.native import NativeWriter, begin, commit
from tests.helpers.tails import open_tail, tail_parts
from tests.native.logs import ORDERS, folder_of, put
from tests.unit.tail.counted_runs import Place, count_runs

FIRST = 1_700_000_000_001
TABLE = simple_table("shop", "orders")
OPTIONS: dict[str, dict[str, Any]] = {
    "generic": {},
    "named": {"tables": ["shop.orders"]},
    "typed": {"table": "shop.orders"},
}
Rows: TypeAlias = list[dict[str, Any]]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[Place]:
    """How often each section's marker or bytes were read, by segment and start."""
    told = count_runs(monkeypatch)
    walked, plain = SegmentFile.sections, SegmentFile.plain

    def counting_markers(self: SegmentFile, start: int, at: int) -> Iterator[Any]:
        for found in walked(self, start, at):
            told.update([(self.segment, found.start)] if isinstance(found, Section) else [])
            yield found

    def counting_bodies(self: SegmentFile, section: Section) -> bytes:
        told.update([(self.segment, section.start)])
        return plain(self, section)

    monkeypatch.setattr(SegmentFile, "sections", counting_markers)
    monkeypatch.setattr(SegmentFile, "plain", counting_bodies)
    return told


def taken(folder: Path, consumer: str | None = "c", **options: Any) -> Rows:
    """What a run gives its consumer, and saves."""
    log = tailer.open(folder, consumer=consumer, **options)
    return [row for batch in log.follow(once=True) for row in batch.to_pylist()]


def alone(folder: Path, path: Path, **options: Any) -> Rows:
    """All rows of a copy of the folder, by who knows of no earlier run."""
    copied = Path(shutil.copytree(folder, path / "cdc_raw"))
    return [row for batch in tailer.open(copied, **options).read() for row in batch.to_pylist()]


def journal(folder: Path) -> Journal:
    return FolderJournal(state_folder(folder), writable=False)


def learnt_of(folder: Path) -> list[int]:
    return [record.of.segment for record in journal(folder).read() if isinstance(record, LearntRecord)]


class Log:
    """Segments of a server, the last of them still written in; the table in the first section."""

    def __init__(self, path: Path, form: str = "plain", segments: int = 3) -> None:
        self.folder = LogFolder(path / "cdc_raw")
        self.path = self.folder.path
        self.form = FORMATS[form]
        self.rows = 0
        self.writers: list[SegmentWriter] = []
        for number in range(segments):
            self.writers.append(segment_of(FIRST + number, [], form=self.form))
            self.section(*([] if number else [create_payload(TABLE, 10)]))
            self.section()
            self.put(finished=number < segments - 1)

    @property
    def last(self) -> SegmentWriter:
        return self.writers[-1]

    def section(self, *payloads: bytes, rows: int = 2) -> None:
        more = range(self.rows, self.rows + rows)
        self.rows += rows
        self.last.section([*payloads, *(insert_payload(TABLE, number, "c", number, ts=1000) for number in more)])

    def put(self, *, finished: bool = False) -> None:
        self.folder.put(self.last, completed(self.last) if finished else live(self.last))


ALTER = alter_payload(TABLE, Column("w", "regular", "int"), 2000)


@pytest.mark.parametrize("form", ["plain", "lz4"])
@pytest.mark.parametrize("kind", OPTIONS)
class TestNothingNew:
    def test_a_consumer_reads_no_section(self, form: str, kind: str, tmp_path: Path, read: Counter[Any]) -> None:
        log = Log(tmp_path, form)
        assert len(taken(log.path, **OPTIONS[kind])) == log.rows
        assert learnt_of(log.path) == [FIRST, FIRST + 1]
        read.clear()
        assert taken(log.path, **OPTIONS[kind]) == []
        assert read == {}

    def test_what_comes_then_is_read_and_nothing_else(
        self, form: str, kind: str, tmp_path: Path, read: Counter[Any]
    ) -> None:
        log = Log(tmp_path, form)
        taken(log.path, **OPTIONS[kind])
        edge = log.last.end
        log.section()
        log.put()
        read.clear()
        assert len(taken(log.path, **OPTIONS[kind])) == 2
        assert set(read) == {(log.last.segment, edge)}

    def test_another_consumer_searches_what_is_finished_no_more(
        self, form: str, kind: str, tmp_path: Path, read: Counter[Any]
    ) -> None:
        log = Log(tmp_path, form)
        taken(log.path, **OPTIONS[kind])
        read.clear()
        assert list(tailer.open(log.path, consumer="other", **OPTIONS[kind]).follow(once=True, start="latest")) == []
        assert {segment for segment, _ in read} == {log.last.segment}


def test_a_segment_without_sidecar_is_searched_once_too(tmp_path: Path, read: Counter[Any]) -> None:
    """The server holds it still; a generic consumer has passed it."""
    log = Log(tmp_path, segments=2)
    bare = segment_of(FIRST - 1, [[insert_payload(TABLE, 99, "c", 99)]])
    log.folder.put(bare)
    log.folder.hold(bare)
    log.folder.hold(log.last)
    assert len(taken(log.path)) == log.rows
    assert learnt_of(log.path) == [FIRST - 1, FIRST]
    read.clear()
    assert taken(log.path) == []
    assert read == {}


def test_a_record_a_segment_however_often_there_is_a_look(tmp_path: Path) -> None:
    log = Log(tmp_path, segments=1)
    for _ in range(5):
        log.section()
        log.put()
        assert taken(log.path)
        assert taken(log.path) == []
    assert learnt_of(log.path) == []
    log.put(finished=True)
    taken(log.path)
    taken(log.path, "other")
    assert learnt_of(log.path) == [FIRST]


def test_a_record_of_a_finished_segment_however_small_the_steps(tmp_path: Path) -> None:
    log = Log(tmp_path, segments=1)
    for _ in range(8):
        log.section()
    log.put(finished=True)
    with open_tail(log.path, TailOptions(consumer="c")) as tail:
        steps = 0
        while (step := tail.step(1)).moved:
            tail.advance(step)
            steps += 1
    assert steps >= 10
    records = [record for record in journal(log.path).read() if isinstance(record, LearntRecord)]
    assert [(record.of.segment, record.of.end) for record in records] == [(FIRST, log.last.end)]


def test_what_is_on_record_of_segments_that_are_gone_costs_no_look(tmp_path: Path) -> None:
    """A server deletes what is old, and nobody need run `clean`."""
    log = Log(tmp_path, segments=8)
    taken(log.path)
    for writer in log.writers[:-1]:
        (log.path / writer.name).unlink()
        (log.path / writer.sidecar_name).unlink()
    parts = tail_parts(log.path, TailOptions(consumer="c"))
    with Tail(parts) as tail:
        tail.step()
        asked: list[int] = []
        sighting = parts.survey.sighting
        parts.survey.sighting = lambda segment: asked.append(segment) or sighting(segment)  # type: ignore[method-assign, func-returns-value]
        tail.step()
    assert set(asked) <= {log.last.segment}


@pytest.mark.parametrize("kind", OPTIONS)
class TestTheSameRows:
    """As a run on a copy of the folder has them, which knows nothing of the runs before."""

    def test_a_definition_that_came_later(self, kind: str, tmp_path: Path) -> None:
        log = Log(tmp_path)
        rows = taken(log.path, **OPTIONS[kind])
        log.section(ALTER)
        log.put(finished=True)
        log.writers.append(segment_of(FIRST + 9, []))
        log.section()
        log.put()
        rows += taken(log.path, "c", **OPTIONS[kind])
        whole = alone(log.path, tmp_path / "copy", **OPTIONS[kind])
        if kind == "typed":
            # Its columns are those of its start.
            assert [row["w"] for row in rows[-2:]] == [None, None]
            rows[:-4] = [{**row, "w": None} for row in rows[:-4]]
        assert rows == whole

    def test_an_earlier_position_that_was_restored(self, kind: str, tmp_path: Path) -> None:
        log = Log(tmp_path)
        taken(log.path, **OPTIONS[kind])
        held = consumer_path(state_folder(log.path), "c")
        kept = held.read_bytes()
        log.section(ALTER)
        log.put(finished=True)
        log.writers.append(segment_of(FIRST + 9, []))
        log.section()
        log.put()
        first = taken(log.path, **OPTIONS[kind])
        held.write_bytes(kept)
        assert taken(log.path, **OPTIONS[kind]) == first
        assert len(first) == 4

    def test_a_journal_that_was_compacted_in_between(self, kind: str, tmp_path: Path, read: Counter[Any]) -> None:
        log = Log(tmp_path)
        taken(log.path, **OPTIONS[kind])
        log.section(ALTER)
        log.put()
        taken(log.path, **OPTIONS[kind])
        (log.path / log.writers[0].name).unlink()
        (log.path / log.writers[0].sidecar_name).unlink()
        known = FolderJournal(state_folder(log.path))
        holder = read_consumer(consumer_path(state_folder(log.path), "c"), "c")
        floor = floor_of([holder], [writer.segment for writer in log.writers[1:]], known.count)
        assert known.compact(floor.segment, lambda records: wanted(records, floor)) is not None
        assert learnt_of(log.path) == [FIRST + 1]
        read.clear()
        assert taken(log.path, **OPTIONS[kind]) == []
        assert read == {}
        log.section()
        log.put()
        assert [row["pk"] if kind == "typed" else row["offset"] for row in taken(log.path, **OPTIONS[kind])]


def test_a_definition_that_was_taken_back_stays_so(tmp_path: Path, read: Counter[Any]) -> None:
    log = Log(tmp_path)
    log.section(ALTER)
    log.put()
    taken(log.path, table="shop.orders")
    known = FolderJournal(state_folder(log.path))
    (number,) = [r.n for r in known.read() if isinstance(r, SchemaRecord) and r.at.segment == log.last.segment]
    known.append_retract(number)
    read.clear()
    batch = next(iter(tailer.open(log.path, table="shop.orders").read()))
    assert "w" not in batch.schema.names
    assert all(segment != FIRST or count == 1 for (segment, _), count in read.items())


def test_what_counted_late_for_one_is_met_in_its_place_by_another(tmp_path: Path) -> None:
    """One has passed a segment that had no sidecar yet, in which the table is changed then: that counts behind it."""
    log = Log(tmp_path, segments=1)
    log.put(finished=True)
    late = segment_of(FIRST + 1, [[insert_payload(TABLE, 90, "c", 90)]])
    log.writers.append(segment_of(FIRST + 2, []))
    log.section()
    log.put()
    for writer in (late, log.last):
        log.folder.put(writer)
        log.folder.hold(writer)
    assert len(taken(log.path, "ahead")) == log.rows
    late.section([ALTER, insert_payload(TABLE, 91, "c", 91)])
    log.folder.put(late)
    log.folder.let_go(late)
    assert taken(log.path, "ahead") == []
    records = journal(log.path).read()
    assert [r.found.segment for r in records if isinstance(r, SchemaRecord) and r.found is not None] == [late.segment]
    learnt_upto = max(r.of.end for r in records if isinstance(r, LearntRecord) and r.of.segment == late.segment)
    assert learnt_upto == late.sections[-1].start
    log.folder.sidecar(late, completed(late))
    found = taken(log.path, "behind", table="shop.orders")
    assert found == alone(log.path, tmp_path / "copy", table="shop.orders")
    assert len(found) == log.rows + 2
    assert taken(log.path, "behind", table="shop.orders") == []


def test_what_was_known_from_further_on_counts_where_it_stands_too(tmp_path: Path) -> None:
    """The same change stands in a segment that had no sidecar yet, and in the next one, which was read by then."""
    log = Log(tmp_path, segments=1)
    log.put(finished=True)
    late = segment_of(FIRST + 1, [[insert_payload(TABLE, 90, "c", 90)]])
    log.writers.append(segment_of(FIRST + 2, []))
    log.section(ALTER)
    log.put()
    for writer in (late, log.last):
        log.folder.put(writer)
        log.folder.hold(writer)
    rows = taken(log.path, "ahead")
    altered = replace(TABLE, columns=(*TABLE.columns, Column("w", "regular", "int")))
    row = Row((b"c",), Liveness(2001), None, (("w", Cell(i32(7), 2001, like_row=1)),))
    late.section([ALTER, encode_mutation((Update(altered, i32(91), (row,)),))])
    log.folder.put(late)
    log.folder.let_go(late)
    log.folder.sidecar(late, completed(late))
    rows += taken(log.path, "ahead")
    whole = alone(log.path, tmp_path / "copy")
    assert taken(log.path, "behind") == whole
    assert sorted(rows, key=lambda row: (row["segment"], row["offset"], row["row"])) == whole
    assert any("91" in row["partition_key"] and '"w":7' in row["columns"] for row in rows)
    count = journal(log.path).count
    assert taken(log.path, "ahead") == []
    assert journal(log.path).count == count


def test_what_one_has_left_out_is_told_to_the_next(tmp_path: Path) -> None:
    log = Log(tmp_path, segments=1)
    broken = bytearray(create_payload(simple_table("shop", "broken", 3), 20))
    broken[-1:] = b""
    log.section(bytes(broken))
    log.put(finished=True)
    assert len(taken(log.path, "lenient", on_error="quarantine")) == log.rows
    assert learnt_of(log.path) == []
    with pytest.raises(DefinitionError):
        taken(log.path, "strict")


def test_what_other_rules_have_searched_is_searched_again(
    tmp_path: Path, read: Counter[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(tmp_path)
    taken(log.path, table="shop.orders")
    monkeypatch.setattr(learnt, "RULES", 2)
    monkeypatch.setattr(reach, "RULES", 2)
    read.clear()
    assert taken(log.path, table="shop.orders") == []
    assert {segment for segment, _ in read} == {FIRST, FIRST + 1, FIRST + 2}


def test_what_was_kept_of_a_longer_journal_counts_for_nothing(tmp_path: Path, read: Counter[Any]) -> None:
    """Somebody restored the journal and not the consumer beside it."""
    log = Log(tmp_path, segments=1)
    taken(log.path, table="shop.orders")
    file = state_folder(log.path) / "journal"
    before = file.read_bytes()
    log.section(ALTER)
    log.put()
    held = consumer_path(state_folder(log.path), "c")
    offset = read_consumer(held, "c").nodes["local"].offset
    taken(log.path, table="shop.orders")
    kept = held.read_text()
    file.write_bytes(before)
    held.write_text(kept.replace(f'"j": {journal_count(kept)}', f'"j": {offset.j}', 1))
    read.clear()
    taken(log.path, table="shop.orders")
    assert (FIRST, log.last.sections[-1].start) in read


def journal_count(text: str) -> int:
    return int(text.split('"j": ')[1].split(",")[0])


def native_log() -> list[NativeWriter]:
    """A transaction that is open over two segments, and at the end of the third."""
    one, two, three = NativeWriter(7), NativeWriter(8), NativeWriter(9)
    first = (7, one.frame.end)
    one.section([ORDERS.definition, begin(1), put(1, "a", txn=1)], restart=first)
    two.section([ORDERS.definition, put(2, "between")], restart=first)
    three.section([ORDERS.definition, put(3, "last"), put(4, "also", txn=1)], restart=first)
    return [one, two, three]


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_native_log_with_an_open_transaction(kind: str, tmp_path: Path, read: Counter[Any]) -> None:
    writers = native_log()
    folder = folder_of(tmp_path, *writers, live=True)
    rows = taken(folder, **OPTIONS[kind])
    assert len(rows) == 2
    state = read_consumer(consumer_path(state_folder(folder), "c"), "c").nodes["local"]
    assert Position(*state.restart) == Position(7, writers[0].frame.sections[0].start)
    assert learnt_of(folder) == [7, 8]
    read.clear()
    assert taken(folder, **OPTIONS[kind]) == []
    assert read == {}
    first = (7, writers[0].frame.sections[0].start)
    writers[2].section([commit(1, first, 2), put(5, "behind")])
    LogFolder(folder).put(writers[2].frame, writers[2].sidecar(done=False))
    rows += taken(folder, **OPTIONS[kind])
    assert rows == alone(folder, tmp_path / "copy", **OPTIONS[kind])
    assert len(rows) == 5
