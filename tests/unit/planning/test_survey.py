"""What is made of a folder: finished or not, ends that never go back, orphans, deleted files, P (architecture 3)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tailer.planning.sighting import Closed
from tailer.planning.survey import LONE_SECONDS, Survey
from tailer.segments.source import FolderSource
from tailer.segments.view import SegmentView, View
from tailer.state.offset import NodeOffset
from tests.helpers.log_writer import LogFolder, SegmentWriter, completed, live, restarted, segment_of
from tests.unit.planning.conftest import Clock

ONE = 1_700_000_000_001
PAYLOAD = b"any payload of an entry"
START = NodeOffset()


def segment(number: int = ONE, sections: int = 2, padded: int = 0) -> SegmentWriter:
    writer = segment_of(number, [[PAYLOAD]] * sections)
    writer.pad(len(writer.data) + padded)
    return writer


@pytest.fixture
def survey(folder: LogFolder, clock: Clock) -> Iterator[Survey]:
    made = Survey(FolderSource(folder.path), clock=clock)
    yield made
    made.close()


def look(survey: Survey, position: NodeOffset = START) -> View:
    return survey.look(position)


def see(survey: Survey, number: int = ONE, position: NodeOffset = START) -> SegmentView:
    return look(survey, position)[number]


class TestSidecar:
    def test_a_number_is_the_durable_end(self, folder: LogFolder, survey: Survey) -> None:
        writer = segment()
        folder.put(writer, live(writer))
        assert see(survey) == SegmentView(ONE, log=True, sidecar=True, end=writer.end)

    @pytest.mark.parametrize("text", ["", "12x", "COMPLETED", "\nCOMPLETED", "90\nCOMP"])
    def test_half_written_is_look_again(self, text: str, folder: LogFolder, survey: Survey) -> None:
        folder.put(segment(), text)
        seen = see(survey)
        assert (seen.sidecar, seen.end, seen.promised, seen.finished) == (True, 0, False, None)

    @pytest.mark.parametrize("text", ["", "3", "12", "gibberish"])
    def test_going_back_keeps_the_highest_end(self, text: str, folder: LogFolder, survey: Survey) -> None:
        writer = segment()
        folder.put(writer, live(writer))
        look(survey)
        folder.sidecar(writer, text)
        assert see(survey).end == writer.end

    def test_once_seen_it_counts_though_it_vanishes(self, folder: LogFolder, survey: Survey) -> None:
        writer = segment()
        folder.put(writer, live(writer))
        look(survey)
        folder.sidecar(writer, None)
        assert (see(survey).sidecar, see(survey).end) == (True, writer.end)

    def test_without_one(self, folder: LogFolder, survey: Survey) -> None:
        folder.put(segment())
        assert see(survey) == SegmentView(ONE, log=True, sidecar=False)


class TestFinished:
    @pytest.mark.parametrize("sidecar", [completed, restarted])
    def test_by_the_word(self, sidecar: object, folder: LogFolder, survey: Survey) -> None:
        writer = segment(padded=50)
        folder.put(writer, completed(writer) if sidecar is completed else restarted(writer))
        assert see(survey).finished == "completed"
        assert see(survey).promised

    def test_sticky_once_seen(self, folder: LogFolder, survey: Survey) -> None:
        writer = segment()
        folder.put(writer, completed(writer))
        look(survey)
        folder.sidecar(writer, "")
        assert see(survey).finished == "completed"
        folder.sidecar(writer, None)
        assert see(survey).finished == "completed"

    def test_by_a_link_that_is_gone_where_another_log_has_two(self, folder: LogFolder, survey: Survey) -> None:
        old, new = segment(), segment(ONE + 1)
        for writer in (old, new):
            folder.put(writer, live(writer))
            folder.hold(writer)
        assert [view.finished for view in look(survey).values()] == [None, None]
        folder.let_go(old)
        assert see(survey).finished == "unlinked"
        assert see(survey, ONE + 1).finished is None

    def test_link_counts_say_nothing_in_a_copied_folder(self, folder: LogFolder, survey: Survey) -> None:
        for number in (ONE, ONE + 1):
            writer = segment(number)
            folder.put(writer, live(writer))
        assert [view.finished for view in look(survey).values()] == [None, None]

    def test_by_stopped(self, folder: LogFolder) -> None:
        folder.put(segment())
        survey = Survey(FolderSource(folder.path), stopped=True)
        assert see(survey).finished == "stopped"
        survey.close()

    def test_by_silence_while_a_higher_one_has_a_sidecar(self, folder: LogFolder, clock: Clock) -> None:
        old, new = segment(), segment(ONE + 1)
        paths = [folder.put(writer, live(writer)) for writer in (old, new)]
        for path in [*paths, *(folder.path / writer.sidecar_name for writer in (old, new))]:
            os.utime(path, (clock.now, clock.now))
        survey = Survey(FolderSource(folder.path), quiet_seconds=30, clock=clock)
        clock.now += 29
        assert see(survey).finished is None
        clock.now += 1
        assert see(survey).finished == "quiet"
        assert see(survey, ONE + 1).finished is None, "nothing higher: it may be an idle server"
        survey.close()

    def test_by_silence_alone_where_the_server_has_left_for_good(self, folder: LogFolder, clock: Clock) -> None:
        writer = segment()
        for path in (folder.put(writer, live(writer)), folder.path / writer.sidecar_name):
            os.utime(path, (clock.now, clock.now))
        survey = Survey(FolderSource(folder.path), left_seconds=60, clock=clock)
        clock.now += 59
        assert see(survey).finished is None
        clock.now += 1
        assert see(survey).finished == "quiet"
        survey.close()

    def test_a_higher_id_proves_nothing(self, folder: LogFolder, survey: Survey) -> None:
        old, new = segment(), segment(ONE + 1)
        folder.put(old, live(old))
        folder.put(new, completed(new))
        assert see(survey).finished is None

    def test_by_the_journal(self, folder: LogFolder, survey: Survey) -> None:
        writer = segment()
        folder.put(writer, live(writer))
        survey.closed[ONE] = Closed(writer.end, writer.end)
        assert (see(survey).finished, see(survey).closed) == ("recorded", writer.end)


class TestPublished:
    """P: the highest end published in an orderly way."""

    def published(self, survey: Survey) -> int:
        look(survey)
        return survey.sighting(ONE).published

    def test_a_bare_number(self, folder: LogFolder, survey: Survey) -> None:
        writer = segment()
        folder.put(writer, live(writer))
        assert self.published(survey) == writer.end

    def test_a_number_beside_the_word_that_is_not_the_files_length(self, folder: LogFolder, survey: Survey) -> None:
        writer = segment(padded=40)
        folder.put(writer, completed(writer))
        assert self.published(survey) == writer.end

    def test_the_files_length_beside_the_word_says_nothing(self, folder: LogFolder, survey: Survey) -> None:
        writer = segment(padded=40)
        folder.put(writer, restarted(writer))
        assert self.published(survey) == 0
        assert survey.sighting(ONE).number == len(writer.data)

    def test_a_restart_does_not_take_back_what_was_read_before(self, folder: LogFolder, survey: Survey) -> None:
        writer = segment(padded=40)
        folder.put(writer, live(writer))
        look(survey)
        folder.sidecar(writer, restarted(writer))
        assert self.published(survey) == writer.end

    def test_a_number_below_the_logical_end_as_restarts_write_for_compressed_files(
        self, folder: LogFolder, survey: Survey
    ) -> None:
        writer = segment(padded=40)
        folder.put(writer, live(writer))
        look(survey)
        folder.sidecar(writer, "61\nCOMPLETED")
        assert self.published(survey) == writer.end


class TestGone:
    def test_a_sidecar_without_log_is_an_orphan_at_two_looks_a_second_apart(
        self, folder: LogFolder, survey: Survey, clock: Clock
    ) -> None:
        writer = segment()
        folder.put(writer, live(writer)).unlink()
        assert (see(survey).log, see(survey).orphan) == (False, False)
        clock.now += 0.9
        assert not see(survey).orphan
        clock.now += 0.1
        assert see(survey).orphan

    def test_no_orphan_when_the_log_comes_in_between(self, folder: LogFolder, survey: Survey, clock: Clock) -> None:
        writer = segment()
        folder.put(writer, live(writer)).unlink()
        look(survey)
        clock.now += 5
        folder.put(writer, live(writer))
        assert not see(survey).orphan
        (folder.path / writer.name).unlink()
        assert not see(survey).orphan, "it counts from its own first look"

    def test_deleted_while_it_is_read_it_is_finished_and_still_there(self, folder: LogFolder, survey: Survey) -> None:
        writer = segment()
        folder.put(writer, live(writer))
        here = NodeOffset(0, ONE, 20, False)
        look(survey, here)
        file = survey.file(ONE)
        folder.remove(writer)
        seen = see(survey, position=here)
        assert (seen.log, seen.finished, seen.orphan) == (True, "deleted", False)
        assert file.read(0, 4) == bytes(writer.data[:4])

    def test_read_to_its_end_it_is_let_go(self, folder: LogFolder, survey: Survey) -> None:
        writer = segment()
        folder.put(writer, completed(writer))
        look(survey)
        survey.file(ONE)
        folder.remove(writer)
        assert not see(survey, position=NodeOffset(0, ONE, writer.end, True)).log

    def test_what_is_behind_the_position_is_closed(self, folder: LogFolder, survey: Survey) -> None:
        for number in (ONE, ONE + 1):
            folder.put(segment(number), "100")
        look(survey)
        first = survey.file(ONE)
        look(survey, NodeOffset(0, ONE + 1, 20, False))
        with pytest.raises(OSError, match="Bad file descriptor"):
            first.status()

    def test_a_late_one_on_record_is_shown_though_it_is_gone(self, folder: LogFolder, survey: Survey) -> None:
        """After a restart of this program: what was delivered to its end and then deleted is no loss."""
        survey.closed[ONE] = Closed(100, 100)
        seen = see(survey, position=NodeOffset(0, ONE + 1, 0, True, ((ONE, 100),)))
        assert (seen.log, seen.closed) == (False, 100)

    def test_lone_is_one_without_sidecar_that_the_server_let_go_long_ago(
        self, folder: LogFolder, survey: Survey, clock: Clock
    ) -> None:
        old, new = segment(), segment(ONE + 1)
        path = folder.put(old)
        folder.put(new, live(new))
        folder.hold(new)
        clock.now = path.stat().st_ctime + LONE_SECONDS - 1
        assert (see(survey).finished, see(survey).lone) == ("unlinked", False)
        clock.now += 1
        assert see(survey).lone

    def test_foreign_files_are_left_alone(self, folder: LogFolder, survey: Survey) -> None:
        for name in ("CommitLog-1.log", "CommitLog-7-x.log", "CommitLog-7-5_cdc.idx.tmp", "notes.txt"):
            (folder.path / name).write_bytes(b"1")
        (folder.path / "sub").mkdir()
        assert look(survey) == {}
