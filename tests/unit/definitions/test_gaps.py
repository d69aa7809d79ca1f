"""A column that is dropped and added with another type in a segment without captured rows, which nobody reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from tailer.definitions.history import DefinitionHistory
from tailer.errors import SystemFailedError
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.schema.rows import SchemaDelta
from tailer.schema.server import read_session
from tailer.segments.gaps import has_gap
from tailer.segments.view import SegmentView
from tailer.state.node_log import folder_log
from tailer.tail.open import tail_parts
from tailer.tail.tail import Tail
from tests.helpers.log_writer import Cell, Column, Liveness, Row, Table, Update, add_column, create_table, drop_column
from tests.helpers.schema_world import KEYSPACE, LateSession, World, new_world
from tests.helpers.tails import change_rows

BUDGET = 1 << 20
KEY = Column("pk", "partition_key", "text", 0), Column("ck", "clustering", "text", 0)
NUMBER, TIME = Column("x", "regular", "bigint"), Column("x", "regular", "timestamp")
EPOCH = bytes(8)
READ = {"bigint": 0, "timestamp": "1970-01-01 00:00:00.000Z"}
"""The same bytes by both types, of which none says how long a value is: both types read any value."""


class Server:
    """A world that this test steers."""

    def __init__(self, path: Path, patch: pytest.MonkeyPatch) -> None:
        self.world: World = new_world(path / "cdc_raw", 1)
        self.asked = 0
        self.away = False
        self.written: dict[str, object] = {}
        self.world.chance.random = lambda: 1.0  # type: ignore[method-assign]  # nothing is executed by chance
        patch.setattr("tailer.definitions.outside.read_server", self._respond)

    def _respond(self, server: object) -> list[SchemaDelta]:
        if self.away:
            raise SystemFailedError("the server does not answer")
        self.asked += 1
        return read_session(LateSession(self.world, self.world.chance))

    def create(self, name: str) -> Table:
        self.world.steps += 1
        table = Table(UUID(int=len(self.world.tables) + 1, version=1), KEYSPACE, name, (*KEY, NUMBER), True)
        for column in table.columns:
            self.world._put_column(table, column)
        self.world._put_table(table)
        self.world._changed(table, create_table(table, self.world.now))
        return table

    def retype(self, table: Table) -> Table:
        """DROP and ADD."""
        world = self.world
        world.steps += 1
        less = replace(table, columns=KEY)
        values = {"kind": "regular", "type": "bigint", "dropped_time": world.now // 1000}
        world.schema["dropped_columns"][table.name, "x"] = world.now, values
        world._log(drop_column(less, NUMBER, world.now))
        world.steps += 1
        table = replace(table, columns=(*KEY, TIME))
        world._put_column(table, TIME)
        world._put_table(table)
        world._changed(table, add_column(table, TIME, world.now))
        return table

    def write(self) -> None:
        """What no consumer reads: it makes a segment that the server removes."""
        self.world._log(
            create_table(Table(UUID(int=9, version=1), "other", "x", (*KEY, NUMBER), False), self.world.now)
        )

    def insert(self, table: Table, key: str) -> None:
        self.world.steps += 1
        self.world._captured = True
        row = Row((b"k",), Liveness(self.world.now), None, (("x", Cell(EPOCH, self.world.now, like_row=1)),))
        self.world._log((Update(table, key.encode(), (row,)),))
        self.written[key] = READ[table.columns[-1].type]


class Reader:
    """A consumer with `--server`."""

    def __init__(self, server: Server, name: str) -> None:
        self.rows: dict[str, object] = {}
        self.said: list[str] = []
        self.now = 0.0
        self._path, self._options = server.world.folder.path, TailOptions(consumer=name, server="db", settle_seconds=0)
        self._tail: Tail | None = None

    def run(self) -> None:
        if self._tail is None:
            parts = tail_parts(folder_log(self._path, None), self._options, clock=lambda: self.now)
            self._tail = Tail(parts)
            self._tail.__enter__()
        for row in change_rows(self._tail, 100, BUDGET, self.said):
            self.rows[row["partition_key"]["pk"]] = row["columns"]["x"]

    def close(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(tmp_path, monkeypatch)


@pytest.mark.parametrize("there", [False, True], ids=["removed", "still there"])
@pytest.mark.parametrize("restarted", [False, True])
def test_the_server_is_asked_behind_a_gap(server: Server, there: bool, restarted: bool) -> None:
    """The segment of the change is removed, or still there without a sidecar."""
    live = Reader(server, "live")
    table = server.create("t")
    server.insert(table, "before")
    live.run()
    if restarted:
        live.close()
    server.insert(table, "behind the restart")
    server.world._close(vanishes=False)
    table = server.retype(table)
    server.world._close(vanishes=not there)
    server.insert(table, "behind the gap")
    live.run()
    later = Reader(server, "later")
    later.run()
    assert live.rows == later.rows == server.written
    for each in (live, later):
        each.close()


def stopped_before_a_gap(server: Server) -> tuple[Reader, Table]:
    """A consumer that is stopped, and a table of which it has a row; a segment behind it has vanished since."""
    live = Reader(server, "live")
    table = server.create("t")
    server.insert(table, "before")
    live.run()
    live.close()
    server.insert(table, "behind the restart")
    server.world._close(vanishes=False)
    server.create("lost")
    server.world._close(vanishes=True)
    return live, table


def test_of_several_gaps_the_change_was_in_the_one_that_other_changes_leave(server: Server) -> None:
    """What the log shows between them is older, so the change was behind it."""
    live, table = stopped_before_a_gap(server)
    other = server.create("u")
    server.insert(table, "between")
    server.world._close(vanishes=False)
    table = server.retype(table)
    server.world._close(vanishes=True)
    server.insert(table, "behind both")
    server.insert(other, "of the other")
    asked = server.asked
    live.run()
    assert live.rows == server.written
    assert server.asked == asked + 1, "one response does for all gaps that were there"
    live.close()


def test_a_server_that_does_not_answer_at_a_gap_is_asked_again(server: Server) -> None:
    live = Reader(server, "live")
    table = server.create("t")
    server.insert(table, "before")
    live.run()
    server.world._close(vanishes=False)
    table = server.retype(table)
    server.world._close(vanishes=True)
    server.away = True
    server.insert(table, "while it is away")
    live.run()
    assert [said for said in live.said if "could not be asked for schema changes before" in said] != []
    server.away = False
    live.now += 10.0
    live.run()
    server.insert(table, "behind its answer")
    live.run()
    # Until it answers, rows are read by the definitions of before: the notice says so.
    assert live.rows == {**server.written, "while it is away": READ["bigint"]}
    live.close()


def test_what_changed_behind_all_that_is_there_does_not_count_before(server: Server) -> None:
    """The segment of the change is gone already, and nothing behind it is there yet when the gap before is met."""
    live, table = stopped_before_a_gap(server)
    server.create("u")
    server.insert(table, "between")
    server.world._close(vanishes=False)
    table = server.retype(table)
    server.world._close(vanishes=True)
    live.run()
    server.insert(table, "behind both")
    live.run()
    assert live.rows == server.written
    live.close()


@pytest.mark.parametrize(
    ("segments", "begin", "found"),
    [
        ({7: True, 8: True}, 7, False),
        ({7: True, 9: True}, 7, True),
        ({7: True, 9: True}, 9, False),
        ({7: True, 8: False, 9: True}, 7, True),
        ({7: True, 8: False}, 7, False),
        ({9: True}, 7, True),
        ({8: True}, 7, False),
        ({}, 7, False),
        ({7: True, 9: True}, 0, False),
    ],
)
def test_where_a_gap_is(segments: dict[int, bool], begin: int, found: bool) -> None:
    view = {id: SegmentView(id, True, readable, end=40 if readable else 0) for id, readable in segments.items()}
    assert has_gap(view, Position(begin, 0)) is found


def test_a_consumer_that_begins_behind_everything_reads_as_one_that_was_there(server: Server) -> None:
    """Nobody has asked the server behind the gap: the log's CREATE and what lies behind it tell where it counts."""
    table = server.create("t")
    server.insert(table, "before")
    server.world._close(vanishes=False)
    table = server.retype(table)
    server.world._close(vanishes=True)
    server.insert(table, "behind")
    late = Reader(server, "late")
    late.run()
    assert late.rows == server.written
    late.close()


def test_many_gaps_behind_one_another_cost_one_look_each(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A consumer that is far behind: all of the history is merged where the log shows a change in between, or the
    response has more."""
    live = Reader(server, "live")
    table = server.create("t")
    server.insert(table, "before")
    live.run()
    live.close()
    for number in range(12):
        server.world._close(vanishes=False)
        server.create(f"lost{number}") if number in (3, 4) else server.write()
        server.world._close(vanishes=True)
        server.insert(table, f"behind {number}")
    merges: list[Position] = []
    state_at = DefinitionHistory.state_at
    monkeypatch.setattr(DefinitionHistory, "state_at", lambda self, at: (merges.append(at), state_at(self, at))[1])
    live.run()
    assert live.rows == server.written
    assert len(merges) <= 4
    live.close()
