"""What `compare --mend` leaves: taken once, kept over a kill, waited for by a run that ends by itself."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tailer.cli.follow_nodes import run_beside
from tailer.image_state import asked, mend_requests
from tailer.image_state.asked import Reply
from tailer.image_state.file import ImageFile
from tailer.image_state.mend_requests import MendRow
from tailer.image_state.one_transaction import Transaction
from tailer.images import Image
from tailer.images.questions import Open, Questions
from tailer.options.snapshot import NO_WISHES
from tailer.rebuild import Table
from tailer.rebuild.changes import row_place
from tailer.rebuild.table import plan_of
from tailer.tail.images.merging import Merging
from tailer.tail.images.stream import ImageStream
from tailer.tail.snapshot import beside as module
from tailer.tail.snapshot import rereading
from tailer.tail.snapshot.beside import Beside
from tailer.tail.snapshot.nodes import Nodes
from tailer.tail.snapshot.run import SnapshotRun
from tailer.tail.turn_lock import TurnLock
from tests.helpers.image_runs import NOW, Taker
from tests.helpers.outlets import Killed
from tests.unit.images.told import ID, definition, insert

TABLE = Table.of(definition())
NODES = ["n1", "n2"]
PARTITION, ROW = row_place(plan_of(TABLE), '{"k":1}', '{"x":1}')
ROWS = (MendRow(PARTITION, ROW, b""),)
OTHER = Table.of(msgspec.structs.replace(definition(), id="f" * 32, table="later"))


def tail_of(node: str) -> Any:
    return SimpleNamespace(options=SimpleNamespace(node=node))


TAIL = tail_of("n1")


@contextmanager
def state(folder: Path) -> Iterator[ImageStream]:
    """The state of two nodes, in which the row (1, 1) is known."""
    taker = Taker()
    stream = ImageStream(ImageFile(folder), "c", NODES, taker.give, wall=lambda: NOW)
    stream.open()

    def fill(transaction: Transaction, merging: Merging) -> list[Image]:
        merging.merger.define(TABLE, created=True, cdc=True, now_us=merging.now_us)
        return []

    stream.work(fill)
    try:
        yield stream
    finally:
        stream.close()


def define(stream: ImageStream, table: Table) -> None:
    """As the first image of a table does."""

    def work(transaction: Transaction, merging: Merging) -> list[Image]:
        return merging.merger.define(table, created=True, cdc=True, now_us=merging.now_us)

    stream.work(work)


def beside_of(stream: ImageStream, said: list[str], clock: Callable[[], float] = time.monotonic) -> Beside:
    run: Any = SimpleNamespace(stream=stream, timers=None, images=SimpleNamespace(tokens=None))
    servers: Any = dict.fromkeys(NODES)
    return Beside(run, servers, NO_WISHES, TurnLock(), said.append, begins=False, clock=clock)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "chosen_tables", lambda tail, unmasked: [TABLE])
    monkeypatch.setattr(module, "ASKED_SECONDS", 0.0)


def open_mends(stream: ImageStream) -> list[Open]:
    found = stream.read(lambda seen: list(Questions(seen.store).open()))
    return [each for each in found if each.question.mends]


def test_it_is_not_taken_before_a_log_has_told_its_tables(tmp_path: Path) -> None:
    """Else the request would be thrown away as one of a table that nobody follows."""
    said: list[str] = []
    with state(tmp_path / "images") as stream:
        beside = beside_of(stream, said)
        mend_requests.leave(Path(stream.where), ID, ROWS)
        beside.look()
        assert (said, len(list(mend_requests.requests(Path(stream.where))))) == ([], 1)
        beside.begin(TAIL)
        beside.look()
        assert (len(open_mends(stream)), list(mend_requests.requests(Path(stream.where)))) == (1, [])


def test_a_table_that_was_created_since_is_asked_for_when_its_log_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request stays until every node's log has told its tables anew, also where one is away for long."""
    said: list[str] = []
    with state(tmp_path / "images") as stream:
        where = Path(stream.where)
        beside = beside_of(stream, said)
        for node in NODES:
            beside.begin(tail_of(node))
        monkeypatch.setattr(module, "chosen_tables", lambda tail, unmasked: [TABLE, OTHER])
        define(stream, OTHER)
        mend_requests.leave(where, OTHER.definition.id, ROWS)
        beside.look()
        assert (said, open_mends(stream), len(list(mend_requests.requests(where)))) == ([], [], 1)
        beside.note(tail_of("n2"))
        beside.look()
        assert [each.question.table_id for each in open_mends(stream)] == [OTHER.definition.id]
        assert list(mend_requests.requests(where)) == []


def test_a_table_that_nobody_follows_is_said_when_all_logs_have_told_that(tmp_path: Path) -> None:
    said: list[str] = []
    with state(tmp_path / "images") as stream:
        where = Path(stream.where)
        beside = beside_of(stream, said)
        mend_requests.leave(where, OTHER.definition.id, ROWS)
        beside.begin(tail_of("n1"))
        beside.look()
        assert (said, len(list(mend_requests.requests(where)))) == ([], 1)
        beside.begin(tail_of("n2"))
        beside.look()
        mend_requests.leave(where, "e" * 32, ROWS)
        beside.look()
        assert len(list(mend_requests.requests(where))) == 2
        for node, left in zip(NODES, (1, 0), strict=True):
            beside.note(tail_of(node))
            beside.look()
            assert (len(said), len(list(mend_requests.requests(where)))) == (2 - left, left)
        assert all("is not mended: its table is not followed, or masked" in line for line in said)


@pytest.mark.parametrize("away", [False, True])
def test_a_snapshot_of_a_table_that_was_created_since_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, away: bool
) -> None:
    """Where a node's log does not tell its tables for long, those that are known count."""
    monkeypatch.setattr(Nodes, "check", lambda self, nodes: None)
    monkeypatch.setattr(SnapshotRun, "start", lambda self: None)
    now = [1000.0]
    with state(tmp_path / "images") as stream:
        where = Path(stream.where)
        beside = beside_of(stream, [], lambda: now[0])
        for node in NODES:
            beside.begin(tail_of(node))
        monkeypatch.setattr(module, "chosen_tables", lambda tail, unmasked: [TABLE, OTHER])
        request = asked.ask(where, ("ks.later",))
        beside.look()
        now[0] += 1
        assert asked.replied(where, request) is None
        for node in NODES[: 1 if away else 2]:
            beside.note(tail_of(node))
        beside.look()
        assert (asked.replied(where, request) is None) == away
        now[0] += 10
        beside.look()
        assert asked.replied(where, request) == Reply(request.id, (OTHER.definition.id,))


@pytest.mark.parametrize("when", ["before", "behind"])
def test_a_kill_while_it_is_taken_loses_nothing(tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the re-reads are durable, and between that and the removal of the file."""
    folder = tmp_path / "images"
    with state(folder) as stream:
        where = Path(stream.where)
        mend_requests.leave(where, ID, ROWS)
        beside = beside_of(stream, [])
        beside.begin(TAIL)

        def killed(*given: Any, **more: Any) -> None:
            raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(*((stream, "work") if when == "before" else (Path, "unlink")), killed)
            with pytest.raises(Killed):
                beside.look()
    with state(folder) as stream:
        kept = (len(open_mends(stream)), len(list(mend_requests.requests(where))))
        assert kept == ((0, 1) if when == "before" else (1, 1))
        again = beside_of(stream, [])
        assert again.waits()
        again.begin(TAIL)
        again.look()
        assert (len(open_mends(stream)), list(mend_requests.requests(where))) == (1, [])
    # Taken and not executed: it is in the state.
    with state(folder) as stream:
        assert beside_of(stream, []).waits()
        assert len(open_mends(stream)) == 1


def serve(monkeypatch: pytest.MonkeyPatch, until: float) -> None:
    """A server that has no row; its responses count as of second `until`."""
    place = SimpleNamespace(release="5.0.9", replications={TABLE.definition.keyspace: {}})
    monkeypatch.setattr(rereading, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(Nodes, "ask", lambda self: setattr(self, "_place", place))
    monkeypatch.setattr(ImageStream, "stands", lambda self: True)
    monkeypatch.setattr(rereading, "open_session", lambda server: nullcontext())
    monkeypatch.setattr(rereading, "raw", lambda session: session)
    reading = SimpleNamespace(row=lambda *asked: {}, replaced=Counter())
    monkeypatch.setattr(rereading, "TableReading", lambda *given: reading)
    monkeypatch.setattr(rereading, "SLACK_SECONDS", NOW - until)
    snapshot = SimpleNamespace(answer=lambda transaction, merging, token, until, events: _answer(until, events))
    monkeypatch.setattr(rereading, "TableInState", lambda *given: snapshot)


def _answer(until: int, events: Any) -> Any:
    from tailer.images.served import Answer

    return Answer(until, True, (), events)


def write(stream: ImageStream, v: Any = 5) -> None:
    """The row (1, 1), merged now."""

    def work(transaction: Transaction, merging: Merging) -> list[Image]:
        row = {**insert(int(NOW * 1e6) - 10, v=v), "node": "n1", "segment": 7, "offset": 9, "event_id": "e"}
        return merging.merger.entry([row], merging.now_us)

    stream.work(work)


def run_once(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """As `follow --once` runs its nodes: until `beside` is done where it is waited for, and then to their ends."""
    runs: list[bool] = []

    def nodes(nodes: Any, give: Any, values: Any, watched: Any, stopping: Any, meanwhile: Any, at: Any = None) -> None:
        runs.append(values["once"])
        beside.begin(TAIL)
        deadline = time.monotonic() + 30
        while not values["once"] and not stopping():
            meanwhile()
            assert time.monotonic() < deadline, "it does not end"
            time.sleep(0.01)
        meanwhile()

    monkeypatch.setattr("tailer.cli.follow_nodes.run_nodes", nodes)
    values = {"once": True}
    watched: Any = None
    run_beside([], lambda values: watched, values, watched, lambda: False, lambda: None, beside)
    return runs


def test_a_run_that_ends_by_itself_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, NOW + 5)
    with state(tmp_path / "images") as stream:
        write(stream)
        beside = beside_of(stream, said := [])
        assert not beside.waits()
        mend_requests.leave(Path(stream.where), ID, ROWS)
        beside.start()
        assert run_once(beside, monkeypatch) == [False, True]
        beside.close()
        assert (open_mends(stream), beside.waits()) == ([], False)
        assert said == [f"{TABLE.name}: 1 rows are read again from the server (compare --mend)"]


def test_it_waits_no_longer_than_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer."""
    monkeypatch.setattr(module, "MEND_SECONDS", 0.2)
    with state(tmp_path / "images") as stream:
        beside = beside_of(stream, said := [])
        mend_requests.leave(Path(stream.where), ID, ROWS)
        assert run_once(beside, monkeypatch) == [False, True]
        assert said[-1].startswith("rows of compare --mend are still to be read again: the next run")
        assert len(open_mends(stream)) == 1


def test_a_row_that_is_written_all_the_time_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a number of tries, and it is said."""
    serve(monkeypatch, NOW - 5)
    monkeypatch.setattr(rereading, "_at", lambda each: 0)
    with state(tmp_path / "images") as stream:
        write(stream)
        beside = beside_of(stream, said := [])
        mend_requests.leave(Path(stream.where), ID, ROWS)
        beside.start()
        assert run_once(beside, monkeypatch) == [False, True]
        beside.close()
        assert [line for line in said if "are not mended: they were written again before each of 10" in line] != []
        assert open_mends(stream) == []
