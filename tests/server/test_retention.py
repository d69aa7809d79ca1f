"""Retention beside a real server: `clean` runs while it writes, rolls over, is killed, and links anew what was cleaned.

What a consumer must be given is what was inserted; what may be left is what the consumer has not read.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tailer.retention.clean import clean
from tailer.retention.needed import Ages
from tailer.state.cleaned import read_cleaned
from tailer.state.log_folder import state_folder
from tests.server.followers import CommandFollower
from tests.server.harness import Node

pytestmark = [pytest.mark.server, pytest.mark.slow]

AT_ONCE = Ages(0.0, 0.0)
"""No minute of waiting: the server and `clean` meet as often as they can."""

ROUNDS, ROWS = 6, 40
PADDING = "x" * 30_000
"""More than a segment in each round. Nothing is flushed before the kill: the server keeps what `clean` takes away."""

CATCH_UP_SECONDS = 90


@dataclass
class Run:
    """What a run showed. `inserted`: keys by the server's life; `linked_anew`: cleaned segments that came back."""

    inserted: list[int] = field(default_factory=list)
    first: list[dict[str, object]] = field(default_factory=list)
    second: list[dict[str, object]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    before_restart: set[int] = field(default_factory=set)
    linked_anew: set[int] = field(default_factory=set)
    left: set[int] = field(default_factory=set)
    cleaned: set[int] = field(default_factory=set)


@pytest.fixture(scope="module")
def ran(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    work = tmp_path_factory.mktemp("retention")
    run = Run()
    with ExitStack() as ends:
        first, second = CommandFollower("first", interrupted=True), CommandFollower("second", interrupted=False)
        first.start(node.cdc_raw, work)
        ends.callback(first.stop)
        with node.session() as session:
            replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
            session.execute(f"CREATE KEYSPACE kept WITH replication = {replication}")
            session.execute("CREATE TABLE kept.rows (pk int PRIMARY KEY, body text) WITH cdc = true")
            for _ in range(ROUNDS):
                _write(node, session, run)
                _caught_up(first, run)
                clean(node.cdc_raw, ages=AT_ONCE)
        first.pause()
        with node.session() as session:
            # Nobody reads these yet: they must stay, whatever is cleaned.
            _write(node, session, run)
            clean(node.cdc_raw, ages=AT_ONCE)
        run.before_restart = _recorded(node)
        node.kill()
        node.start_again()
        run.linked_anew = _present(node.cdc_raw) & run.before_restart
        first.resume()
        second.start(node.cdc_raw, work)
        ends.callback(second.stop)
        with node.session() as session:
            _write(node, session, run)
            _caught_up(first, run)
            _write(node, session, run)
            node.flush("kept")
        _caught_up(first, run)
        _settled(second, run)
        for reader in (first, second):
            reader.stop()
        clean(node.cdc_raw, ages=AT_ONCE)
        run.left, run.cleaned = _present(node.cdc_raw), _recorded(node)
        run.first = [json.loads(line) for line in first.rows()]
        run.second = [json.loads(line) for line in second.rows()]
        run.failures = first.failures + second.failures
        yield run


def _write(node: Node, session: object, run: Run) -> None:
    """Rows for more than one segment."""
    for _ in range(ROWS):
        key = len(run.inserted)
        session.execute("INSERT INTO kept.rows (pk, body) VALUES (%s, %s)", (key, PADDING))  # type: ignore[attr-defined]
        run.inserted.append(key)
    node.sync()


def _caught_up(reader: CommandFollower, run: Run) -> None:
    deadline = time.monotonic() + CATCH_UP_SECONDS
    while len(reader.rows()) < len(run.inserted) and not reader.failures and time.monotonic() < deadline:
        time.sleep(0.1)


def _settled(reader: CommandFollower, run: Run) -> None:
    """It has given the newest row."""
    deadline = time.monotonic() + CATCH_UP_SECONDS
    last = f'"pk":{run.inserted[-1]}}}'
    while not any(last in row for row in reader.rows()[-3:]) and not reader.failures and time.monotonic() < deadline:
        time.sleep(0.1)


def _present(cdc_raw: Path) -> set[int]:
    return {int(log.stem.split("-")[2]) for log in cdc_raw.glob("*.log")}


def _recorded(node: Node) -> set[int]:
    record = read_cleaned(state_folder(node.cdc_raw))
    return set(record.segments) | set(record.bare)


def test_nothing_needed_went_and_nothing_came_twice(ran: Run) -> None:
    assert ran.failures == []
    keys = Counter(row["partition_key"]["pk"] for row in ran.first)  # type: ignore[index]
    assert keys == Counter(ran.inserted)


def test_what_was_cleaned_and_linked_anew_is_given_to_nobody(ran: Run) -> None:
    assert ran.linked_anew, "the server linked nothing anew: this run shows nothing"
    assert ran.second
    assert not {row["segment"] for row in ran.second} & ran.before_restart
    there = [row["event_id"] for row in ran.first if row["segment"] not in ran.before_restart]
    assert [row["event_id"] for row in ran.second] == there


def test_all_else_is_freed(ran: Run) -> None:
    assert len(ran.cleaned) >= ROUNDS
    assert not ran.linked_anew & ran.left
    read_last = max(int(str(row["segment"])) for row in ran.first)
    assert {segment for segment in ran.left if segment < read_last} == set()
    assert read_last in ran.left
