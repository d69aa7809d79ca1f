"""A query over several nodes of which one is away, hangs or leaves, without a JVM: the others go on, no row is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import LossError, RefusedError, SystemFailedError, UsageError
from tailer.options.to_spark import parse_options
from tailer.spark import nodes, planner
from tailer.spark.node import Node
from tailer.spark.planner import Planner
from tailer.state.consumers import consumer_path, read_consumer
from tailer.state.log_folder import state_folder
from tailer.tail import away
from tailer.tail.open import LEFT_SECONDS
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.spark.engine import Json, read_lines, travelled

TABLE = simple_table("ks", "t")
FIRST = 1_700_000_000_001


class Log:
    """A node's log: segments with a row for each value."""

    def __init__(self, folder: Path) -> None:
        self.folder = LogFolder(folder)
        self._values: list[str] = []
        self.segments = 0

    @property
    def path(self) -> Path:
        return self.folder.path

    def write(self, *values: str, done: bool = False) -> None:
        """More rows, in the segment that is open; `done`: it is finished then."""
        self._values += values
        sections = [[insert_payload(TABLE, number, value, number)] for number, value in enumerate(self._values)]
        writer = segment_of(FIRST + self.segments, [[create_payload(TABLE)], *sections])
        self.folder.put(writer, completed(writer) if done else live(writer))
        if done:
            self.segments, self._values = self.segments + 1, []

    def go_away(self, *, state: bool = False) -> Callable[[], None]:
        """The folder, and perhaps its state, is not there; what brings it back."""
        there = [each for each in (self.path, state_folder(self.path))[: 1 + state] if each.exists()]
        for each in there:
            each.rename(each.with_name(f"{each.name}.away"))

        def back() -> None:
            for each in there:
                each.with_name(f"{each.name}.away").rename(each)

        return back


class Query:
    """A query, as Spark's engine runs it, over `logs`."""

    def __init__(self, logs: dict[str, Log], **options: str) -> None:
        self.options = {"waitMillis": "300", "tickSeconds": "0", **options}
        self.logs = logs
        self.start: Json | None = None
        self.planner = self.make()

    def make(self) -> Planner:
        path = ",".join(f"{name}={log.path}" for name, log in self.logs.items())
        return Planner(parse_options({"path": path, **self.options}))

    def again(self, **options: str) -> None:
        """The source runner is killed, and the query started again."""
        self.planner.close()
        self.options |= options
        self.planner = self.make()

    def next(self) -> Json | None:
        """The end of the next batch; None where there is none."""
        if self.start is None:
            self.start = travelled(self.planner.initial())
        end = travelled(self.planner.latest(self.start, None))
        return None if end == self.start else end

    def read(self, end: Json) -> list[str]:
        """The rows of the batch up to there."""
        assert self.start is not None
        lines = [line for job in self.planner.partitions(self.start, end) for line in read_lines(job)]
        return [f"{row['node']}:{row['clustering']['ck']}" for row in map(json.loads, lines)]

    def finish(self, end: Json) -> None:
        self.planner.report(end)
        self.planner.commit(end)
        self.start = end

    def rows(self) -> list[str]:
        """Those of all batches that there are now."""
        told = []
        while (end := self.next()) is not None:
            told += self.read(end)
            self.finish(end)
        return sorted(told)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is away is tried again at once; who answers is waited for, however busy the machine is."""
    monkeypatch.setattr(nodes, "GRACE_SECONDS", 60.0)
    monkeypatch.setattr(nodes, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(away, "RETRY_SECONDS", 0.05)


@pytest.fixture
def logs(tmp_path: Path) -> dict[str, Log]:
    made = {name: Log(tmp_path / name / "cdc_raw") for name in ("n1", "n2", "n3")}
    for name, log in made.items():
        log.write(f"{name}-a")
    return made


Start = Callable[..., Query]


@pytest.fixture
def start(logs: dict[str, Log], quick: None) -> Iterator[Start]:
    made: list[Query] = []

    def start(**options: str) -> Query:
        made.append(Query(logs, **options))
        return made[-1]

    yield start
    for query in made:
        query.planner.close()


def saved(log: Log) -> Any:
    return read_consumer(consumer_path(state_folder(log.path), "spark"), "spark").nodes


@pytest.mark.parametrize("state", [False, True], ids=["log", "log and state"])
def test_the_others_go_on_and_its_rows_come_when_it_is_back(
    start: Start, logs: dict[str, Log], state: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    query = start()
    assert query.rows() == ["n1:n1-a", "n2:n2-a", "n3:n3-a"]
    logs["n2"].write("n2-b")
    back = logs["n2"].go_away(state=state)
    logs["n1"].write("n1-b")
    assert query.rows() == ["n1:n1-b"]
    logs["n3"].write("n3-b")
    assert query.rows() == ["n3:n3-b"]
    assert query.start is not None
    told = query.planner.report(query.start)
    assert told is not None
    assert list(told["lost"]) == ["n2"]
    assert sorted(told["backlog"]) == ["n1", "n2", "n3"]
    back()
    assert query.rows() == ["n2:n2-b"]
    again = query.planner.report(query.start)
    assert again is not None
    assert "lost" not in again
    said = capsys.readouterr().err
    assert said.count("warning: node n2 is away: ") == 1
    assert "cdc_tail: node n2 is there again after" in said


def test_what_a_node_logs_without_rows_of_interest_leaves_with_others_rows_now_and_then(
    start: Start, logs: dict[str, Log], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = simple_table("ks", "u")
    writer = segment_of(FIRST, [[create_payload(other)], [insert_payload(other, 1, "u-a", 1)]])
    logs["n2"] = Log(logs["n2"].path.parent.parent / "n4" / "cdc_raw")
    logs["n2"].folder.put(writer, live(writer))
    query = start(tables="ks.t")
    assert query.rows() == ["n1:n1-a", "n3:n3-a"]
    assert query.start is not None
    stood = query.start["nodes"]["n2"]
    writer.section([insert_payload(other, 2, "u-b", 2)])
    logs["n2"].folder.put(writer, live(writer))
    logs["n1"].write("n1-b")
    assert query.rows() == ["n1:n1-b"]
    assert query.start["nodes"]["n2"] == stood
    monkeypatch.setattr(planner, "SILENT_TAKEN_SECONDS", 0.0)
    logs["n1"].write("n1-c")
    assert query.rows() == ["n1:n1-c"]
    assert query.start["nodes"]["n2"]["o"] == len(writer.data) > stood["o"]


@pytest.mark.parametrize("state", [False, True], ids=["log", "log and state"])
def test_a_query_starts_again_while_one_is_away(start: Start, logs: dict[str, Log], state: bool) -> None:
    query = start()
    assert len(query.rows()) == 3
    logs["n2"].write("n2-b")
    back = logs["n2"].go_away(state=state)
    query.again()
    logs["n1"].write("n1-b")
    assert query.rows() == ["n1:n1-b"]
    query.again()
    back()
    assert query.rows() == ["n2:n2-b"]


def test_what_is_not_mounted_is_no_new_log(start: Start, logs: dict[str, Log]) -> None:
    """The place is there, and empty: nothing is made beside it, and nothing is a loss."""
    query = start(failOnDataLoss="false")
    assert len(query.rows()) == 3
    back = logs["n2"].go_away(state=True)
    logs["n2"].path.mkdir()
    logs["n1"].write("n1-b")
    assert query.rows() == ["n1:n1-b"]
    query.again()
    logs["n1"].write("n1-c")
    assert query.rows() == ["n1:n1-c"]
    assert not state_folder(logs["n2"].path).exists()
    logs["n2"].path.rmdir()
    back()
    logs["n2"].write("n2-b")
    assert query.rows() == ["n2:n2-b"]


def test_a_node_that_was_away_from_the_first_begins_at_its_beginning(start: Start, logs: dict[str, Log]) -> None:
    back = logs["n2"].go_away()
    query = start()
    assert query.rows() == ["n1:n1-a", "n3:n3-a"]
    back()
    logs["n1"].write("n1-b")
    assert query.rows() == ["n1:n1-b", "n2:n2-a"]


@pytest.mark.parametrize("begin", ["latest", "2026-11-20T10:00Z"])
def test_where_it_would_begin_depends_on_when_it_comes_it_is_refused(
    start: Start, logs: dict[str, Log], begin: str
) -> None:
    logs["n2"].go_away()
    query = start(startingOffsets=begin)
    with pytest.raises(SystemFailedError) as told:
        query.next()
    assert told.value.sentence().startswith(f"node n2 is away, and is to begin at {begin}: no such folder")


def test_a_new_node_that_is_away_may_not_begin_at_the_latest_either(start: Start, logs: dict[str, Log]) -> None:
    gone = logs.pop("n2")
    query = start()
    assert query.rows() == ["n1:n1-a", "n3:n3-a"]
    logs["n2"] = gone
    back = gone.go_away()
    query.again(startingOffsets="latest")
    with pytest.raises(SystemFailedError) as told:
        query.rows()
    assert told.value.sentence().startswith("node n2 is away, and is to begin at latest: no such folder")
    back()
    query.again()
    assert query.rows() == []
    gone.write("n2-b")
    assert query.rows() == ["n2:n2-b"]


def test_with_fail_the_query_ends(start: Start, logs: dict[str, Log]) -> None:
    query = start(onNodeLost="fail")
    assert len(query.rows()) == 3
    logs["n2"].go_away()
    with pytest.raises((UsageError, SystemFailedError)) as told:
        query.rows()
    assert told.value.sentence().startswith("node n2: ")


def test_one_node_alone_is_missed_at_once(logs: dict[str, Log], quick: None) -> None:
    query = Query({"n1": logs["n1"]})
    assert len(query.rows()) == 1
    back = logs["n1"].go_away()
    with pytest.raises(SystemFailedError):
        query.rows()
    query.again(onNodeLost="wait")
    assert query.rows() == []
    back()
    logs["n1"].write("n1-b")
    assert query.rows() == ["n1:n1-b"]
    query.planner.close()


class TestBatchThatLeft:
    def test_it_waits_for_its_node(self, start: Start, logs: dict[str, Log]) -> None:
        query = start()
        end = query.next()
        assert end is not None
        back = logs["n2"].go_away(state=True)
        threading.Timer(0.5, back).start()
        assert sorted(query.read(end)) == ["n1:n1-a", "n2:n2-a", "n3:n3-a"]

    def test_the_wait_has_an_end_and_may_be_tried_again(self, start: Start, logs: dict[str, Log]) -> None:
        query = start(nodeWait="1s")
        end = query.next()
        assert end is not None
        back = logs["n2"].go_away()
        with pytest.raises(SystemFailedError, match="node n2 was away for 1 s, and a batch that was planned"):
            query.read(end)
        query.again()
        with pytest.raises(SystemFailedError, match="node n2 was away for 1 s"):
            query.read(end)
        back()
        assert sorted(query.read(end)) == ["n1:n1-a", "n2:n2-a", "n3:n3-a"]

    @pytest.mark.parametrize("empty", [False, True])
    def test_a_task_waits_too(self, start: Start, logs: dict[str, Log], empty: bool) -> None:
        query = start()
        end = query.next()
        assert end is not None
        assert query.start is not None
        jobs = query.planner.partitions(query.start, end)
        back = logs["n2"].go_away()
        if empty:
            logs["n2"].path.mkdir()
            threading.Timer(0.4, logs["n2"].path.rmdir).start()
        threading.Timer(0.5, back).start()
        assert len([line for job in jobs for line in read_lines(job)]) == 3

    def test_a_task_s_wait_has_an_end(self, start: Start, logs: dict[str, Log]) -> None:
        query = start(nodeWait="1s")
        end = query.next()
        assert end is not None
        assert query.start is not None
        jobs = query.planner.partitions(query.start, end)
        logs["n2"].go_away()
        with pytest.raises(SystemFailedError, match="node n2 was away for 1 s, and this task is to read it"):
            [line for job in jobs for line in read_lines(job)]

    def test_a_node_with_nothing_in_it_is_not_asked(self, start: Start, logs: dict[str, Log]) -> None:
        query = start(nodeWait="0s")
        assert len(query.rows()) == 3
        logs["n1"].write("n1-b")
        end = query.next()
        assert end is not None
        logs["n2"].go_away()
        query.again()
        assert query.read(end) == ["n1:n1-b"]


def test_the_position_of_a_node_that_was_away_at_the_commit_follows(start: Start, logs: dict[str, Log]) -> None:
    query = start()
    end = query.next()
    assert end is not None
    assert len(query.read(end)) == 3
    back = logs["n2"].go_away(state=True)
    query.finish(end)
    assert saved(logs["n1"])["n1"].offset.o == end["nodes"]["n1"]["o"]
    back()
    logs["n2"].write("n2-b")
    assert query.rows() == ["n2:n2-b"]
    assert saved(logs["n2"])["n2"].offset.o > end["nodes"]["n2"]["o"]


def test_a_run_that_ends_goes_on_without_it(
    start: Start, logs: dict[str, Log], capsys: pytest.CaptureFixture[str]
) -> None:
    query = start()
    query.rows()
    for name, log in logs.items():
        log.write(f"{name}-b")
    back = logs["n2"].go_away()
    query.again()
    query.planner.prepare_available_now()
    assert query.rows() == ["n1:n1-b", "n3:n3-b"]
    assert "this run ends without what node n2 has more" in capsys.readouterr().err
    back()
    assert query.rows() == [], "it was left out at the start, and is for all of the run"
    query.again()
    query.planner.prepare_available_now()
    assert query.rows() == ["n2:n2-b"]


class TestHanging:
    @pytest.fixture
    def hangs(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, threading.Event]]:
        """Nodes whose file system does not answer until their event is set."""
        held: dict[str, threading.Event] = {}

        class Hanging(Node):
            def plan(self, budget: int) -> tuple[bool, int]:
                if (event := held.get(self.name)) is not None:
                    event.wait(30)
                return super().plan(budget)

        monkeypatch.setattr(planner, "Node", Hanging)
        monkeypatch.setattr(nodes, "ANSWER_SECONDS", 0.3)
        monkeypatch.setattr(nodes, "SILENT_SECONDS", 0.5)
        yield held
        for event in held.values():
            event.set()

    def test_it_blocks_only_itself(
        self, start: Start, logs: dict[str, Log], hangs: dict[str, threading.Event], capsys: pytest.CaptureFixture[str]
    ) -> None:
        query = start()
        assert len(query.rows()) == 3
        hangs["n2"] = threading.Event()
        logs["n2"].write("n2-b")
        for value in ("b", "c", "d"):
            logs["n1"].write(f"n1-{value}")
            assert query.rows() == [f"n1:n1-{value}"]
        assert "warning: node n2 is away: its folder has not answered for" in capsys.readouterr().err
        hangs.pop("n2").set()
        assert query.rows() == ["n2:n2-b"]
        assert "node n2 is there again" in capsys.readouterr().err

    def test_at_a_start_it_is_left_out(
        self, start: Start, logs: dict[str, Log], hangs: dict[str, threading.Event]
    ) -> None:
        query = start()
        query.rows()
        hangs["n2"] = threading.Event()
        logs["n1"].write("n1-b")
        logs["n2"].write("n2-b")
        # The process that hangs is killed, and its lock with it: here the thread must end.
        query.again()
        assert query.rows() == ["n1:n1-b"]
        hangs.pop("n2").set()
        assert query.rows() == ["n2:n2-b"]


def test_one_that_takes_long_and_goes_on_is_not_away(
    start: Start, logs: dict[str, Log], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Slow(Node):
        def plan(self, budget: int) -> tuple[bool, int]:
            for _ in range(10):
                time.sleep(0.1)
                self._beat()
            return super().plan(budget)

    monkeypatch.setattr(planner, "Node", Slow)
    monkeypatch.setattr(nodes, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(nodes, "SILENT_SECONDS", 0.5)
    query = start(waitMillis="0")
    assert len(query.rows()) == 3
    query.again()
    for name, log in logs.items():
        log.write(f"{name}-b")
    query.planner.prepare_available_now()
    assert query.rows() == ["n1:n1-b", "n2:n2-b", "n3:n3-b"]
    assert "away" not in capsys.readouterr().err


class TestRemoved:
    def test_one_that_was_read_to_its_end_goes(self, start: Start, logs: dict[str, Log]) -> None:
        query = start()
        query.rows()
        logs["n2"].write("n2-b", done=True)
        query.again(removedNodes="n2")
        assert query.rows() == ["n2:n2-b"], "what is left of it comes first"
        assert query.start is not None
        held = query.start["nodes"]["n2"]
        assert query.start["v"] == 3
        assert list(held) == ["removed"]
        assert held["removed"]
        logs["n1"].write("n1-b")
        assert query.rows() == ["n1:n1-b"]
        gone = logs.pop("n2")
        query.again()
        logs["n1"].write("n1-c")
        assert query.rows() == ["n1:n1-c"]
        query.again(removedNodes="")
        assert query.rows() == []
        logs["n2"] = gone
        query.again()
        with pytest.raises(RefusedError, match="node n2 was removed from this query for good"):
            query.next()
        del logs["n2"]
        logs["n9"] = gone
        query.again()
        with pytest.raises(RefusedError, match="node n2 was removed from this query for good"):
            query.rows()

    def test_one_that_never_finished_goes_once_it_is_quiet(
        self, start: Start, logs: dict[str, Log], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """As a server that was decommissioned leaves its log."""
        query = start()
        query.rows()
        query.again(removedNodes="n2")
        logs["n2"].write("n2-b")
        assert query.rows() == ["n2:n2-b"], "what comes meanwhile is read"
        assert "node n2 is to be removed, and stays until its last segment" in capsys.readouterr().err
        assert query.start is not None
        assert "removed" not in query.start["nodes"]["n2"]
        for path in logs["n2"].path.iterdir():
            os.utime(path, (time.time() - LEFT_SECONDS,) * 2)
        logs["n1"].write("n1-b")
        assert query.rows() == ["n1:n1-b"]
        # Nothing wakes for it: it goes with one of the next looks.
        waited = time.monotonic()
        while "removed" not in query.start["nodes"]["n2"] and time.monotonic() - waited < 60:
            assert query.rows() == []
        assert list(query.start["nodes"]["n2"]) == ["removed"]
        assert "node n2 was read to its end" in capsys.readouterr().err

    def test_one_that_is_not_finished_goes_at_once_as_an_accepted_loss(
        self, start: Start, logs: dict[str, Log]
    ) -> None:
        query = start()
        query.rows()
        query.again(removedNodes="n2", failOnDataLoss="false")
        assert query.rows() == []
        assert query.start is not None
        assert list(query.start["nodes"]["n2"]) == ["removed"]

    @pytest.mark.parametrize("named", [False, True])
    def test_one_that_cannot_be_reached_is_a_loss_that_must_be_accepted(
        self, start: Start, logs: dict[str, Log], named: bool
    ) -> None:
        query = start()
        logs["n2"].write(done=True)
        query.rows()
        logs["n2"].go_away(state=True)
        if not named:
            del logs["n2"]
        query.again(removedNodes="n2")
        with pytest.raises(LossError, match="node n2 is to be removed, and whether it was read to its end"):
            query.rows()
        query.again(failOnDataLoss="false")
        logs["n1"].write("n1-b")
        assert query.rows() == ["n1:n1-b"]
        assert query.start is not None
        assert list(query.start["nodes"]["n2"]) == ["removed"]

    def test_a_batch_that_left_with_its_rows(self, start: Start, logs: dict[str, Log]) -> None:
        query = start()
        end = query.next()
        assert end is not None
        del logs["n2"]
        query.again(removedNodes="n2")
        with pytest.raises(LossError, match="a batch that was planned has rows of it"):
            query.read(end)
        query.again(failOnDataLoss="false")
        assert sorted(query.read(end)) == ["n1:n1-a", "n3:n3-a"]

    def test_nobody_leaves_unasked(self, start: Start, logs: dict[str, Log]) -> None:
        query = start()
        query.rows()
        del logs["n2"]
        query.again()
        with pytest.raises(RefusedError, match="the checkpoint knows node 'n2'") as told:
            query.rows()
        assert "removedNodes=n2" in told.value.remedy


def test_another_node_s_log_under_the_same_name_is_refused(start: Start, logs: dict[str, Log]) -> None:
    """A replaced host: its log has another identity."""
    query = start()
    query.rows()
    for each in (logs["n2"].path, state_folder(logs["n2"].path)):
        shutil.rmtree(each)
    logs["n2"] = Log(logs["n2"].path)
    logs["n2"].write("n2-other")
    query.again()
    with pytest.raises(RefusedError) as told:
        query.rows()
    assert told.value.sentence().startswith("node n2: the position given is of another state folder")


def test_two_that_were_mixed_up_are_refused(start: Start, logs: dict[str, Log]) -> None:
    query = start()
    query.rows()
    logs["n2"], logs["n3"] = logs["n3"], logs["n2"]
    query.again()
    with pytest.raises(RefusedError, match="another state folder"):
        query.rows()


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_point_of_a_batch_while_nodes_come_and_go(
    seed: int, start: Start, logs: dict[str, Log], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark logs an offset, reads the batch, notes that it is done; the process may die in between. Each row is in
    exactly one batch, and a batch that is read again has the same rows."""
    monkeypatch.setattr(nodes, "ANSWER_SECONDS", 0.5)
    chance = random.Random(seed)
    query = start(waitMillis="0", nodeWait="0s")
    written = {f"{name}:{name}-a" for name in logs}
    hidden: dict[str, Callable[[], None]] = {}
    logged: list[Json] = []
    done: list[list[str]] = []
    seen: dict[int, list[str]] = {}

    def batch(death: str) -> None:
        """One micro-batch, as far as the process lives."""
        if query.start is None:
            query.start = travelled(query.planner.initial())
        if len(logged) == len(done):
            end = travelled(query.planner.latest(query.start, None))
            if end == query.start or death == "planned":
                return
            logged.append(end)
        if death != "logged":
            rows = sorted(query.read(logged[-1]))
            assert seen.setdefault(len(done), rows) == rows
            if death != "read":
                done.append(rows)
                query.finish(logged[-1])

    def turn() -> None:
        name = chance.choice(sorted(logs))
        if name in hidden and chance.random() < 0.5:
            hidden.pop(name)()
        elif name not in hidden and chance.random() < 0.3:
            state = chance.random() < 0.5
            if state:
                # Whoever is just opening the log would make a state where that was.
                query.planner.close()
            hidden[name] = logs[name].go_away(state=state)
            if state:
                query.again()
        elif name not in hidden:
            value = f"{name}-{len(written)}"
            logs[name].write(value, done=chance.random() < 0.2)
            written.add(f"{name}:{value}")

    for _ in range(40):
        turn()
        death = chance.choice(["planned", "logged", "read", "none", "none", "none"])
        try:
            batch(death)
        except SystemFailedError:
            death = "failed"
        if death != "none":
            query.again()
    for back in hidden.values():
        back()
    query.again(waitMillis="500")
    while len(logged) > len(done) or query.next() is not None:
        batch("none")
    told = [row for rows in done for row in rows]
    assert sorted(told) == sorted(written)
