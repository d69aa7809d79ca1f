"""One node of a query, without a JVM: where it begins, what it hands out, how it goes on, and whom it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CorruptError, DefinitionError, LossError, RefusedError, SystemFailedError
from tailer.options.tail import TailOptions
from tailer.planning.open_segments import OPEN_MAX
from tailer.position import Position
from tailer.spark.executor import JobPacker, read_job
from tailer.spark.node import Node
from tailer.spark.planner import UNLIMITED
from tailer.state.consumers import consumer_path, read_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import SkipRecord
from tailer.state.log_folder import state_folder
from tailer.state.offset import NodeOffset
from tests.helpers.logs.folder import LogFolder
from tests.helpers.logs.native import INSERT, NativeWriter, cell, row
from tests.native.logs import NOTES, ORDERS, number, put

Start = Callable[..., Node]


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return LogFolder(tmp_path / "cdc_raw")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def start(log: LogFolder, said: list[str]) -> Iterator[Start]:
    """Starts a run; one that is still there ends first, as a killed process does: it says nothing to anybody."""
    running: list[Node] = []

    def start(*, on_driver: bool = False, **options: Any) -> Node:
        while running:
            running.pop().close()
        given = TailOptions(**{"consumer": "spark", "settle_seconds": 0.0, **options})
        running.append(Node("local", log.path, given, None, said.append, on_driver=on_driver))
        return running[-1]

    yield start
    for node in running:
        node.close()


def segment(log: LogFolder, number: int, *values: str, done: bool = True) -> NativeWriter:
    """A segment with a section for each value."""
    writer = NativeWriter(number)
    for key, value in enumerate(values):
        writer.section([*([] if key else [ORDERS.definition]), put(key, value)])
    log.put(writer.frame, writer.sidecar(done=done))
    return writer


def saved(log: LogFolder) -> Any:
    return read_consumer(consumer_path(state_folder(log.path), "spark"), "spark").nodes["local"]


def all_planned(node: Node) -> NodeOffset:
    assert node.plan(UNLIMITED)[0]
    assert node.handed is not None
    return node.handed


def values(node: Node, begin: NodeOffset, end: NodeOffset, pieces: int = 1) -> list[str]:
    """What executors make of the batch."""
    found = []
    for task in node.tasks(begin, end, pieces):
        job = JobPacker().pack(task, node.place, node.options, node.carried(task))
        found += [row["columns"] for batch in read_job(job) for row in batch.to_pylist()]
    return [text.removeprefix('{"v":"').removesuffix('"}') for text in found]


class TestInitial:
    def test_it_is_durable_before_it_is_given(self, log: LogFolder, start: Start) -> None:
        segment(log, 7, "a")
        node = start()
        first = node.initial()
        assert saved(log).initial == saved(log).offset == first
        assert (first.position, first.done) == (Position(6, 0), True), "before the oldest, not before everything ever"

    def test_a_run_that_asks_again_gets_the_same_wherever_the_log_is(self, log: LogFolder, start: Start) -> None:
        segment(log, 7, "a")
        first = start(start="latest").initial()
        segment(log, 8, "b")
        node = start(start="latest")
        assert node.initial() == node.initial() == first
        assert values(node, first, all_planned(node)) == ["b"]

    def test_once_the_consumer_has_moved_it_is_a_new_checkpoint(
        self, log: LogFolder, start: Start, said: list[str]
    ) -> None:
        segment(log, 7, "a")
        node = start()
        first = node.initial()
        node.move_consumer(all_planned(node))
        assert saved(log).offset.s == 7
        again = start().initial()
        assert (again.s, again.o, again.done) == (first.s, first.o, first.done)
        assert said[-1].startswith("a new checkpoint: consumer spark is moved from 7:")

    def test_an_empty_folder_has_one_too(self, log: LogFolder, start: Start) -> None:
        log.path.mkdir(exist_ok=True)
        first = start().initial()
        segment(log, 7, "a")
        node = start()
        assert node.initial() == first
        assert values(node, first, all_planned(node)) == ["a"]


class TestPlan:
    def test_what_was_handed_out_stays_until_it_is_taken(self, log: LogFolder, start: Start) -> None:
        segment(log, 7, "a", done=False)
        node = start()
        first = node.initial()
        end = all_planned(node)
        segment(log, 7, "a", "b", done=False)
        assert node.plan(UNLIMITED) == (True, 0)
        assert (node.base, node.handed) == (first, end)
        node.stand(end)
        assert (node.base, node.handed) == (end, None)
        assert values(node, end, all_planned(node)) == ["b"]

    def test_without_news_there_is_nothing_to_hand_out(self, log: LogFolder, start: Start) -> None:
        segment(log, 7, "a", done=False)
        node = start()
        node.initial()
        node.stand(all_planned(node))
        assert node.plan(UNLIMITED) == (False, 0)
        assert not node.hand_out()
        assert node.handed is None

    def test_a_budget_cuts_at_a_section(self, log: LogFolder, start: Start) -> None:
        sections = segment(log, 7, "a", "b", "c", done=False).frame.sections
        node = start()
        at = node.initial()
        ends, told = [], []
        while node.plan(1)[0]:
            assert node.handed is not None
            told.append(values(node, at, node.handed))
            ends.append(node.handed.o)
            at = node.handed
            node.stand(at)
        assert ends == [each.end for each in sections]
        assert told == [["a"], ["b"], ["c"]]

    def test_log_without_rows_of_interest_is_kept_back(self, log: LogFolder, start: Start) -> None:
        """It leaves with the next rows, or when somebody asks for it in so many words (the tick)."""
        writer = NativeWriter(7)
        writer.section([NOTES.definition, put(1, "not captured", table=NOTES)])
        log.put(writer.frame, writer.sidecar(done=False))
        node = start()
        node.initial()
        known = all_planned(node)
        node.stand(known)
        writer.section([put(2, "not captured", table=NOTES)])
        log.put(writer.frame, writer.sidecar(done=False))
        assert node.plan(UNLIMITED)[0] is False
        assert node.hand_out()
        assert node.handed is not None
        assert node.handed.o == writer.frame.end
        assert values(node, known, node.handed) == []

    def test_standing_further_back_it_plans_the_same_again(self, log: LogFolder, start: Start) -> None:
        segment(log, 7, "a", "b", done=False)
        node = start()
        first = node.initial()
        node.plan(1)
        once = node.handed
        assert once is not None
        node.stand(once)
        all_planned(node)
        node.stand(first)
        node.plan(1)
        assert node.handed is not None
        assert (node.handed.s, node.handed.o) == (once.s, once.o)
        assert values(node, first, node.handed) == ["a"]

    def test_what_stands_before_an_error_goes_out_first(self, log: LogFolder, start: Start) -> None:
        writer = segment(log, 7, "a", "b")
        file = next(log.path.glob("*.log"))
        data = bytearray(file.read_bytes())
        data[writer.frame.sections[1].entries[0].start + 20] ^= 0xFF
        file.write_bytes(data)
        node = start()
        first = node.initial()
        end = all_planned(node)
        assert values(node, first, end) == ["a"]
        node.stand(end)
        for _ in range(2):
            with pytest.raises(CorruptError, match="7:"):
                node.plan(UNLIMITED)


class TestMove:
    def test_the_consumer_follows_what_was_committed_and_never_goes_back(self, log: LogFolder, start: Start) -> None:
        segment(log, 7, "a", "b", "c", done=False)
        node = start()
        offsets = [node.initial()]
        while node.plan(1)[0]:
            assert node.handed is not None
            offsets.append(node.handed)
            node.stand(node.handed)
        assert saved(log).offset == offsets[0], "planning alone moves nobody"
        for at in (1, 3, 2, 0):
            node.move_consumer(offsets[at])
            assert saved(log).offset == offsets[1 if at == 1 else 3]

    def test_segments_are_held_open_for_what_is_not_committed(self, log: LogFolder, start: Start) -> None:
        """With the bytes in the partitions, a segment that goes between planning and reading is no loss."""
        segment(log, 7, "a")
        segment(log, 8, "b", done=False)
        node = start(on_driver=True)
        first = node.initial()
        end = all_planned(node)
        for file in log.path.glob("*-7*"):
            file.unlink()
        assert values(node, first, end) == ["a", "b"]

    def test_a_batch_with_bytes_in_its_partitions_has_no_more_segments_than_are_held(
        self, log: LogFolder, start: Start
    ) -> None:
        told = [f"v{at}" for at in range(2 * OPEN_MAX)]
        for at, value in enumerate(told):
            segment(log, 7 + at, value)
        node = start(on_driver=True)
        begin = node.initial()
        assert node.plan(UNLIMITED)[0]
        end = node.handed
        assert end is not None
        assert 1 < end.s - 6 <= OPEN_MAX
        # Spark plans the next batch before it has committed this one.
        node.stand(end)
        assert node.plan(UNLIMITED)[0]
        for file in log.path.iterdir():
            file.unlink()
        assert values(node, begin, end) == told[: end.s - 6]


class TestRestart:
    @pytest.fixture
    def logged(self, log: LogFolder, start: Start) -> tuple[NodeOffset, NodeOffset, list[str]]:
        """A batch that Spark has logged, by a run that died before it was read; the log has gone on since."""
        segment(log, 7, "a")
        segment(log, 8, "b", done=False)
        node = start()
        first = node.initial()
        end = all_planned(node)
        told = values(node, first, end)
        segment(log, 8, "b", "c", done=False)
        return first, end, told

    def test_the_batch_has_the_same_rows(self, start: Start, logged: tuple[NodeOffset, NodeOffset, list[str]]) -> None:
        first, end, told = logged
        node = start()
        assert values(node, first, end) == told == ["a", "b"]
        assert values(node, first, end, pieces=10) == told
        node.stand(end)
        assert values(node, end, all_planned(node)) == ["c"]

    @pytest.mark.parametrize("accept_loss", [False, True])
    def test_of_an_empty_folder_nothing_is_written_off(
        self, log: LogFolder, start: Start, logged: tuple[NodeOffset, NodeOffset, list[str]], accept_loss: bool
    ) -> None:
        """Its file system is not mounted yet: worth a restart, whatever the options say of losses."""
        first, end, told = logged
        away = log.path.rename(log.path.with_name("away"))
        log.path.mkdir()
        node = start(accept_loss=accept_loss)
        with pytest.raises(SystemFailedError, match="the folder is empty, and segment 7 is to be read"):
            values(node, first, end)
        node.stand(end)
        assert node.plan(UNLIMITED) == (False, 0)
        log.path.rmdir()
        away.rename(log.path)
        node = start(accept_loss=accept_loss)
        assert values(node, first, end) == told
        node.stand(end)
        assert values(node, end, all_planned(node)) == ["c"]

    def test_also_with_other_options_than_those_it_left_with(
        self, start: Start, logged: tuple[NodeOffset, NodeOffset, list[str]]
    ) -> None:
        first, end, told = logged
        node = start(tables=("shop.nothing",), tables_may_come=True)
        assert values(node, first, end) == told
        node.stand(end)
        node.plan(UNLIMITED)
        node.hand_out()
        assert node.handed is not None
        assert values(node, end, node.handed) == []

    def test_a_batch_that_never_succeeded_is_mended_by_todays_options(self, log: LogFolder, start: Start) -> None:
        """It takes the decision that was not there when it left, and journals it first."""
        writer = NativeWriter(7)
        no_text = ORDERS.change([row(INSERT, [number(1)], None, [cell(1, b"\xff")])])
        writer.section([ORDERS.definition, put(0, "a"), no_text, put(2, "c")])
        log.put(writer.frame, writer.sidecar())
        node = start()
        first = node.initial()
        end = all_planned(node)
        for stopping in (node, start()):
            with pytest.raises(DefinitionError):
                values(stopping, first, end)
        told = values(start(on_error="quarantine"), first, end)
        skips = [each for each in FolderJournal(state_folder(log.path)).read() if isinstance(each, SkipRecord)]
        assert told == ["a", "c"]
        assert [each.at for each in skips] == [Position(7, writer.frame.sections[0].entries[2].start)]
        assert values(start(), first, end) == told, "decided once and for all"

    def test_another_checkpoint_under_the_same_name_is_refused(
        self, log: LogFolder, start: Start, logged: tuple[NodeOffset, NodeOffset, list[str]]
    ) -> None:
        first, end, _ = logged
        node = start()
        node.stand(end)
        node.move_consumer(end)
        with pytest.raises(RefusedError, match="another checkpoint has used consumer 'spark'"):
            start().stand(first)
        assert saved(log).offset == end

    def test_a_checkpoint_whose_consumer_is_new_here_goes_on_where_it_stands(
        self, log: LogFolder, start: Start, logged: tuple[NodeOffset, NodeOffset, list[str]], said: list[str]
    ) -> None:
        _, end, _ = logged
        node = start(consumer="other")
        node.stand(end)
        assert values(node, end, all_planned(node)) == ["c"]
        assert said[-1] == "consumer other is new here: it goes on where the checkpoint stands"

    def test_without_its_journal_an_offset_is_refused(
        self, log: LogFolder, start: Start, logged: tuple[NodeOffset, NodeOffset, list[str]]
    ) -> None:
        _, end, _ = logged
        (state_folder(log.path) / "journal").unlink()
        with pytest.raises(RefusedError, match="of another state folder"):
            start().stand(end)


class TestAppeared:
    """A7: a segment appears below where the query began."""

    def test_one_that_grows_comes_late_and_again_from_the_same_checkpoint(
        self, log: LogFolder, start: Start, said: list[str]
    ) -> None:
        segment(log, 70, "a")
        node = start()
        node.initial()
        begin = self.taken(node)
        writer = segment(log, 7, "x", done=False)
        assert not node.plan(UNLIMITED)[0], "nothing tells by now what it is"
        writer.section([put(1, "y")])
        log.put(writer.frame, writer.sidecar(done=False))
        named = self.taken(node)
        end = self.taken(node)
        assert values(node, begin, named) + values(node, named, end) == ["x", "y"]
        assert any("it is read now, behind the others" in line for line in said)
        again = start()
        again.initial()
        assert values(again, begin, named) + values(again, named, end) == ["x", "y"]

    def test_one_that_was_finished_ends_the_query(self, log: LogFolder, start: Start) -> None:
        segment(log, 70, "a")
        node = start()
        node.initial()
        self.taken(node)
        segment(log, 7, "x")
        with pytest.raises(LossError, match=r"segment 7 has appeared .* deliver spark 7"):
            node.plan(UNLIMITED)

    @staticmethod
    def taken(node: Node) -> NodeOffset:
        """All there is, in Spark's hands."""
        offset = all_planned(node)
        node.stand(offset)
        node.move_consumer(offset)
        return offset

    def test_a_query_that_begins_later_reads_it_behind_the_others(self, log: LogFolder, start: Start) -> None:
        segment(log, 70, "a")
        node = start()
        node.initial()
        self.taken(node)
        writer = segment(log, 7, "x", done=False)
        assert not node.plan(UNLIMITED)[0]
        log.put(writer.frame, writer.sidecar(done=True))
        later = start(consumer="later")
        first = at = later.initial()
        later.stand(at)
        found = []
        while later.plan(UNLIMITED)[0]:
            assert later.handed is not None
            found += values(later, at, later.handed)
            at = later.handed
            later.stand(at)
        assert (first.s, found) == (69, ["a", "x"])

    def test_a_checkpoint_whose_consumer_is_new_here_reads_it_too(self, log: LogFolder, start: Start) -> None:
        """What lies below its offset is history, but for what appeared behind it."""
        segment(log, 70, "a")
        node = start()
        node.initial()
        end = self.taken(node)
        writer = segment(log, 7, "x", done=False)
        assert not node.plan(UNLIMITED)[0]
        log.put(writer.frame, writer.sidecar(done=True))
        other = start(consumer="other")
        other.stand(end)
        named = self.taken(other)
        assert values(other, end, named) + values(other, named, self.taken(other)) == ["x"]
