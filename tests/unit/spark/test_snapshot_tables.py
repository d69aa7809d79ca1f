"""The tables of a query's snapshot: those that any node's log knows, and that no log shows dropped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailer.options.to_spark import parse_options
from tailer.rebuild import Table
from tailer.spark.nodes import Nodes
from tailer.spark.offsets import Json
from tailer.spark.planner import Planner
from tailer.spark.query_snapshot import QuerySnapshot
from tests.helpers.asked_server import AskedServer
from tests.helpers.log_writer import (
    TS,
    LogFolder,
    Mutation,
    completed,
    create_table,
    drop_table,
    encode_mutation,
    segment_of,
    simple_table,
)
from tests.unit.spark.test_known_table import FIRST, node

A, B = simple_table("ks", "a", 1), simple_table("ks", "b", 2)
BOTH = [create_table(A, TS), create_table(B, TS + 10)]
DROP = drop_table(B, TS + 1_000_000)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the snapshot is given, call by call."""
    found: list[list[str]] = []

    def take(self: QuerySnapshot, tables: Sequence[Table]) -> None:
        found.append(sorted(each.name for each in tables))

    monkeypatch.setattr(QuerySnapshot, "take_tables", take)
    return found


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> AskedServer:
    return AskedServer(monkeypatch)


class Query:
    """A query over two nodes, each with these changes in its log."""

    def __init__(self, folder: Path, *logs: Sequence[Mutation]) -> None:
        self._folder, self._now = folder, 0.0
        path = ",".join(self._put(number, changes) for number, changes in enumerate(logs, 1))
        more = {"startingOffsets": "snapshot", "server": "n1=h1,n2=h2", "waitMillis": "0", "tickSeconds": "0"}
        options = parse_options({"path": path, "snapshotSpool": str(folder / "spool"), **more})
        self.planner = Planner(options, clock=lambda: self._now + time.monotonic())
        self._last: Json = self.planner.initial()
        self.look()

    def _put(self, number: int, changes: Sequence[Mutation]) -> str:
        return node(self._folder, f"n{number}", list(changes), FIRST + number)

    def write(self, number: int, changes: Sequence[Mutation]) -> None:
        """A node's log has these changes besides, and is read."""
        log, made = (
            LogFolder(self._folder / f"n{number}" / "cdc_raw"),
            segment_of(FIRST + 10, [[encode_mutation(each)] for each in changes]),
        )
        log.put(made, completed(made))
        for _ in range(3):
            self._now += 10
            self.look()

    def look(self) -> None:
        self._last = self.planner.latest(self._last, None)


Make = Callable[..., Query]


@pytest.fixture
def query(
    tmp_path: Path, server: AskedServer, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Make]:
    """The node whose log shows more answers last."""
    made: list[Query] = []
    ask, last = Nodes.ask, f"n{request.getfixturevalue('number')}"

    def asked(self: Nodes, work: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        return dict(sorted(ask(self, work, seconds).items(), key=lambda item: item[0] == last))

    monkeypatch.setattr(Nodes, "ask", asked)

    def make(*logs: Sequence[Mutation]) -> Query:
        made.append(Query(tmp_path, *logs))
        return made[-1]

    yield make
    for each in made:
        each.planner.close()


NUMBERS = pytest.mark.parametrize("number", [1, 2])
"""The node whose log shows more."""


@NUMBERS
def test_a_table_that_one_log_does_not_show_yet(query: Make, taken: list[list[str]], number: int) -> None:
    made = query(BOTH[:1], BOTH[:1])
    # Made behind the moment at which the other node has asked this one.
    made.write(number, [create_table(B, int(time.time() * 1_000_000) + 60_000_000)])
    assert (taken[0], taken[-1]) == (["ks.a"], ["ks.a", "ks.b"])


@NUMBERS
def test_a_table_that_one_log_shows_dropped(query: Make, taken: list[list[str]], number: int) -> None:
    made = query(BOTH, BOTH)
    made.write(number, [DROP])
    assert (taken[0], taken[-1]) == (["ks.a", "ks.b"], ["ks.a"])


@NUMBERS
def test_a_table_that_one_log_shows_created_again_with_its_id(query: Make, taken: list[list[str]], number: int) -> None:
    made = query([*BOTH, DROP], [*BOTH, DROP])
    made.write(number, [create_table(B, TS + 2_000_000)])
    assert (taken[0], taken[-1]) == (["ks.a"], ["ks.a", "ks.b"])


@NUMBERS
def test_a_node_whose_log_shows_no_table_yet(query: Make, taken: list[list[str]], number: int) -> None:
    none = [create_table(replace(A, cdc=False), TS)]
    query(*([BOTH, none] if number == 1 else [none, BOTH]))
    assert taken[0] == ["ks.a", "ks.b"]
