"""A snapshot of a table of which the state has no row: it is defined as the log defines it where the state stands."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tailer.errors import SystemFailedError
from tailer.image_state.identity import place_of
from tailer.options.snapshot import NO_WISHES
from tailer.options.tail import TailOptions
from tailer.tail.deliver import deliver
from tailer.tail.guarded import HeardWatch
from tailer.tail.images.feed import ImageFeed
from tailer.tail.images.stream import ImageStream
from tailer.tail.images.timers import Timers
from tailer.tail.images.told import reached_by
from tailer.tail.snapshot import beside as module
from tailer.tail.snapshot import run as reading
from tailer.tail.snapshot.beside import Beside
from tailer.tail.snapshot.in_state import InState
from tailer.tail.tail import Tail
from tailer.tail.turn_lock import TurnLock
from tailer.tail.watch import NO_WATCH
from tests.helpers.image_runs import NOW, Runs
from tests.helpers.log_writer import create_payload, drop_column, drop_table, encode_mutation, simple_table
from tests.helpers.tails import change_rows, open_tail, tail_parts
from tests.unit.tail.images.test_definitions import PLAIN, TS, WIDE, W, insert, put, told
from tests.unit.tail.test_spooled_snapshot import OneRange

OTHER = simple_table("ks", "other", 2)
BEFORE = [create_payload(OTHER, TS), create_payload(WIDE, TS), insert(1, TS + 1, OTHER, v=1)]
ALTERED = [
    insert(1, TS + 2, WIDE, v=1, w=5),
    encode_mutation(drop_column(WIDE, W, TS + 10)),
    insert(2, TS + 11, PLAIN, v=2),
]


class Servers(OneRange):
    release = "5.0.9"

    def check(self, nodes: Any) -> None:
        """Each node has one."""


def wait_for(ready: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not (found := ready()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


class Run(Runs):
    """As `Runs`, with a snapshot that no server answers."""

    begun: Beside

    @contextmanager
    def opened(self, stream: ImageStream, **options: Any) -> Any:
        chosen = TailOptions(
            consumer=self.consumer, node="n1", settle_seconds=0.0, outlet=True, schema_changes=True, **options
        )
        servers: Any = {"n1": None}
        with Tail(tail_parts(self.logs["n1"], chosen, wall=self.wall), None) as tail:
            timers = Timers(stream, self.said.append)
            run: Any = SimpleNamespace(stream=stream, timers=timers, images=SimpleNamespace(tokens=None))
            beside = Beside(run, servers, NO_WISHES, TurnLock(), self.said.append, begins=True)
            watch = HeardWatch(NO_WATCH, lambda: beside.note(tail))
            beside.begin(tail)
            assert beside._snapshot is not None
            beside._snapshot.start()
            try:
                yield beside, ImageFeed(tail, stream, timers, self.said.append, watch=watch)
                beside._snapshot.check()
            finally:
                beside.close()


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(server: None) -> Any:
        raise SystemFailedError("the server does not answer")

    monkeypatch.setattr(module, "Nodes", lambda servers: Servers())
    monkeypatch.setattr(reading, "open_session", away)
    monkeypatch.setattr(reading, "RETRY_SECONDS", 0.05)


def read_all(log: Path) -> None:
    """Another consumer of change rows reads to the end: the journal knows what it met."""
    with open_tail(log, TailOptions(consumer="rows", node="n1", settle_seconds=0.0)) as tail:
        list(change_rows(tail, 100, 1 << 20))


def rows_of(runs: Run) -> list[tuple[Any, ...]]:
    return [(op, after) for op, _, _, after, _, _ in told([i for i in runs.taker.images if i["table"] == "t"])]


def begun(tmp_path: Path) -> Run:
    """Images of a consumer that began behind the CREATE of a table, of which they have no row."""
    log = put(tmp_path / "n1", *BEFORE).path
    runs = Run({"n1": log}, tmp_path / "images", wall=lambda: NOW)
    read_all(log)
    runs.run(start="latest")
    return runs


def run_on(runs: Run, stopping: Callable[[ImageStream, Beside], bool] | None = None) -> None:
    """With a snapshot, to the end of the log or until `stopping`. It has its time before the first look at the log."""
    with ExitStack() as end:
        stream = runs.stream()
        end.callback(stream.close)
        stream.open()
        with runs.opened(stream) as (beside, feed):
            wait_for(lambda: stream.definition(WIDE.id.hex) is not None, seconds=1)
            deadline = time.monotonic() + 60

            def stops() -> bool:
                assert time.monotonic() < deadline
                return stopping is not None and stopping(stream, beside)

            deliver(feed, once=stopping is None, say=runs.said.append, stopping=stops)


@pytest.mark.usefixtures("servers")
def test_rows_of_a_backlog_have_the_columns_of_their_time(tmp_path: Path) -> None:
    """Another consumer has read the ALTER already; the snapshot begins before this one has merged the rows before."""
    runs = begun(tmp_path)
    put(tmp_path / "n1", *BEFORE, *ALTERED)
    read_all(runs.logs["n1"])
    run_on(runs)
    assert rows_of(runs) == [
        ("upsert", {"pk": 1, "ck": "a", "v": 1, "w": 5}),
        ("schema", None),
        ("update", {"pk": 1, "ck": "a", "v": 1}),
        ("upsert", {"pk": 2, "ck": "a", "v": 2}),
    ]


@pytest.mark.usefixtures("servers")
def test_a_table_that_a_backlog_creates_has_the_columns_of_its_time(tmp_path: Path) -> None:
    log = put(tmp_path / "n1", BEFORE[0], BEFORE[2]).path
    runs = Run({"n1": log}, tmp_path / "images", wall=lambda: NOW)
    runs.run()
    put(tmp_path / "n1", BEFORE[0], BEFORE[2], BEFORE[1], *ALTERED)
    read_all(log)
    run_on(runs)
    assert rows_of(runs) == [
        ("insert", {"pk": 1, "ck": "a", "v": 1, "w": 5}),
        ("schema", None),
        ("update", {"pk": 1, "ck": "a", "v": 1}),
        ("insert", {"pk": 2, "ck": "a", "v": 2}),
    ]


@pytest.mark.usefixtures("servers")
def test_a_table_without_rows_is_defined_although_nothing_comes(tmp_path: Path) -> None:
    runs = begun(tmp_path)
    run_on(runs, lambda stream, beside: stream.definition(WIDE.id.hex) is not None)
    assert rows_of(runs) == []


@pytest.mark.usefixtures("servers")
def test_a_table_that_is_dropped_before_the_state_has_it_is_not_waited_for(tmp_path: Path) -> None:
    """The snapshot that somebody asked for ends."""
    runs = begun(tmp_path)

    def is_read(into: InState, tail: Tail) -> bool:
        place = into._stream.read(lambda seen: place_of(seen, "n1"))
        passed = place is not None and reached_by(tail, into._stream.followed("n1"), place)
        return passed and tail.parts.definitions.history.newest_at(passed)[WIDE.id.hex].dropped

    def ends(stream: ImageStream, beside: Beside) -> bool:
        if not dropped:
            dropped.append(True)
            put(tmp_path / "n1", *BEFORE, encode_mutation(drop_table(WIDE, TS + 20)))
        return beside._snapshot is not None and "ks.t" in beside._snapshot.gone

    dropped, define = list[bool](), InState.define
    with pytest.MonkeyPatch.context() as patched:
        # No look at the log defines it before the DROP is merged.
        patched.setattr(InState, "define", lambda self, tail: define(self, tail) if is_read(self, tail) else None)
        run_on(runs, ends)
    assert any("the snapshot leaves ks.t aside" in line for line in runs.said)
