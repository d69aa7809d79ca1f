"""Rows that are to be read again: when they are asked for, and that nobody asks for those of a table that is gone."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from cassandra import InvalidRequest
from msgspec.structs import replace

from tailer.errors import UsageError
from tailer.image_state.file import ImageFile
from tailer.image_state.one_transaction import Transaction
from tailer.images import Image, Merger
from tailer.images.questions import Question, Questions
from tailer.images.served import Answer
from tailer.images.tables import Tables
from tailer.options.snapshot import NO_WISHES
from tailer.rebuild import Table
from tailer.rebuild.changes import row_place
from tailer.rebuild.table import plan_of
from tailer.schema.extras import Origin
from tailer.schema.model import Column
from tailer.schema.ring import MURMUR3, Host
from tailer.schema.server_place import ServerPlace
from tailer.schema.server_rows import raw
from tailer.tail.images.merging import Merging
from tailer.tail.images.stream import ImageStream
from tailer.tail.snapshot.in_state import TableInState
from tailer.tail.snapshot.nodes import Nodes
from tailer.tail.snapshot.rereading import Rereading
from tailer.types.parts import framed
from tests.helpers.image_runs import NOW, Taker
from tests.helpers.log_writer import i32
from tests.helpers.raw_server import INT, TEXT, RawServer
from tests.unit.images.told import DATA, ID, definition


@pytest.fixture
def stream(tmp_path: Path) -> Any:
    stream = ImageStream(ImageFile(tmp_path / "images"), "c", ["n1"], Taker().give, wall=lambda: NOW)
    stream.open()

    def ask(transaction: Transaction, merging: Merging) -> list[Image]:
        images = merging.merger.define(Table.of(definition()), created=True, cdc=True, now_us=merging.now_us)
        merging.merger.questions.ask(Question(ID, b"12345678" + b"k", b"row"), int(NOW) - 60)
        return images

    stream.work(ask)
    yield stream
    stream.close()


def questions(stream: ImageStream) -> int:
    return len(list(stream.read(lambda seen: list(Questions(seen.store).open()))))


def run_of(stream: ImageStream, monkeypatch: pytest.MonkeyPatch) -> tuple[Rereading, threading.Event]:
    asked = threading.Event()
    monkeypatch.setattr("tailer.tail.snapshot.rereading.LOOK_SECONDS", 0.01)
    monkeypatch.setattr(Nodes, "ask", lambda self: None)

    def opened(server: None) -> Any:
        asked.set()
        return nullcontext()

    monkeypatch.setattr("tailer.tail.snapshot.rereading.open_session", opened)
    monkeypatch.setattr("tailer.tail.snapshot.rereading.raw", lambda session: session)
    nodes = Nodes({"n1": None})  # type: ignore[dict-item]
    return Rereading(stream, nodes, NO_WISHES, nullcontext, print), asked


def test_of_a_table_that_is_gone_nobody_asks(stream: ImageStream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageStream, "stands", lambda self: True)
    stream.work(lambda transaction, merging: merging.merger.dropped(ID, merging.now_us))
    rereading, _ = run_of(stream, monkeypatch)
    rereading.start()
    while not rereading.settled():
        rereading.check()
    rereading.close()
    assert questions(stream) == 0


def test_nobody_is_asked_before_every_node_has_a_place(stream: ImageStream, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read is marked with the places of those who hold it."""
    rereading, asked = run_of(stream, monkeypatch)
    rereading.start()
    assert not asked.wait(0.3)
    rereading.check()
    monkeypatch.setattr(ImageStream, "stands", lambda self: True)
    assert asked.wait(20)
    rereading.close()


def test_a_table_that_cannot_be_read_does_not_hold_up_the_others(
    stream: ImageStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows come first, and are more than are asked for at once."""
    other = "f" * 32
    first = replace(definition(), id=other)

    def ask(transaction: Transaction, merging: Merging) -> list[Image]:
        merging.merger.define(Table.of(first), created=True, cdc=True, now_us=merging.now_us)
        for number in range(300):
            row = b"%d" % number
            merging.merger.questions.ask(Question(other, b"12345678" + row, b"row"), int(NOW) - 60)
        return []

    stream.work(ask)
    monkeypatch.setattr(ImageStream, "stands", lambda self: True)
    rereading, _ = run_of(stream, monkeypatch)
    said: list[str] = []
    rereading._say = said.append
    answered = threading.Event()

    def of_table(self: Rereading, table: Any, due: Any, session: Any) -> None:
        if table.id == other:
            raise UsageError("Undefined column name w")
        self._forget(due)
        answered.set()

    monkeypatch.setattr(Rereading, "_of_table", of_table)
    rereading.start()
    assert answered.wait(30), said
    rereading.close()
    rereading.check()
    assert [each for each in stream.read(lambda seen: list(Questions(seen.store).open())) if each[0][0] == ID] == []
    assert len(said) == 1
    assert "other tables' rows are" in said[0]


def test_rows_of_a_table_that_the_server_does_not_have_are_asked_for_no_more(
    stream: ImageStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was dropped, and the log does not show that yet."""
    monkeypatch.setattr(ImageStream, "stands", lambda self: True)
    monkeypatch.setattr("tailer.tail.snapshot.rereading.RETRY_SECONDS", 0.0)
    rereading, _ = run_of(stream, monkeypatch)
    said: list[str] = []
    rereading._say = said.append

    def of_table(self: Rereading, table: Any, due: Any, session: Any) -> None:
        raise UsageError("the server refuses what it is asked") from InvalidRequest("table t does not exist")

    monkeypatch.setattr(Rereading, "_of_table", of_table)
    rereading.start()
    deadline = time.monotonic() + 10
    while questions(stream) and time.monotonic() < deadline:
        rereading.check()
        time.sleep(0.01)
    rereading.close()
    assert questions(stream) == 0
    assert said[-1].startswith("ks.t: 1 rows are not read again: the server does not have the table")


@pytest.mark.parametrize("known", [True, False])
def test_rows_of_a_keyspace_that_was_created_since_are_vouched_for(
    stream: ImageStream, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """The servers were asked for their ring before, so the replicas of the keyspace are not known."""
    own, simple = Host("a", "dc1", (0,), "r1"), {"class": "SimpleStrategy", "replication_factor": "1"}

    def place(*keyspaces: str) -> ServerPlace:
        return ServerPlace(Origin("c", "dc1", "r1"), MURMUR3, own, (), dict.fromkeys(keyspaces, simple), "5.0.9")

    rereading, _ = run_of(stream, monkeypatch)
    nodes = rereading._nodes
    nodes._ids, nodes._place = {"n1": "a"}, place("ks") if known else place("other")
    monkeypatch.setattr(Nodes, "ask", lambda self: setattr(self, "_place", place("other", "ks")))
    monkeypatch.setattr("tailer.tail.snapshot.rereading._read", lambda *_: {})
    monkeypatch.setattr(TableInState, "_marks", lambda *_: ())
    answers: list[Answer] = []
    monkeypatch.setattr(Merger, "answered", lambda self, each, rows, answer, now: answers.append(answer) or [])
    table = stream.read(lambda seen: Tables(seen.store).of(ID))
    due = stream.read(lambda seen: list(Questions(seen.store).open()))
    rereading._of_table(table, due, None)  # type: ignore[arg-type]
    assert [answer.complete for answer in answers] == [True]


@pytest.mark.parametrize("value", [b"abcd", b"\xff"])
def test_rows_that_the_server_has_with_another_type_are_asked_for_again(
    stream: ImageStream, monkeypatch: pytest.MonkeyPatch, value: bytes
) -> None:
    """The column was dropped and added again, and the log has not shown that yet. No value is read by the older type,
    whether or not it would fit, and the run goes on."""
    monkeypatch.setattr(ImageStream, "stands", lambda self: True)
    rereading, _ = run_of(stream, monkeypatch)
    said: list[str] = []
    rereading._say = said.append
    types = {"k": INT, "x": INT, "s": INT, "v": TEXT, "w": INT}
    row = {"k": i32(1), "x": i32(1), "s": None, "v": value, "w": None}
    monkeypatch.setattr("tailer.tail.snapshot.rereading.open_session", lambda _: nullcontext(RawServer(types, [row])))
    monkeypatch.setattr("tailer.tail.snapshot.rereading.raw", raw)
    place = ServerPlace(Origin("c", "dc1", "r1"), MURMUR3, Host("a", "dc1", (0,), "r1"), (), {"ks": {}}, "5.0.9")
    rereading._nodes._place = place
    partition, name = row_place(plan_of(Table.of(definition())), '{"k":1}', '{"x":1}')

    def ask(transaction: Transaction, merging: Merging) -> list[Image]:
        merging.merger.questions.answered(Question(ID, b"12345678" + b"k", b"row"))
        merging.merger.questions.ask(Question(ID, partition, name, framed([i32(1)]), mends=True), int(NOW) - 60)
        return []

    stream.work(ask)
    rereading.start()
    deadline = time.monotonic() + 20
    while not said and time.monotonic() < deadline:
        rereading.check()
        time.sleep(0.01)
    rereading.close()
    rereading.check()
    assert questions(stream) == 1
    assert [line for line in said if "column v" in line and "They are asked for again in 5 s" in line] == said != []


@pytest.mark.parametrize("altered", [True, False])
def test_rows_that_were_read_by_an_earlier_definition_are_asked_for_again(
    stream: ImageStream, monkeypatch: pytest.MonkeyPatch, altered: bool
) -> None:
    """The log shows an ALTER between the response and the time at which it is merged."""
    rereading, _ = run_of(stream, monkeypatch)
    place = ServerPlace(Origin("c", "dc1", "r1"), MURMUR3, Host("a", "dc1", (0,), "r1"), (), {"ks": {}}, "5.0.9")
    rereading._nodes._place = place
    dropped = Column("v", "regular", "int", dropped=True, dropped_time=int(NOW) * 1_000_000)
    columns = (DATA[0], dropped, DATA[2]) if altered else DATA

    def alter(transaction: Transaction, merging: Merging) -> list[Image]:
        table = Table.of(definition(*columns))
        return merging.merger.define(table, created=True, cdc=True, now_us=merging.now_us)

    def read(*given: Any) -> Any:
        stream.work(alter)
        return {}

    monkeypatch.setattr("tailer.tail.snapshot.rereading._read", read)
    monkeypatch.setattr(TableInState, "_marks", lambda *_: ())
    answered: list[Any] = []
    monkeypatch.setattr(Merger, "answered", lambda self, each, *more: answered.append(each) or [])
    table = stream.read(lambda seen: Tables(seen.store).of(ID))
    due = stream.read(lambda seen: list(Questions(seen.store).open()))
    rereading._of_table(table, due, None)  # type: ignore[arg-type]
    assert (len(answered), questions(stream)) == (0 if altered else 1, 1)
