"""The list of cleaned segments: ranges, its file, and what a reader makes of it."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.errors import LossError, RefusedError
from tailer.options.tail import TailOptions
from tailer.planning.plan import plan
from tailer.planning.survey import Survey
from tailer.position import Position
from tailer.segments.source import FolderSource
from tailer.state.cleaned import FILE_NAME, Cleaned, CleanedFile, read_cleaned, write_cleaned
from tailer.state.ids import Ids
from tailer.state.log_folder import state_folder
from tailer.state.offset import Memory, NodeOffset
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder, SegmentWriter, completed, live, segment_of
from tests.helpers.tails import open_tail, tail_parts

ONE = 1_700_000_000_001


class TestIds:
    @given(st.lists(st.lists(st.integers(1, 40), max_size=8), max_size=6))
    def test_they_are_a_set(self, groups: list[list[int]]) -> None:
        ids = Ids()
        for group in groups:
            ids = ids.with_ids(group)
        expected = {segment for group in groups for segment in group}
        assert list(ids) == sorted(expected)
        assert len(ids) == len(expected)
        assert [segment for segment in range(42) if segment in ids] == sorted(expected)
        assert list(ids.above(20)) == sorted(segment for segment in expected if segment > 20)

    @given(st.sets(st.integers(1, 40)))
    def test_neighbours_share_a_range_and_nobody_else(self, segments: set[int]) -> None:
        ranges = Ids().with_ids(segments).ranges
        assert all(last + 1 < first for (_, last), (first, _) in pairwise(ranges))


class TestFile:
    CONTENT = CleanedFile(segments=Ids([(3, 5), (9, 9)]), bare=Ids.of([7]), lost={"billing": Ids.of([9])})

    def test_what_was_written_comes_back(self, tmp_path: Path) -> None:
        assert read_cleaned(tmp_path) == CleanedFile()
        write_cleaned(tmp_path, self.CONTENT)
        assert read_cleaned(tmp_path) == self.CONTENT

    def test_its_text(self, tmp_path: Path) -> None:
        """In turn from the last id before to the first, and from the first to the last."""
        write_cleaned(tmp_path, self.CONTENT)
        assert json.loads((tmp_path / FILE_NAME).read_text()) == {
            "v": 3, "segments": ["3 2 4 0"], "bare": ["7 0"], "lost": {"billing": ["9 0"]}, "forgotten": 0,
        }  # fmt: skip

    @pytest.mark.parametrize("version", ['"v":2,', '"v":1,', ""])
    def test_one_with_ranges_is_read_and_written_as_today_s(self, version: str, tmp_path: Path) -> None:
        earlier = f'{{{version}"segments":[[3,5],[9,9]],"bare":[[7,7]],"lost":{{"billing":[[9,9]]}}}}\n'
        (tmp_path / FILE_NAME).write_text(earlier)
        found = read_cleaned(tmp_path)
        assert (found.segments, found.bare, found.lost) == (
            self.CONTENT.segments, self.CONTENT.bare, self.CONTENT.lost,
        )  # fmt: skip
        write_cleaned(tmp_path, found)
        assert read_cleaned(tmp_path) == self.CONTENT

    def test_it_costs_some_bytes_a_range(self, tmp_path: Path) -> None:
        write_cleaned(tmp_path, CleanedFile(segments=Ids.of(range(ONE, ONE + 30_000, 3))))
        assert (tmp_path / FILE_NAME).stat().st_size < 5 * 10_000

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            '{"v":4}',
            '{"v":1,"segments":3}',
            '{"v":2,"segments":[3,2]}',
            '{"v":2,"segments":[[5,3]]}',
            '{"v":2,"segments":[[-5,3]]}',
            '{"v":2,"segments":[["3","5"]]}',
            '{"v":2,"segments":[[3,99999999999999999999]]}',
            '{"v":3,"segments":[[3,5]]}',
            '{"v":3,"segments":[3,2]}',
            '{"v":3,"segments":["3"]}',
            '{"v":3,"segments":["3 2 4"]}',
            '{"v":3,"segments":["3 -2"]}',
            '{"v":3,"segments":["",""]}',
            '{"v":3,"segments":[" 3 2 4"]}',
            '{"v":3,"segments":[null]}',
            '{"v":3,"segments":["٣ 2"]}',
            '{"v":3,"segments":["30 2","7 0"]}',
            '{"v":3,"bare":["99999999999999999999 0"]}',
            '{"v":3,"lost":{"billing":["nine 0"]}}',
        ],
    )
    def test_one_that_is_not_understood_is_refused(self, text: str, tmp_path: Path) -> None:
        (tmp_path / FILE_NAME).write_text(text)
        with pytest.raises(RefusedError, match="cleaned"):
            read_cleaned(tmp_path)

    @pytest.mark.parametrize("text", ["3 2 1 0", "3 99999999999999999999", "3 9", "3 2  4"])
    def test_one_that_is_seen_to_be_impossible_only_later(self, text: str, tmp_path: Path) -> None:
        """Ranges touch, are beyond 64 bits, reach into the next; a number is missing. Never a wrong answer."""
        (tmp_path / FILE_NAME).write_text(f'{{"v":3,"segments":["{text}","10 0"]}}')
        found = read_cleaned(tmp_path).segments
        assert 10 in found
        with pytest.raises(RefusedError, match="ascending and apart"):
            _ = 4 in found

    def test_a_reader_sees_what_is_written_later(self, tmp_path: Path) -> None:
        cleaned = Cleaned(tmp_path / "state")
        assert 4 not in cleaned.refresh()
        (tmp_path / "state").mkdir()
        write_cleaned(tmp_path / "state", self.CONTENT)
        assert [segment for segment in range(12) if segment in cleaned.refresh()] == [3, 4, 5, 7, 9]
        assert list(cleaned.lost("billing")) == [9]
        assert not cleaned.lost("other")

    def test_what_a_new_position_will_never_see(self, tmp_path: Path) -> None:
        """Segments that had a sidecar, beyond it or listed as late; one without sidecar held no captured change."""
        write_cleaned(tmp_path, self.CONTENT)
        assert Cleaned(tmp_path).unread(4) == Ids([(5, 5), (9, 9)])
        assert Cleaned(tmp_path).unread(5, late=[3, 7]) == Ids([(3, 3), (9, 9)])


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return LogFolder(tmp_path / "cdc_raw")


def segment(number: int) -> SegmentWriter:
    return segment_of(number, [[b"any payload of an entry"]] * 2)


def record(folder: LogFolder, content: CleanedFile) -> None:
    state = state_folder(folder.path)
    state.mkdir(exist_ok=True)
    write_cleaned(state, content)


class TestSurvey:
    def test_a_cleaned_segment_is_gone_whatever_its_files_say(self, folder: LogFolder) -> None:
        for number in (ONE, ONE + 1):
            folder.put(segment(number), completed(segment(number)))
        survey = Survey(FolderSource(folder.path), cleaned=lambda: Ids(((ONE, ONE),)))
        assert list(survey.look(NodeOffset())) == [ONE + 1]
        assert list(survey.segments()) == [ONE + 1]
        here = survey.look(NodeOffset(s=ONE))[ONE]
        assert (here.log, here.cleaned, here.orphan) == (False, True, False)

    def test_one_that_is_being_read_is_read_to_its_end(self, folder: LogFolder) -> None:
        """`clean` took it away while the server still has its own name for it: the link count says nothing."""
        writer = segment(ONE)
        folder.put(writer, live(writer))
        folder.hold(writer)
        cleaned: set[int] = set()
        survey = Survey(FolderSource(folder.path), cleaned=lambda: cleaned)
        at = NodeOffset(0, ONE, writer.end, False)
        survey.look(at)
        survey.file(ONE)
        cleaned.add(ONE)
        folder.remove(writer)
        seen = survey.look(at)[ONE]
        assert (seen.log, seen.finished) == (True, "deleted")
        survey.close()


def test_a_witness_that_clean_took_is_no_loss(folder: LogFolder) -> None:
    """Had anybody else taken it, changes between it and the next segment may be gone with it."""
    folder.put(segment(ONE + 5), completed(segment(ONE + 5)))
    at = NodeOffset(0, ONE, 100, True)
    memory = Memory(start=ONE, last_with_sidecar=ONE)
    for cleaned, lost in ((Ids(), True), (Ids(((ONE, ONE),)), False)):
        survey = Survey(FolderSource(folder.path), cleaned=lambda cleaned=cleaned: cleaned)  # type: ignore[misc]
        tail_reach = tail_parts(folder.path, TailOptions(), writes=False).reacher
        made = plan(survey.look(at), at, memory, tail_reach, 1)
        assert isinstance(made.error, LossError) is lost


class TestTail:
    def test_what_was_cleaned_is_not_delivered_again(self, folder: LogFolder) -> None:
        for number in (ONE, ONE + 1):
            folder.put(segment(number), completed(segment(number)))
        record(folder, CleanedFile(segments=Ids.of([ONE])))
        with open_tail(folder.path, TailOptions(), writes=False) as tail:
            assert {task.span.segment for task in tail.step().tasks} == {ONE + 1}

    @pytest.mark.parametrize("command", [("follow", "--once", "--accept-loss", "--on-error", "quarantine"), ("clean",)])
    def test_where_the_list_says_what_is_impossible_nothing_is_done(
        self, command: tuple[str, ...], folder: LogFolder
    ) -> None:
        """It is seen when somebody asks for that segment, and then nobody goes on."""
        folder.put(segment(ONE), completed(segment(ONE)))
        record(folder, CleanedFile())
        consumers = ["--no-consumers"] if command == ("clean",) else ["--consumer", "c"]
        (state_folder(folder.path) / FILE_NAME).write_text(f'{{"v":3,"segments":["{ONE} 2 1 0"]}}')
        word, *more = command
        ran = run_cli([word, folder.path, *more, *consumers])
        assert (ran.code, ran.out) == (6, "")
        assert ran.err.startswith("cdc-tail: what the state says of segments is damaged (cleaned.json, or records")
        assert (folder.path / f"CommitLog-7-{ONE}.log").exists()

    def test_a_position_in_it_is_gone(self, folder: LogFolder) -> None:
        for number in (ONE, ONE + 1):
            folder.put(segment(number), completed(segment(number)))
        record(folder, CleanedFile(segments=Ids.of([ONE])))
        for start in (f"{ONE}:0", f'{{"j":0,"s":{ONE},"o":0,"done":false,"p":[]}}'):
            tail = open_tail(folder.path, TailOptions(start=start, consumer="a"))
            with pytest.raises(LossError):
                tail.open()
            tail.close()
        assert not list((state_folder(folder.path) / "consumers").glob("*.json")), "nobody was registered"

    def test_a_named_position_below_it_reports_it(self, folder: LogFolder) -> None:
        for number in (ONE, ONE + 1, ONE + 2):
            folder.put(segment(number), completed(segment(number)))
        record(folder, CleanedFile(segments=Ids.of([ONE + 1])))
        with open_tail(folder.path, TailOptions(start=f"{ONE}:0"), writes=False) as tail:
            step = tail.step()
            assert {task.span.segment for task in step.tasks} == {ONE}
            tail.advance(step)
            error = tail.step().error
        assert isinstance(error, LossError)
        assert error.at == Position(ONE + 1, 0)

    def test_what_force_took_is_reported_though_it_was_never_seen(self, folder: LogFolder) -> None:
        writer = segment(ONE)
        folder.put(writer, completed(writer))
        options = TailOptions(consumer="billing", accept_loss=True)
        with open_tail(folder.path, options) as tail:
            tail.advance(tail.step())
            tail.save()
        record(folder, CleanedFile(segments=Ids.of([ONE + 1]), lost={"billing": Ids.of([ONE + 1])}))
        folder.put(segment(ONE + 2), completed(segment(ONE + 2)))
        with open_tail(folder.path, options) as tail:
            error = tail.step().error
            assert isinstance(error, LossError)
            assert error.at == Position(ONE + 1, 0)
            tail.accept(error)
            step = tail.step()
            assert step.error is None
            assert {task.span.segment for task in step.tasks} == {ONE + 2}
            tail.advance(step)
            assert tail.step().error is None
        with open_tail(folder.path, TailOptions(consumer="other")) as tail:
            assert tail.step().error is None, "it was not this one's"
