"""Consumers that are handed a log's changes: order of the calls, what is saved when, threads and processes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.errors import RefusedError, SinkError, SystemFailedError
from tailer.schema.model import TableDefinition
from tailer.tail.run import ConsumerState
from tests.helpers.log_writer import TS, alter_payload, create_payload, insert_payload, simple_table
from tests.helpers.logs.growing import GrowingLog
from tests.helpers.logs.model import Column

TABLE = simple_table("ks", "t")
FIRST = 1_700_000_000_001


class Keeper:
    """Keeps what it is given. `answers`: what `on_changes` says, by its count; True behind them."""

    def __init__(self, *answers: bool) -> None:
        self.calls: list[str] = []
        self.values: list[int] = []
        self.states: list[ConsumerState] = []
        self._answers = list(answers)

    def start(self, state: ConsumerState) -> None:
        self.calls.append("start")
        self.states.append(state)

    def on_definitions(self, changes: Sequence[TableDefinition]) -> None:
        self.calls.append("definitions " + " ".join(f"{each.name}:{len(each.columns)}" for each in changes))

    def on_changes(self, batch: Any) -> bool:
        self.calls.append("changes")
        self.values += [int(text[5:-1]) for text in batch.column("columns").to_pylist()]
        return self._answers.pop(0) if self._answers else True

    def stop(self) -> None:
        self.calls.append("stop")


def put(log: GrowingLog, *values: int) -> None:
    for value in values:
        log.section([insert_payload(TABLE, value, "a", value)])
        log.publish()


@pytest.fixture
def log(tmp_path: Path) -> GrowingLog:
    made = GrowingLog(tmp_path, FIRST)
    made.section([create_payload(TABLE)])
    put(made, 1, 2)
    return made


def test_definitions_come_before_the_rows_that_need_them(log: GrowingLog) -> None:
    keeper = Keeper()
    tailer.run(log.folder, keeper, once=True)
    assert keeper.calls[:3] == ["start", "definitions ks.t:3", "changes"]
    assert keeper.calls[-1] == "stop"
    assert keeper.values == [1, 2]
    assert keeper.states == [ConsumerState(None, "local", log.folder, keeper.states[0].position, False)]


def test_a_changed_definition_comes_again(log: GrowingLog) -> None:
    keeper = Keeper()
    log.section([alter_payload(TABLE, Column("w", "regular", "int"), TS + 1)])
    put(log, 3)
    tailer.run(log.folder, keeper, once=True)
    assert [call for call in keeper.calls if call.startswith("definitions")][-1] == "definitions ks.t:4"
    assert keeper.values == [1, 2, 3]


def test_a_position_is_saved_when_the_rows_before_it_are_safe(log: GrowingLog) -> None:
    tailer.run(log.folder, Keeper(), name="one", once=True)
    put(log, 3)
    unsafe = Keeper(False)
    tailer.run(log.folder, unsafe, name="one", once=True)
    again = Keeper()
    tailer.run(log.folder, again, name="one", once=True)
    assert (unsafe.values, again.values) == ([3], [3])
    assert unsafe.states[0].resumed
    assert unsafe.states[0].position == again.states[0].position
    rest = Keeper()
    tailer.run(log.folder, rest, name="one", once=True)
    assert rest.values == []


def test_what_the_consumer_raises_ends_the_run(log: GrowingLog) -> None:
    class Failing(Keeper):
        def on_changes(self, batch: Any) -> bool:
            raise ValueError("no place left")

    failing = Failing()
    with pytest.raises(ValueError, match="no place left"):
        tailer.run(log.folder, failing, name="one", once=True)
    assert failing.calls[-1] == "stop"
    rest = Keeper()
    tailer.run(log.folder, rest, name="one", once=True)
    assert rest.values == [1, 2]


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_several_threads_side_by_side(log: GrowingLog) -> None:
    first, second = Keeper(), Keeper()
    with (
        tailer.run_in_thread(log.folder, first, name="one"),
        tailer.run_in_thread(log.folder, second, name="two"),
    ):
        wait_for(lambda: first.values == second.values == [1, 2])
        put(log, 3)
        wait_for(lambda: first.values == second.values == [1, 2, 3])
    assert first.calls[-1] == second.calls[-1] == "stop"


def test_a_thread_tells_what_ended_it(log: GrowingLog) -> None:
    with tailer.run_in_thread(log.folder, Keeper(), name="one") as held:
        wait_for(lambda: (log.folder.parent / "cdc_raw.cdc_tail" / "consumers" / "one.json").exists())
        other = tailer.run_in_thread(log.folder, Keeper(), name="one")
        with pytest.raises(RefusedError, match="one"):
            other.join(20)
        assert held.alive


class InFile(Keeper):
    """Appends what comes to a file: what a process leaves behind."""

    def __init__(self, path: Path, *, fails: str = "") -> None:
        super().__init__()
        self._path = path
        self._fails = fails

    def on_changes(self, batch: Any) -> bool:
        super().on_changes(batch)
        if self._fails == "error":
            raise ValueError("no place left")
        if self._fails == "exit":
            import os

            os._exit(3)
        self._path.write_text(" ".join(map(str, self.values)))
        return True


def test_a_process_of_its_own(log: GrowingLog, tmp_path: Path) -> None:
    written = tmp_path / "values"
    with tailer.run_in_process(log.folder, InFile(written), name="one") as running:
        wait_for(lambda: written.exists() and written.read_text() == "1 2")
        put(log, 3)
        wait_for(lambda: written.read_text() == "1 2 3")
        assert running.alive


@pytest.mark.parametrize(
    ("fails", "kind", "message"),
    [("error", SinkError, "ValueError: no place left"), ("exit", SystemFailedError, "exit code 3")],
)
def test_a_process_tells_what_ended_it(
    log: GrowingLog, tmp_path: Path, fails: str, kind: type[Exception], message: str
) -> None:
    running = tailer.run_in_process(log.folder, InFile(tmp_path / "values", fails=fails), name="one")
    with pytest.raises(kind, match=message):
        running.join(30)
