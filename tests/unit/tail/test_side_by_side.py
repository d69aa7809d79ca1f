"""`follow` over several nodes: one that is away or hangs blocks only itself, and where rows go is called by one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tailer.cli import follow_nodes as door
from tailer.cli.follow_nodes import follow_nodes
from tailer.errors import CdcError, RefusedError, SinkError, SystemFailedError
from tailer.options.kinds import CommitEvery
from tailer.options.tail import TailOptions
from tailer.sinks.base import Rows
from tailer.sinks.outlet import Bounds, OutletContext
from tailer.state.consumers import consumer_path, read_consumer
from tailer.state.log_folder import state_folder
from tailer.tail import away, side_by_side
from tailer.tail.tail import Tail
from tailer.tail.watch import NO_WATCH
from tests.helpers.outlets import MemoryOutlet, Target
from tests.unit.spark.test_nodes_away import Log


class Terminal:
    """A sink that keeps the rows, and who called it."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.inside = 0
        self.fails: Exception | None = None

    def write(self, batch: Rows) -> None:
        assert self.inside == 0, "one at a time"
        self.inside += 1
        try:
            if self.fails is not None:
                raise self.fails
            time.sleep(0.01)
            table = batch.to_arrow().to_pylist()
            self.rows += [f"{row['node']}:{row['event_id'].split(':')[2]}" for row in table]
        finally:
            self.inside -= 1

    def nodes(self) -> list[str]:
        return sorted(row.partition(":")[0] for row in self.rows)

    def close(self) -> None: ...


@pytest.fixture
def logs(tmp_path: Path) -> dict[str, Log]:
    made = {name: Log(tmp_path / name / "cdc_raw") for name in ("n1", "n2", "n3")}
    for name, log in made.items():
        log.write(f"{name}-a")
    return made


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    made = Terminal()
    monkeypatch.setattr(door, "open_sink", lambda form, tables, typed: made)
    monkeypatch.setattr(away, "RETRY_SECONDS", 0.05)
    return made


class Running:
    """`follow n1=…,n2=…` in a thread. `ended` raises what ended it."""

    def __init__(self, logs: dict[str, Log], to: str | None, options: dict[str, Any]) -> None:
        self.stop = False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(logs, to, options))
        self._thread.start()

    def _run(self, logs: dict[str, Log], to: str | None, options: dict[str, Any]) -> None:
        values = {"once": False, "commit_every": CommitEvery("batch"), "on_node_lost": None, "retry_for": 1.0}
        given = {name: options.pop(name) for name in list(options) if name in values}
        tail = TailOptions(**{"consumer": "c", "settle_seconds": 0.0, **options})
        folders = [(name, log.path) for name, log in logs.items()]
        try:
            follow_nodes(folders, tail, to, "json", values | given, lambda folder, options: NO_WATCH, lambda: self.stop)
        except BaseException as error:
            self.error = error

    def ended(self) -> None:
        self._thread.join(20)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error


@contextmanager
def following(logs: dict[str, Log], to: str | None = None, **options: Any) -> Iterator[Running]:
    running = Running(logs, to, options)
    try:
        yield running
    finally:
        running.stop = True
        running._thread.join(20)


def until(true: Callable[[], bool]) -> None:
    for _ in range(1000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never comes")


def is_saved(log: Log) -> bool:
    """Whether the consumer stands behind everything that is durable."""
    held = read_consumer(consumer_path(state_folder(log.path), "c"), "c").nodes
    ends = [int(file.read_text()) for file in log.path.glob("*_cdc.idx")]
    return [state.offset.o for state in held.values()] == ends


def heard(capsys: pytest.CaptureFixture[str], words: str) -> None:
    """Until something was said."""
    said: list[str] = []

    def is_said() -> bool:
        said.append(capsys.readouterr().err)
        return words in "".join(said)

    until(is_said)


@pytest.mark.parametrize("consumer", ["c", None])
@pytest.mark.parametrize("state", [False, True], ids=["log", "log and state"])
def test_the_others_go_on_and_its_rows_come_when_it_is_back(
    logs: dict[str, Log], terminal: Terminal, state: bool, consumer: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with following(logs, consumer=consumer):
        until(lambda: terminal.nodes() == ["n1", "n2", "n3"])
        # What was not saved before it goes comes again, as after a kill.
        until(lambda: consumer is None or is_saved(logs["n2"]))
        back = logs["n2"].go_away(state=state)
        logs["n1"].write("b")
        until(lambda: terminal.nodes() == ["n1", "n1", "n2", "n3"])
        heard(capsys, "warning: node n2 is away: ")
        back()
        logs["n2"].write("b")
        until(lambda: terminal.nodes() == ["n1", "n1", "n2", "n2", "n3"])
    assert len(set(terminal.rows)) == len(terminal.rows), "nothing comes twice"


def test_another_node_s_log_in_its_place_is_refused(
    logs: dict[str, Log], terminal: Terminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {"n9": Log(tmp_path / "n9" / "cdc_raw")}
    other["n9"].write("n9-a")
    with following(other):
        until(lambda: terminal.nodes() == ["n9"])
        until(lambda: is_saved(other["n9"]))
    terminal.rows.clear()
    with following(logs) as running:
        until(lambda: terminal.nodes() == ["n1", "n2", "n3"])
        logs["n2"].go_away(state=True)
        heard(capsys, "warning: node n2 is away: ")
        other["n9"].path.rename(logs["n2"].path)
        # It is tried more than once meanwhile.
        time.sleep(0.5)
        assert not state_folder(logs["n2"].path).exists(), "none is made in its place"
        state_folder(other["n9"].path).rename(state_folder(logs["n2"].path))
        with pytest.raises(RefusedError, match="node n2 has another state folder than before"):
            running.ended()


def test_a_start_while_one_is_away(logs: dict[str, Log], terminal: Terminal) -> None:
    back = logs["n2"].go_away()
    with following(logs):
        until(lambda: terminal.nodes() == ["n1", "n3"])
        back()
        until(lambda: terminal.nodes() == ["n1", "n2", "n3"])


def test_where_it_would_begin_depends_on_when_it_comes_it_is_refused(logs: dict[str, Log], terminal: Terminal) -> None:
    back = logs["n2"].go_away()
    with following(logs, start="latest") as running, pytest.raises(SystemFailedError) as told:
        running.ended()
    assert told.value.sentence().startswith("node n2 is away, and is to begin at latest: no such folder")
    back()
    with following(logs, start="latest"):
        until(lambda: (state_folder(logs["n2"].path) / "consumers" / "c.json").exists())
    back = logs["n2"].go_away()
    with following(logs, start="latest"):
        logs["n1"].write("b")
        until(lambda: terminal.nodes() == ["n1"])
        back()
        logs["n2"].write("b")
        until(lambda: terminal.nodes() == ["n1", "n2"])


def test_with_fail_the_run_ends(logs: dict[str, Log], terminal: Terminal) -> None:
    with following(logs, on_node_lost="fail") as running:
        until(lambda: terminal.nodes() == ["n1", "n2", "n3"])
        logs["n2"].go_away()
        with pytest.raises((CdcError, OSError)):
            running.ended()


def test_once_goes_on_without_it(logs: dict[str, Log], terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    back = logs["n2"].go_away()
    with following(logs, once=True) as running:
        running.ended()
    assert terminal.nodes() == ["n1", "n3"]
    assert "this run ends without what node n2 has more" in capsys.readouterr().err
    back()
    with following(logs, once=True) as running:
        running.ended()
    assert terminal.nodes() == ["n1", "n2", "n3"]
    for log in logs.values():
        log.go_away()
    with following(logs, once=True) as running, pytest.raises(SystemFailedError, match="no such folder"):
        running.ended()


def test_what_is_wrong_with_one_log_ends_all(logs: dict[str, Log], terminal: Terminal) -> None:
    with following(logs) as first:
        until(lambda: terminal.nodes() == ["n1", "n2", "n3"])
        with following(logs) as second, pytest.raises(RefusedError, match="consumer 'c' is in use"):
            second.ended()
        assert first.error is None


def test_a_sink_that_fails_is_no_node_that_is_away(logs: dict[str, Log], terminal: Terminal) -> None:
    for error in (BrokenPipeError(), SinkError("full"), SystemFailedError("no space")):
        terminal.fails = error
        for log in logs.values():
            log.write("more")
        with following(logs) as running, pytest.raises(type(error)):
            running.ended()


def test_one_that_hangs_blocks_only_itself(
    logs: dict[str, Log], terminal: Terminal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(side_by_side, "SILENT_SECONDS", 0.3)
    monkeypatch.setattr(side_by_side, "_END_SECONDS", 0.3)
    held, step = threading.Event(), Tail.step

    def hangs(tail: Any, *budget: int) -> Any:
        if tail.options.node == "n2" and len(terminal.rows) >= 3:
            held.wait(20)
        return step(tail, *budget)

    monkeypatch.setattr(Tail, "step", hangs)
    with following(logs):
        until(lambda: terminal.nodes() == ["n1", "n2", "n3"])
        heard(capsys, "warning: node n2 is away: its folder has not answered for")
        logs["n1"].write("b")
        until(lambda: terminal.nodes() == ["n1", "n1", "n2", "n3"])
        logs["n2"].write("b")
        held.set()
        until(lambda: terminal.nodes() == ["n1", "n1", "n2", "n2", "n3"])
        heard(capsys, "node n2 is there again")
    held.clear()
    with following(logs) as running:
        running.stop = True
        running.ended()


class TestOutlet:
    @pytest.fixture
    def target(self, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Target:
        made = Target()

        def opened(to: str, values: dict[str, Any], context: OutletContext) -> MemoryOutlet:
            return MemoryOutlet(made, context, Bounds(rows=2))

        monkeypatch.setattr(door, "open_outlet", opened)
        return made

    def test_each_node_has_its_own_place(self, logs: dict[str, Log], target: Target) -> None:
        def nodes() -> list[str]:
            return sorted(row["node"] for row in target.rows)

        with following(logs, "memory"):
            until(lambda: nodes() == ["n1", "n2", "n3"])
            back = logs["n2"].go_away(state=True)
            logs["n1"].write("b")
            until(lambda: nodes() == ["n1", "n1", "n2", "n3"])
            back()
            logs["n2"].write("b")
            until(lambda: nodes() == ["n1", "n1", "n2", "n2", "n3"])
        assert len({row["event_id"] for row in target.rows}) == 5
        assert {key.node for key in target.places} == {"n1", "n2", "n3"}
