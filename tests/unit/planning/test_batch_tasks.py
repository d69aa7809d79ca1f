"""The one maker of tasks: what lies between two offsets, by which records, and that a follower's steps are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tailer.errors import DefinitionError, LossError, RefusedError
from tailer.options.tail import TailOptions
from tailer.planning.batch_tasks import BatchTasks, FileTask, RowOptions, parts, pin_start
from tailer.position import Position
from tailer.reading.reader import Reader
from tailer.segments.segment import SegmentFile
from tailer.segments.segments import SourceSegments
from tailer.segments.source import FolderSource
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal import Journal
from tailer.state.journal_records import SegmentEndRecord, SkipRecord
from tailer.state.log_folder import state_folder
from tailer.state.offset import NodeOffset
from tailer.tail.tail import Tail
from tests.helpers.replay import Stage
from tests.helpers.sets import Place, stages
from tests.helpers.tails import open_tail
from tests.native.logs import ORDERS, folder_of, put
from tests.native.test_following import EXPECTED, mixed_log

ERROR = DefinitionError("made up", remedy="none")


def between(folder: Path, consumer: str | None = "c", journal: Journal | None = None, **options: bool) -> BatchTasks:
    """Of a process that knows nothing but the journal and the files."""

    def open_segment(segment: int) -> SegmentFile:
        found = next(folder.glob(f"CommitLog-*-{segment}.log"), None)
        if found is None:
            raise FileNotFoundError(segment)
        return SegmentFile(found, segment)

    return BatchTasks(
        "local",
        journal or FolderJournal(state_folder(folder), writable=bool(options)),
        consumer,
        open_segment,
        **options,
    )


def moves(tail: Tail, budget: int) -> Iterator[tuple[NodeOffset, NodeOffset, list[FileTask]]]:
    """A tail's steps while they move: the offsets around each, and its tasks."""
    while (step := tail.step(budget)).moved:
        yield tail.offset, step.offset, tail.tasks(step, 1 << 40)
        tail.advance(step)
    assert step.error is None


def rows(folder: Path, tasks: Sequence[FileTask]) -> list[str]:
    """Their rows, read by a reader that knows nothing else."""

    def refuse(at: Position, error: Exception, data: bytes) -> None:
        raise error

    told: list[str] = []
    for task, file in tasks:
        with SegmentFile(folder / file, task.span.segment) as opened:
            for batch in Reader().read(task, opened, refuse, SourceSegments(FolderSource(folder))):
                told += batch.to_arrow().to_pylist()
    return told


def journal_ends(folder: Path) -> list[SegmentEndRecord]:
    records = FolderJournal(state_folder(folder), writable=False).read()
    return [record for record in records if isinstance(record, SegmentEndRecord)]


class TestParts:
    ENDS = {6: 60, 7: 70, 8: 80, 9: 90}  # noqa: RUF012

    def test_inside_one_segment(self) -> None:
        assert parts(NodeOffset(s=7, o=10, done=False), NodeOffset(s=7, o=40, done=False), self.ENDS) == [(7, 10, 40)]

    def test_over_segments_only_those_count_whose_end_is_on_record(self) -> None:
        start, end = NodeOffset(s=6, o=10, done=False), NodeOffset(s=10, o=5, done=False)
        assert parts(start, end, self.ENDS) == [(6, 10, 60), (7, 0, 70), (8, 0, 80), (9, 0, 90), (10, 0, 5)]
        assert parts(start, end, {6: 60, 8: 80}) == [(6, 10, 60), (8, 0, 80), (10, 0, 5)]

    def test_a_segment_that_was_read_to_its_end_gives_no_more(self) -> None:
        assert parts(NodeOffset(s=6, o=10, done=True), NodeOffset(s=7, o=5, done=False), self.ENDS) == [(7, 0, 5)]

    def test_late_segments_come_first_and_are_no_part_of_the_line(self) -> None:
        start = NodeOffset(s=6, o=60, done=True, p=((3, 10), (4, 40)))
        end = NodeOffset(s=9, o=20, done=False, p=((3, 30), (7, 5)))
        assert parts(start, end, self.ENDS) == [(3, 10, 30), (7, 0, 5), (8, 0, 80), (9, 0, 20)]

    def test_an_end_before_its_start_is_refused(self) -> None:
        with pytest.raises(RefusedError, match="before it starts"):
            parts(NodeOffset(s=7, o=40, done=False), NodeOffset(s=7, o=10, done=False), {})


class TestSteps:
    """A follower's tasks are those that anybody finds between its offsets."""

    @pytest.mark.parametrize("budget", [1, 150, 400, 1 << 20])
    def test_of_a_native_log(self, tmp_path: Path, budget: int) -> None:
        folder = folder_of(tmp_path, *mixed_log())
        with open_tail(folder, TailOptions(consumer="c")) as tail:
            pin_start(FolderJournal(state_folder(folder)), "c", 7)
            made = list(moves(tail, budget))
        assert sum(len(tasks) for *_, tasks in made) >= 3
        told: list[str] = []
        for before, after, tasks in made:
            found = between(folder).tasks(before, after)
            assert found == tasks
            told += rows(folder, found)
        whole = between(folder).tasks(made[0][0], made[-1][1])
        assert rows(folder, whole) == told
        assert len(told) == len(EXPECTED)

    @pytest.mark.parametrize("budget", [20_000, 1 << 40])
    def test_of_a_server_whose_folder_changes(self, sets_root: Path, tmp_path: Path, budget: int) -> None:
        stage, name, count = Stage(tmp_path, sets_root), "50-nonblocking", 0
        for place in stages(name)[:6]:
            stage.show(place, links=True)
            with open_tail(stage.folder, TailOptions(consumer="c")) as tail:
                for before, after, tasks in moves(tail, budget):
                    found = between(stage.folder).tasks(before, after)
                    assert [task.span for task, _ in found] == [task.span for task, _ in tasks]
                    assert [task.changes for task, _ in found] == [task.changes for task, _ in tasks]
                    assert [task.definitions for task, _ in found] == [task.definitions for task, _ in tasks]
                    count += len(tasks)
                tail.save()
        assert count > 5

    def test_without_a_consumer_the_records_are_in_memory(self, sets_root: Path, tmp_path: Path) -> None:
        """Ends that rest on an option hold for this run alone, and are what its own batches go by."""
        stage = Stage(tmp_path, sets_root)
        stage.show(Place("50-cases"))
        with open_tail(stage.folder, TailOptions(stopped=True)) as tail:
            made = list(moves(tail, 1 << 40))
            kept = tail._journal.kept
            assert {type(record) for record in kept} == {SegmentEndRecord}
            written = {end.segment for end in journal_ends(stage.folder)}
            assert written.isdisjoint(record.segment for record in kept)
            found = between(stage.folder, None, tail._journal).tasks(NodeOffset(), made[-1][1])
            assert [each.task.span for each in found] == [task.span for *_, tasks in made for task, _ in tasks]


class TestRecords:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return folder_of(tmp_path, *mixed_log())

    @pytest.fixture
    def ends(self, folder: Path) -> tuple[NodeOffset, NodeOffset]:
        """Around everything there is."""
        with open_tail(folder, TailOptions(consumer="c")) as tail:
            made = list(moves(tail, 1 << 20))
        return made[0][0], made[-1][1]

    def test_the_same_offset_twice_is_nothing(self, folder: Path, ends: tuple[NodeOffset, NodeOffset]) -> None:
        for log in folder.glob("*.log"):
            log.unlink()
        assert between(folder).tasks(ends[1], ends[1]) == []

    def test_a_journal_that_is_shorter_than_the_offset_says_is_refused(
        self, folder: Path, ends: tuple[NodeOffset, NodeOffset]
    ) -> None:
        start, end = ends
        beyond = NodeOffset(end.j + 1, end.s, end.o, end.done, end.p)
        with pytest.raises(RefusedError, match="shorter"):
            between(folder).tasks(start, beyond)

    def test_options_count_that_were_journalled_before_the_end_left(
        self, folder: Path, ends: tuple[NodeOffset, NodeOffset]
    ) -> None:
        start, end = ends
        journal = FolderJournal(state_folder(folder))
        journal.append([RowOptions(("shop.notes",)).record("c"), RowOptions(("other.*",)).record("somebody")])
        later = NodeOffset(journal.count, end.s, end.o, end.done, end.p)
        assert {task.selection.tables for task, _ in between(folder).tasks(start, end)} == {()}
        assert {task.selection.tables for task, _ in between(folder).tasks(start, later)} == {("shop.notes",)}

    def test_decisions_count_whatever_their_number(self, folder: Path, ends: tuple[NodeOffset, NodeOffset]) -> None:
        start, end = ends
        before = between(folder).tasks(start, end)
        at = Position(7, before[0].task.span.lower)
        journal = FolderJournal(state_folder(folder))
        journal.append_skip("somebody", at, ERROR, 10)
        assert between(folder).tasks(start, end) == before
        journal.append_skip("c", at, ERROR, 10)
        found = [task for task, _ in between(folder).tasks(start, end)]
        assert [task.skips for task in found] == [((at.offset, 10),), (), ()]
        assert [task.walk_skips for task in found] == [((7, at.offset, 10),)] * 3

    def test_those_of_a_run_without_consumer_stay_in_memory(
        self, folder: Path, ends: tuple[NodeOffset, NodeOffset]
    ) -> None:
        journal = FolderJournal(state_folder(folder))
        written = (state_folder(folder) / "journal").read_bytes()
        first = between(folder, None, journal).tasks(*ends)[0].task.span.lower
        journal.append_skip(None, Position(7, first), ERROR, 10)
        assert [type(record) for record in journal.kept] == [SkipRecord]
        assert between(folder, None, journal).tasks(*ends)[0].task.skips == ((first, 10),)
        assert between(folder, None).tasks(*ends)[0].task.skips == ()
        assert (state_folder(folder) / "journal").read_bytes() == written

    def test_a_batch_that_never_succeeded_counts_what_came_since(
        self, folder: Path, ends: tuple[NodeOffset, NodeOffset]
    ) -> None:
        FolderJournal(state_folder(folder)).append([RowOptions(schema_changes=True).record("c")])
        made = between(folder, accept_loss=False)
        assert not made.options(ends[1]).schema_changes
        made.recount(ends[1])
        assert made.options(ends[1]).schema_changes
        assert between(folder).options(ends[1]).schema_changes, "for whoever plans it again"

    def test_a_file_that_is_gone_is_a_loss_until_that_was_accepted(
        self, folder: Path, ends: tuple[NodeOffset, NodeOffset]
    ) -> None:
        whole = between(folder).tasks(*ends)
        next(folder.glob("*-8.log")).unlink()
        with pytest.raises(LossError, match="8:0") as raised:
            between(folder).tasks(*ends)
        assert raised.value.at == Position(8, 0)
        rest = [whole[0], whole[2]]
        assert between(folder, accept_loss=True).tasks(*ends) == rest
        assert between(folder).tasks(*ends) == rest


@pytest.mark.parametrize(("pieces", "piece_bytes"), [(4, None), (100, None), (1, 200), (3, 1)])
def test_how_a_batch_is_cut_changes_no_row(tmp_path: Path, pieces: int, piece_bytes: int | None) -> None:
    folder = folder_of(tmp_path, *mixed_log())
    with open_tail(folder, TailOptions(consumer="c")) as tail:
        (start, end, _), *rest = moves(tail, 1 << 20)
    end = rest[-1][1] if rest else end
    whole, cut = (
        between(folder).tasks(start, end),
        between(folder).tasks(start, end, pieces=pieces, piece_bytes=piece_bytes),
    )
    assert len(cut) > len(whole)
    assert rows(folder, cut) == rows(folder, whole)
    spans = [task.span for task, _ in cut]
    assert all(a.end == b.start for a, b in pairwise(spans) if a.segment == b.segment)


def test_a_position_inside_a_section_leaves_its_earlier_entries_out(tmp_path: Path) -> None:
    (one, *_) = logs = mixed_log()
    folder = folder_of(tmp_path, *logs)
    with open_tail(folder, TailOptions(consumer="c")) as tail:
        *_, (_, end, _) = moves(tail, 1 << 20)
    section = one.frame.sections[1]
    at = section.entries[1].start
    found = between(folder).tasks(NodeOffset(s=7, o=at, done=False), end)
    assert (found[0].task.span.start, found[0].task.span.lower) == (section.start, at)
    assert put(2, "alone") in (folder / found[0].file).read_bytes()
    assert ORDERS.id.hex() in {key[:32] for key in found[0].task.definitions}
