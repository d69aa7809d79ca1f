"""What is known beside the planner: learnt from genuine segments, journalled first, valid from where it must be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.definitions.learning import Definitions
from tailer.definitions.outside import OutsideSources
from tailer.errors import DefinitionError, SystemFailedError
from tailer.framing.entry import Entries
from tailer.framing.section import NoSection, Section
from tailer.options.tail import TailOptions
from tailer.position import Position, Span
from tailer.schema.rows import SchemaDelta
from tailer.schema.selection import Selection
from tailer.segments.run import run_of
from tailer.segments.segment import SegmentFile
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal import Journal
from tailer.state.journal_records import SchemaRecord
from tests.oracle.schema import Follower
from tests.oracle.segments import segments
from tests.unit.schema.made import ID_A, SIMPLE, column, create, data, heading

SET = "50-cases"
ALTERED = "9b04d190e59811f1b9b8bd260306fc63"

Content = list[tuple[Section, bytes, Entries]]


def content(folder: Path, segment: int) -> Content:
    (log,) = folder.glob(f"CommitLog-*-{segment}.log")
    with SegmentFile(log, segment) as file:
        header = file.header()
        assert header is not None
        sections = [each for each in file.sections(header.length, header.length) if not isinstance(each, NoSection)]
        return [(each, *file.entries(each)) for each in sections]


def collect(known: Definitions, folder: Path, *chosen: int) -> None:
    for segment in chosen or ids(folder):
        for section, plain, entries in content(folder, segment):
            known.collect(segment, run_of(section, plain, entries))


def ids(folder: Path) -> list[int]:
    return [segment.id for segment in segments(folder)]


def definitions_in(state: Path, *, writable: bool = True, tolerant: bool = False) -> Definitions:
    return Definitions(FolderJournal(state, writable=writable), Selection(), tolerant=tolerant)


def whole(folder: Path, segment: int, start: int | None = None) -> Span:
    """The segment from its first section, or from the edge at `start`, to its log end."""
    (found,) = [each for each in segments(folder) if each.id == segment]
    begin = found.edges[0] if start is None else start
    return Span(segment, begin, found.log_end, begin, begin, found.log_end)


def lines(set_dir: Path, segment: int) -> Iterator[dict[str, object]]:
    (file,) = set_dir.glob(f"expected/*-{segment}.log.jsonl")
    for text in file.read_text().splitlines():
        if '"system_schema"' in text:
            yield json.loads(text)


def altered_ends(set_dir: Path, segment: int) -> list[int]:
    """Where, by the server's view, the columns of `cdc.altered` change in a segment: entry ends."""
    return [
        line["end"]
        for line in lines(set_dir, segment)
        for update in line["updates"]
        if update["table"] == "columns" and any(row["clustering"][0] == "altered" for row in update["unfiltereds"])
    ]


@pytest.fixture(scope="module")
def set_dir(sets_root: Path) -> Path:
    return sets_root / SET


@pytest.fixture(scope="module")
def folder(set_dir: Path) -> Path:
    return set_dir / "cdc_raw"


@pytest.fixture(scope="module")
def altering(set_dir: Path, folder: Path) -> int:
    """The segment with the ALTERs of `cdc.altered`; its CREATE is in the first."""
    (segment,) = [each for each in ids(folder)[1:] if altered_ends(set_dir, each)]
    return segment


def learnt(folder: Path, state: Path) -> Definitions:
    known = definitions_in(state)
    collect(known, folder)
    known.learn_collected(None)
    return known


def test_a_span_begins_with_what_the_log_before_it_said(set_dir: Path, folder: Path, tmp_path: Path) -> None:
    known, follower = learnt(folder, tmp_path), Follower()
    for segment in ids(folder):
        held = known.at(whole(folder, segment)).valid
        user = [want for want in follower.definitions.values() if not want.keyspace.startswith("system")]
        for want in user:
            table = held[want.id.replace("-", "")]
            data = {each.name: each for each in table.data_columns}
            assert data.keys() == {name for name, _ in want.columns}
            assert [text for name, text in want.columns if not data[name].dropped and data[name].type != text] == []
            assert (table.name, table.cdc) == (f"{want.keyspace}.{want.table}", want.cdc)
        assert len(user) > 70 or segment == ids(folder)[0]
        for line in lines(set_dir, segment):
            follower.apply(line["updates"])  # type: ignore[arg-type]


def test_changes_inside_a_span_stand_at_the_end_of_their_entry(
    set_dir: Path, folder: Path, altering: int, tmp_path: Path
) -> None:
    made = learnt(folder, tmp_path).at(whole(folder, altering))
    ends = [change.end for change in made.changes if ALTERED in change.definitions]
    assert ends == altered_ends(set_dir, altering)
    assert len(ends) == 6
    assert {each.name for each in made.valid[ALTERED].columns} == {"id", "ck", "a", "b", "c", "s"}
    last = [change.definitions[ALTERED] for change in made.changes if ALTERED in change.definitions][-1]
    assert {each.name for each in last.columns if not each.dropped} == {"id", "clus", "a", "b", "d", "e", "f"}


def test_a_span_that_begins_at_the_end_of_a_change_knows_it_already(
    set_dir: Path, folder: Path, altering: int, tmp_path: Path
) -> None:
    known = learnt(folder, tmp_path)
    first, second, *_ = altered_ends(set_dir, altering)
    behind = known.at(whole(folder, altering, first))
    assert "d" in {each.name for each in behind.valid[ALTERED].columns}
    assert next(change.end for change in behind.changes if ALTERED in change.definitions) == second
    before = known.at(whole(folder, altering, first - 1))
    assert "d" not in {each.name for each in before.valid[ALTERED].columns}
    assert before.changes[0].end == first
    # The change that the span's last entry makes is in the task, for the row that tells of it.
    until = known.at(Span(altering, first, second, first, first, second))
    assert [change.end for change in until.changes] == [second]


def test_definitions_are_the_same_object_while_nothing_changes(
    set_dir: Path, folder: Path, altering: int, tmp_path: Path
) -> None:
    known = learnt(folder, tmp_path)
    (first, second, *_) = altered_ends(set_dir, altering)
    one = known.at(Span(altering, first, first + 8, first, first, first + 8))
    other = known.at(Span(altering, first + 8, first + 16, first + 8, first + 8, first + 16))
    assert one.valid is other.valid
    assert known.at(whole(folder, altering, second)).valid is not one.valid
    kept = dict(one.valid)
    # Something that belongs further up: what was handed out stays, what is asked for now has it.
    known.add(create("t", ID_A, 10, SIMPLE), "log", Position(altering, first))
    again = known.at(Span(altering, first, first + 8, first, first, first + 8))
    assert ID_A in again.valid
    assert one.valid == kept


def test_what_a_task_needs_is_in_the_journal_before_the_task_is_made(
    set_dir: Path, folder: Path, tmp_path: Path
) -> None:
    known = definitions_in(tmp_path)
    collect(known, folder)
    assert FolderJournal(tmp_path, writable=False).count == 0, "what was collected is not known yet"
    known.learn_collected(None)
    written = [each for each in FolderJournal(tmp_path, writable=False).read() if isinstance(each, SchemaRecord)]
    ends = [Position(segment, line["end"]) for segment in ids(folder) for line in lines(set_dir, segment)]
    assert {each.at for each in written} <= set(ends)
    assert [each.at for each in written] == sorted(each.at for each in written)
    assert {event.at for event in known.history.events} <= {each.at for each in written}
    reader = definitions_in(tmp_path, writable=False)
    for segment in ids(folder):
        span = whole(folder, segment)
        assert reader.at(span) == known.at(span)


def test_a_second_run_adds_nothing(folder: Path, tmp_path: Path) -> None:
    first = learnt(folder, tmp_path)
    before = (tmp_path / "journal").read_bytes()
    second = learnt(folder, tmp_path)
    second.learn_collected(None)
    collect(second, folder)
    second.learn_collected(Position(ids(folder)[-1], 0))
    assert (tmp_path / "journal").read_bytes() == before
    assert second.latest() == first.latest()


def test_what_the_disk_refused_is_journalled_by_the_next_attempt(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = learnt(folder, tmp_path / "whole")
    known = definitions_in(tmp_path / "refused")
    collect(known, folder)

    def full(*given: object) -> None:
        raise SystemFailedError("no space")

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "append", full)
        with pytest.raises(SystemFailedError):
            known.learn_collected(None)
        assert not known.settled
    known.learn_collected(None)
    assert known.settled
    assert known.latest() == expected.latest()
    assert (tmp_path / "refused" / "journal").read_bytes().count(b"\n") == (
        tmp_path / "whole" / "journal"
    ).read_bytes().count(b"\n")


def test_a_late_segment_counts_from_the_planner_on_and_at_once_inside_itself(
    set_dir: Path, folder: Path, altering: int, tmp_path: Path
) -> None:
    others = [segment for segment in ids(folder) if segment != altering]
    planned = Position(others[-1], segments(folder)[-1].log_end)
    known = definitions_in(tmp_path)
    collect(known, folder, *others)
    known.learn_collected(None)
    between = Position(ids(folder)[ids(folder).index(altering) + 1], 0)
    before = dict(known.history.as_of(between))
    collect(known, folder, altering)
    known.learn_collected(planned)
    assert known.history.as_of(between) == before, "what was planned by this stays as it was"
    assert known.history.as_of(planned) != before
    late = [each for each in FolderJournal(tmp_path, writable=False).read() if isinstance(each, SchemaRecord)]
    assert {each.at for each in late if each.at.segment == planned.segment} == {planned}
    inside = known.at(whole(folder, altering))
    assert [change.end for change in inside.changes if ALTERED in change.definitions] == altered_ends(set_dir, altering)
    assert {each.name for each in inside.valid[ALTERED].columns} == {"id", "ck", "a", "b", "c", "s"}


def test_a_file_counts_from_the_beginning_at_a_first_start(set_dir: Path, folder: Path, tmp_path: Path) -> None:
    known = definitions_in(tmp_path)
    OutsideSources(TailOptions(schema_file=set_dir / "schema.cql"), known).give(None)
    first = known.at(whole(folder, ids(folder)[0]))
    assert {each.name for each in first.valid[ALTERED].clustering} == {"clus"}
    assert first.changes == ()
    (record,) = FolderJournal(tmp_path, writable=False).read()
    assert isinstance(record, SchemaRecord)
    assert (record.at, record.source) == (Position(0, 0), "file schema.cql")


def test_a_file_given_later_counts_from_the_planner_on(
    set_dir: Path, folder: Path, altering: int, tmp_path: Path
) -> None:
    planned = Position(altering, 100)
    known = definitions_in(tmp_path)
    OutsideSources(TailOptions(schema_file=set_dir / "schema.cql"), known).give(planned)
    before = known.at(whole(folder, ids(folder)[0]))
    assert (ALTERED in before.valid, before.changes) == (False, ())
    assert ALTERED in known.at(whole(folder, altering, 100)).valid
    assert known.history.events[0].at == planned
    # Given again at a later start: the same, and it counts from where it first did.
    again = definitions_in(tmp_path)
    OutsideSources(TailOptions(schema_file=set_dir / "schema.cql"), again).give(Position(altering, 5000))
    assert FolderJournal(tmp_path, writable=False).count == 1


def test_a_base_stands_below_the_log(tmp_path: Path) -> None:
    known = definitions_in(tmp_path)
    known.add(create("t", ID_A, 10, SIMPLE), "log", Position(7, 100))
    known.add([column("t", "w", data("int"), 20), heading("t", ID_A, 20)], "log", Position(7, 200))
    base = create("t", ID_A, -(2**63), {**SIMPLE, "v": data("blob"), "x": data("int")})
    assert known.add([without_deletion(each) for each in base], "file t.cql", Position(0, 0))
    types = {each.name: each.type for each in known.latest()[ID_A].columns}
    assert types == {"id": "int", "v": "text", "w": "int", "x": "int"}
    # The log shows the CREATE: there was no such table before, and it counts from there.
    assert ID_A not in known.history.as_of(Position(7, 99))
    first = {each.name: each.type for each in known.history.as_of(Position(7, 100))[ID_A].columns}
    assert first == {"id": "int", "v": "text", "x": "int"}


def test_the_file_given_last_counts(tmp_path: Path) -> None:
    start = Position(0, 0)

    def base(type_: str) -> list[SchemaDelta]:
        deltas = create("t", ID_A, -(2**63), {**SIMPLE, "v": data(type_)})
        return [without_deletion(each) for each in deltas]

    def type_of_v() -> str:
        columns = definitions_in(tmp_path).history.as_of(Position(1, 0))[ID_A].columns
        return next(each.type for each in columns if each.name == "v")

    for type_, records in (("text", 1), ("text", 1), ("blob", 2), ("text", 3), ("text", 3), ("blob", 4)):
        definitions_in(tmp_path).add(base(type_), f"file {type_}.cql", start)
        assert (type_of_v(), FolderJournal(tmp_path, writable=False).count) == (type_, records)
    FolderJournal(tmp_path).append_retract(4)
    assert type_of_v() == "text"
    definitions_in(tmp_path).add(base("blob"), "file blob.cql", start)
    assert type_of_v() == "blob", "given again, it counts again"


def without_deletion(delta: SchemaDelta) -> SchemaDelta:
    return SchemaDelta(delta.table, delta.keyspace, delta.clustering, delta.cells, delta.liveness)


def test_a_schema_change_that_cannot_be_decoded_stops_or_is_left_out(folder: Path, tmp_path: Path) -> None:
    first = ids(folder)[0]
    section, plain, entries = next(
        each for each in content(folder, first) if any(b"altered" in part for part in payloads(each))
    )
    chosen = [number for number, part in enumerate(payloads((section, plain, entries))) if b"altered" in part]
    start, size = entries.starts[chosen[0]], entries.sizes[chosen[0]]
    cut = Entries([start], [size - 1], [])
    strict, tolerant = definitions_in(tmp_path / "a"), definitions_in(tmp_path / "b", tolerant=True)
    strict.collect(first, run_of(section, plain, cut))
    with pytest.raises(DefinitionError, match=str(first)):
        strict.learn_collected(None)
    tolerant.collect(first, run_of(section, plain, cut))
    tolerant.learn_collected(None)
    (notice,) = tolerant.take_notices()
    assert f"{first}:{section.start + start}" in notice
    assert tolerant.latest() == {}
    assert tolerant.take_notices() == []
    assert tolerant.left_out == {first}
    with pytest.raises(DefinitionError, match=str(first)):
        strict.learn_collected(None)


def payloads(found: tuple[Section, bytes, Entries]) -> list[bytes]:
    _, plain, entries = found
    return [plain[start : start + size] for start, size in zip(entries.starts, entries.sizes, strict=True)]
