"""The snapshot of a table into a spool: which rows a piece has, with which places, and how far the table is with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any
from unittest.mock import MagicMock
from uuid import UUID

import pytest
from cassandra import InvalidRequest

from tailer.errors import UsageError
from tailer.image_state.asked import ask, replied
from tailer.options.snapshot import SnapshotOptions
from tailer.rebuild import Table
from tailer.rebuild.facts import Place
from tailer.rebuild.table import plan_of
from tailer.schema.model import Column, TableDefinition
from tailer.schema.server_rows import Page
from tailer.snapshot.ranges import HeldRange
from tailer.snapshot.raw_rows import split
from tailer.snapshot.reading import ReadPiece, TableReading
from tailer.snapshot.spool import Spool, read_piece
from tailer.tail.snapshot.beside import Beside
from tailer.tail.snapshot.run import SnapshotRun
from tailer.tail.snapshot.spooled import InSpool
from tests.oracle.jsontext import loads
from tests.unit.snapshot.test_change_row import i32, i64
from tests.unit.snapshot.test_raw_rows import page

ID = "0" * 31 + "1"
LOW, HIGH = -(2**63), 2**63 - 1
COLUMNS = (Column("id", "partition_key", "int", 0), Column("v", "regular", "int"))
TABLE = Table.of(TableDefinition(ID, "ks", "t", COLUMNS, cdc=True))


class OneRange:
    """What is asked of `Nodes`: all of the ring is held by two nodes, one of which is not followed."""

    def __init__(self, *, followed: bool = True) -> None:
        self.servers = {"n1": None}
        self._followed = followed

    def ask(self) -> None:
        """Who they are is known."""

    def has(self, keyspace: str) -> bool:
        return True

    def ranges(self, keyspace: str) -> list[HeldRange]:
        return [HeldRange(LOW, HIGH, frozenset("ab"))]

    def holders(self, held: HeldRange) -> list[str]:
        return ["n1"]

    def follows(self, held: HeldRange) -> bool:
        return self._followed


def piece(low: int, high: int, tokens: list[int]) -> ReadPiece:
    session: Any = None
    reading = TableReading(session, plan_of(TABLE), "5.0.9", "ONE")
    rows = [(i64(token), i32(token), i32(7), i64(50), None) for token in tokens]
    found: Page = page(rows, 5)
    return ReadPiece(low, high, split(found), 100, 0, reading)


def spool_in(folder: Path) -> Spool:
    spool = Spool(folder)
    if spool.now is None:
        spool.begin("")
    return spool


def into(folder: Path, places: Iterator[dict[str, Place]]) -> InSpool:
    made = InSpool(spool_in(folder), Lock(), ["n1"], lambda: next(places))
    made.define([TABLE])
    return made


def told(spool: Spool, number: int) -> list[dict[str, Any]]:
    return read_piece(spool.path(number).read_bytes()).to_pylist()


def test_each_reader_s_rows_have_the_place_from_before_it_read(tmp_path: Path) -> None:
    places = iter([{"n1": (1, 10)}, {"n1": (1, 90)}])
    target = into(tmp_path, places)
    nodes: Any = OneRange(followed=False)
    table = target.table(TABLE, nodes, 30.0)
    table.begin(None, anew=False)
    first, later = table.known(), table.known()
    assert table.merge(1, piece(0, 9, [4, 5]), later, 1.0)
    assert table.merge(0, piece(LOW, 0, [-3]), first, 1.0)
    assert [
        (row["op"], row["token"], row["offset"], row["event_id"].split(":")[2:]) for row in told(target.spool, 1)
    ] == [
        ("snapshot", 4, 90, ["1", "0"]),
        ("snapshot", 5, 90, ["1", "1"]),
        ("snapshot_range", None, 90, ["1", "2"]),
    ]
    assert [row["offset"] for row in told(target.spool, 2)] == [10, 10]
    (*_, range_) = told(target.spool, 2)
    told_of = loads(range_["range"])
    assert (told_of["low"], told_of["high"], told_of["complete"], told_of["places"]) == (LOW, 0, False, {"n1": [1, 10]})


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    nodes: Any = OneRange()
    for done in ([(LOW, 0)], [(0, HIGH)]):
        target = into(tmp_path, iter([{"n1": (1, 10)}] * 9))
        table = target.table(TABLE, nodes, 30.0)
        begun = table.begin(None, anew=False)
        assert not begun.ended
        for low, high in done:
            table.merge(0, piece(low, high, []), table.known(), 1.0)
    again = into(tmp_path, iter([{"n1": (1, 10)}] * 9)).table(TABLE, nodes, 30.0)
    assert again.begin(None, anew=False).ended
    assert list(again.left()) == []


def test_a_table_that_the_log_has_not_any_more_is_gone(tmp_path: Path) -> None:
    target = into(tmp_path, iter([{"n1": (1, 10)}] * 9))
    nodes: Any = OneRange()
    table = target.table(TABLE, nodes, 30.0)
    assert not table.is_gone()
    target.define([])
    assert table.is_gone()
    assert table.known().facts.dropped


class NobodyThere:
    """What is asked of `Nodes` where no server may be asked."""

    servers: Mapping[str, None] = MappingProxyType({"n1": None})

    def ask(self) -> None:
        raise AssertionError("a server was asked")


def test_nothing_is_read_before_what_the_nodes_had_logged_is_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes: Any = OneRange()
    target = into(tmp_path, iter([{"n1": (1, 10)}] * 9))
    answers, asked, said = [["n1", "n2"], ["n2"], []], list[float](), list[str]()

    def behind(second: float) -> list[str]:
        asked.append(second)
        return answers[len(asked) - 1]

    def read(server: None) -> None:
        raise RuntimeError(f"read behind {len(asked)} looks")

    monkeypatch.setattr(target, "behind", behind)
    monkeypatch.setattr("tailer.tail.snapshot.run.open_session", read)
    monkeypatch.setattr("tailer.tail.snapshot.run.TOLD_SECONDS", 0.0)
    run = SnapshotRun(target, nodes, SnapshotOptions(snapshot_settle=0.2), None, said.append)
    run.begin([TABLE])
    run.start()
    run._thread.join()
    with pytest.raises(RuntimeError, match="read behind 3 looks"):
        run.check()
    assert said == [f"the snapshot waits: what {who} logged before it is not merged yet" for who in ("n1, n2", "n2")]
    (until,) = (known.until for known in target.spool.known.tables.values())
    assert set(asked) == {until / 1e6 + 0.1}


def test_no_server_is_asked_of_what_was_read_to_its_end(tmp_path: Path) -> None:
    nodes: Any = OneRange()
    target = into(tmp_path, iter([{"n1": (1, 10)}] * 9))
    assert not target.has(TABLE)
    table = target.table(TABLE, nodes, 30.0)
    table.begin(None, anew=False)
    table.merge(0, piece(LOW, HIGH, [4]), table.known(), 1.0)
    again = into(tmp_path, iter([{"n1": (1, 10)}] * 9))
    assert again.has(TABLE)
    nobody: Any = NobodyThere()
    run = SnapshotRun(again, nobody, SnapshotOptions(), None, print)
    run.begin([TABLE])
    run.start()
    run._thread.join()
    run.check()
    assert run.ended


OTHER = Table.of(TableDefinition("0" * 31 + "2", "ks", "u", COLUMNS, cdc=True))


@dataclass
class Asked:
    """A server that has no rows, and refuses to read some tables. `refused`: what it says, by table."""

    folder: Path
    refused: dict[str, str]
    ids: dict[str, str] = field(default_factory=dict)
    """The tables that it has, if they are not those that the log tells of."""
    names: list[str] = field(default_factory=list)
    left: tuple[Table, ...] | None = None
    """The tables that are left when the log shows a DROP while one of the others is read."""
    target: InSpool = field(init=False, repr=False)

    def run(
        self, *tables: Table, nodes: Any = None, known: tuple[Table, ...] | None = None
    ) -> tuple[SnapshotRun, list[str]]:
        """A run to its end, and what it says. `known`: those of the tables that the log has not shown the DROP of."""
        nodes = nodes or OneRange()
        nodes.release = "5.0.9"
        target = InSpool(spool_in(self.folder), Lock(), ["n1"], lambda: {"n1": (1, 10)})
        target.define(tables if known is None else known)
        self.target = target
        said = list[str]()
        options = SnapshotOptions(snapshot_settle=0.0)
        made = SnapshotRun(target, nodes, options, None, said.append, anew=known is not None)
        made.begin(tables)
        made.start()
        made._thread.join(30)
        made.check()
        assert made.ended
        return made, said

    def cluster(self, server: Any) -> MagicMock:
        def execute(query: str, timeout: float) -> list[tuple[str, str, UUID]]:
            return [(*name.split("."), UUID(id)) for name, id in self.ids.items()]

        session = MagicMock(execute=execute)
        return MagicMock(connect=lambda: session)

    def reading(self, session: Any, plan: Any, *more: Any) -> TableReading:
        name, asked = plan.table.name, self

        class Reading(TableReading):
            def pieces(self, low: int, high: int, until: int, most: int) -> Iterator[ReadPiece]:
                asked.names.append(name)
                if name in asked.refused:
                    raise InvalidRequest(asked.refused[name])
                if asked.left is not None and name not in {each.name for each in asked.left}:
                    asked.target.define(asked.left)
                yield piece(low, high, [])

        return Reading(session, plan, *more)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    made = Asked(tmp_path, {})
    monkeypatch.setattr("tailer.tail.snapshot.run.TableReading", made.reading)
    monkeypatch.setattr("tailer.schema.server._cluster", made.cluster)
    monkeypatch.setattr("tailer.tail.snapshot.run.raw", lambda session: session)
    monkeypatch.setattr("tailer.tail.snapshot.run._REFUSED_SECONDS", 0.3)
    monkeypatch.setattr("tailer.tail.snapshot.run._GONE_SECONDS", 0.3, raising=False)
    monkeypatch.setattr("tailer.tail.snapshot.run.RETRY_SECONDS", 0.1)
    return made


def test_a_table_that_the_server_refuses_is_left_aside_alone(asked: Asked) -> None:
    """The other one is read; the next run reads it, or goes on without it, as the sentence says."""
    asked.refused = {"ks.t": "Undefined column name x"}
    asked.ids = {"ks.t": ID}
    first, said = asked.run(TABLE, OTHER)
    told = "the snapshot of ks.t is not complete"
    assert [line for line in said if line.startswith(told)] != []
    assert [line for line in said if line.startswith("snapshot of ks.u: ")] != []
    with pytest.raises(UsageError, match=rf"{told}.*Undefined column name x.*--exclude ks\.t") as raised:
        first.report_end()
    assert raised.value.code == 2
    asked.run(OTHER)[0].report_end()
    asked.refused.clear()
    asked.names.clear()
    again, said = asked.run(TABLE, OTHER)
    again.report_end()
    assert ({*asked.names}, [line.partition(":")[0] for line in said]) == ({"ks.t"}, ["snapshot of ks.t"])


@pytest.mark.parametrize("found", ["table t does not exist", "unconfigured table t", "keyspace ks does not exist"])
def test_a_table_that_the_server_does_not_have_any_more_ends_no_run(asked: Asked, found: str) -> None:
    """It was dropped, and the log does not show that yet. The sentences are those of Cassandra 4.0 to 5.0."""
    asked.refused = {"ks.t": found}
    run, said = asked.run(TABLE, OTHER)
    run.report_end()
    assert sorted(line.partition(":")[0] for line in said) == ["snapshot of ks.u", "the snapshot leaves ks.t aside"]
    assert run.gone == {"ks.t"}
    # Whoever asked for it waits for the other one alone.
    assert answered(asked, run, TABLE, OTHER) == ((OTHER.definition.id,), "")


def answered(asked: Asked, run: SnapshotRun, *tables: Table) -> tuple[tuple[str, ...], str] | None:
    """What whoever asked for a snapshot is told at its end: the tables that were read, or why none was."""
    beside, request = Beside.__new__(Beside), ask(asked.folder, ())
    beside._folder, beside._snapshot = asked.folder, run
    beside._asked_for, beside._asked_tables = request.id, tables
    beside._say_refused()
    reply = replied(asked.folder, request)
    return None if reply is None else (reply.tables, reply.reason)


@pytest.mark.parametrize("when", ["before it begins", "while it is read"])
def test_whoever_asked_for_a_table_hears_that_the_log_shows_its_drop(asked: Asked, when: str) -> None:
    """It waited for ever for the end of that table's snapshot."""
    known = (OTHER,) if when == "before it begins" else (TABLE, OTHER)
    asked.left = (OTHER,)
    run, said = asked.run(TABLE, OTHER, known=known)
    run.report_end()
    why = "(the log has shown that it was dropped)"
    assert f"the snapshot leaves ks.t aside: the server does not have it any more {why}" in said
    assert answered(asked, run, TABLE, OTHER) == ((OTHER.definition.id,), "")
    alone, _ = asked.run(TABLE, known=known[:-1])
    told = answered(asked, alone, TABLE)
    assert told is not None
    assert told == ((), f"the server does not have the table any more: ks.t {why}")


def test_nor_does_one_whose_name_another_table_has_by_now(asked: Asked) -> None:
    asked.refused, asked.ids = {"ks.t": "Undefined column name ck0 in table ks.t"}, {"ks.t": OTHER.definition.id}
    run, said = asked.run(TABLE, OTHER)
    run.report_end()
    assert sorted(line.partition(":")[0] for line in said) == ["snapshot of ks.u", "the snapshot leaves ks.t aside"]
    assert run.gone == {"ks.t"}


@dataclass
class Later(OneRange):
    """As `Nodes`: of a keyspace that no server has nobody knows the replicas. `created`: how often all are asked before
    there is one; None for never."""

    created: int | None
    release: str = "5.0.9"

    def __post_init__(self) -> None:
        super().__init__()

    def ask(self) -> None:
        self.created = None if self.created is None else self.created - 1

    def has(self, keyspace: str) -> bool:
        return self.created is not None and self.created <= 0

    def ranges(self, keyspace: str) -> list[HeldRange]:
        return super().ranges(keyspace) if self.has(keyspace) else [HeldRange(LOW, HIGH, None)]

    def follows(self, held: HeldRange) -> bool:
        return held.nodes is not None


@pytest.mark.parametrize("created", [None, 3])
def test_a_table_whose_keyspace_was_dropped_or_is_new_ends_no_run(asked: Asked, created: int | None) -> None:
    """Servers that were asked behind the DROP, or before the CREATE, do not know the replicas of its keyspace."""
    run, said = asked.run(TABLE, nodes=Later(created))
    run.report_end()
    assert {*asked.names} == (set() if created is None else {"ks.t"})
    word = "the snapshot leaves ks.t aside: the server does not have it any more (no keyspace ks)"
    assert said == [word] if created is None else said[0].startswith("snapshot of ks.t: ")


def test_nor_of_a_table_that_was_dropped(tmp_path: Path) -> None:
    target = into(tmp_path, iter([{"n1": (1, 10)}] * 9))
    target.define([])
    assert target.has(TABLE)
