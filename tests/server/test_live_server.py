"""A real server under varied statements, killed and started again, while its log is followed: every row once, in order.

What must come out is derived from the server's own view of every segment it ever showed in `cdc_raw`.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.options.tail import TailOptions
from tests.helpers.rebuilt import bare, known_tables, rebuilt, spelled
from tests.oracle.jsontext import Number, loads
from tests.server.expected import ChangeRow, differences, rows_from_dump
from tests.server.followers import CommandFollower, LogFollower, SparkFollower
from tests.server.harness import Node
from tests.server.schema import CHANGES, KEYSPACE
from tests.server.view import Keeper, ServerView
from tests.server.workload import Workload, run

pytestmark = [pytest.mark.server, pytest.mark.slow]

SEED = 20
BEFORE, AFTER = 900, 700
KILLED_AFTER_SECONDS = 1.3
CATCH_UP_SECONDS = 120
LINGER_SECONDS = 1.5
SHORT_TTL_SECONDS = 7
"""Longer than the short TTLs of the workload."""

WITHOUT_CDC = {"quiet", "toggled"}
"""Tables that had `cdc = false`, always or for a time."""


def followers() -> list[LogFollower]:
    return [
        CommandFollower("steady", interrupted=False),
        CommandFollower("interrupted", interrupted=True),
        SparkFollower("spark"),
    ]


@dataclass
class LiveRun:
    """What a run gave: the rows that had to come, and those that each follower gave.

    `problems`: bytes that the server's reader refused, by segment; there are some only if a torn marker was `forgiven`.
    """

    expected: list[ChangeRow]
    given: dict[str, list[str]]
    failures: dict[str, list[str]]
    problems: dict[str, str]
    forgiven: bool
    asked: Asked
    cdc_raw: Path


@dataclass
class Asked:
    """What SELECT showed of each table, and in which second it was asked."""

    shown: dict[str, list[str]] = field(default_factory=dict)
    at: int = 0

    def ask(self, session: Any) -> None:
        names = session.execute("SELECT table_name FROM system_schema.tables WHERE keyspace_name = %s", [KEYSPACE])
        for (name,) in list(names):
            # A TTL of the workload is over by then, or far from it.
            rows = session.execute(f'SELECT JSON * FROM {KEYSPACE}."{name}"')
            self.shown[name] = sorted(loosely(loads(text)) for (text,) in rows)
        self.at = int(time.time())


def loosely(row: dict[str, Any]) -> str:
    """A row in one spelling, numbers with a point by their value as a float: Java's digits depend on its version."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(part) for name, part in value.items()}
        if isinstance(value, list):
            return list(map(plain, value))
        return _as_float(value) if isinstance(value, Number) else value

    return spelled({bare(name): plain(value) for name, value in row.items()})


def _as_float(number: Number) -> Number:
    try:
        (near,) = struct.unpack(">f", struct.pack(">f", float(number)))
    except OverflowError:
        near = float(number)
    return Number(repr(near))


@pytest.fixture(scope="module")
def live(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveRun]:
    work = tmp_path_factory.mktemp("live")
    with ExitStack() as ends, Keeper(node.cdc_raw) as keeper:
        readers = followers()
        for reader in readers:
            reader.start(node.cdc_raw, work)
            ends.callback(reader.stop)
        view = ServerView(node, keeper, work)
        asked = Asked()
        forgiven = _write(node, view, readers, asked)
        captured = {int(sidecar.stem.split("-")[2].removesuffix("_cdc")) for sidecar in node.cdc_raw.glob("*_cdc.idx")}
        expected = rows_from_dump(view.lines, captured)
        given = {reader.name: _caught_up(reader, len(expected)) for reader in readers}
        failures = {reader.name: reader.failures for reader in readers}
        yield LiveRun(expected, given, failures, view.problems, forgiven, asked, node.cdc_raw)


def _write(node: Node, view: ServerView, readers: list[LogFollower], asked: Asked) -> bool:
    """Statements, a kill in the midst of them, a restart, more statements, the end. Gives `start_again`'s answer."""
    workload = Workload(SEED)
    half = len(CHANGES) // 2
    with node.session() as session:
        run(session, workload.create(), view.look)
        run(session, workload.mix(BEFORE // 2, changes=half), view.look)
        _rest(readers)
        node.flush(KEYSPACE)
        node.recycle()
        run(session, workload.mix(BEFORE // 2), view.look)
        view.look()
        _write_until_killed(node, session, workload)
    for reader in readers:
        reader.pause()
    forgiven = node.start_again()
    for reader in readers:
        reader.resume()
    with node.session() as session:
        run(session, workload.mix(AFTER, changes=len(CHANGES) - half), view.look)
        time.sleep(SHORT_TTL_SECONDS)
        asked.ask(session)
    _rest(readers)
    node.drain()
    view.look()
    return forgiven


def _rest(readers: list[LogFollower]) -> None:
    for reader in readers:
        reader.pause()
        reader.resume()


def _write_until_killed(node: Node, session: Any, workload: Workload) -> None:
    """Writes on while a timer kills the server: what it had not synced by then is gone for the log."""
    killing = threading.Event()

    def kill() -> None:
        killing.set()
        node.kill()

    killer = threading.Timer(KILLED_AFTER_SECONDS, kill)
    killer.start()
    try:
        with pytest.raises(AssertionError, match="the server refused") as refusal:
            run(session, workload.mix(1_000_000), lambda: None)
        assert killing.is_set(), refusal.value
    finally:
        killer.join()


def _caught_up(reader: LogFollower, count: int) -> list[str]:
    """The follower's rows once there are as many as there must be, and a little later, should more come."""
    deadline = time.monotonic() + CATCH_UP_SECONDS
    while len(reader.rows()) < count and not reader.failures and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(LINGER_SECONDS)
    reader.stop()
    return reader.rows()


@pytest.mark.parametrize("name", [reader.name for reader in followers()])
def test_every_row_comes_once_in_order_as_the_server_sees_it(live: LiveRun, name: str) -> None:
    assert live.failures[name] == []
    told = differences(live.expected, live.given[name])
    assert not told, "\n".join([f"{len(live.expected)} expected, {len(live.given[name])} given", *told])


def test_the_run_was_worth_it(live: LiveRun) -> None:
    """Every kind of change, several segments on both sides of the kill, and a log that the server reads to its end."""
    ops = Counter(row["op"] for row in live.expected)
    assert set(ops) == {"insert", "update", "delete_row", "delete_range", "delete_partition", "truncate"}
    assert ops["truncate"] == 2
    tables = {row["table"] for row in live.expected}
    assert tables >= {"plain", "slices", "collections", "udts", "scalars", "counts", "cas", "OddName", "late", "doomed"}
    assert "quiet" not in tables
    assert len({row["table_id"] for row in live.expected if row["table"] == "doomed"}) == 2
    assert len({row["segment"] for row in live.expected}) >= 4
    assert len(live.expected) > BEFORE + AFTER
    assert len(live.problems) == int(live.forgiven), live.problems


def test_the_tables_rebuilt_are_what_select_shows(live: LiveRun) -> None:
    rows = [row for batch in tailer.open(live.cdc_raw, stopped=True).read() for row in batch.to_pylist()]
    compared = {}
    for id, table in known_tables(live.cdc_raw, TailOptions()).items():
        name = table.definition.table
        if table.definition.keyspace == KEYSPACE and name not in WITHOUT_CDC:
            mine = [row for row in rows if row["table_id"].replace("-", "") == id]
            compared[name] = sorted(loosely(loads(row)) for row in rebuilt(mine, table, live.asked.at))
    shown = {name: rows for name, rows in live.asked.shown.items() if name not in WITHOUT_CDC}
    assert compared.keys() == shown.keys()
    for name, made in compared.items():
        assert set(made) ^ set(shown[name]) == set(), name
        assert made == shown[name], name
    assert sum(map(len, compared.values())) > 300
