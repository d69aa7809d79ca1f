"""A target that nobody can write to for a while, and for a minute in `make soak`, under a run that goes on by itself.

A server that is killed; a file that another program has open; a folder on a disk that was taken away. Rows come all the
while, and afterwards each is there once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.helpers.long_run import long_run
from tests.helpers.outage import DELIVERED, follower_says_it, outage
from tests.helpers.steady_log import steady_log
from tests.unit.sinks.database.followed import TABLE, agreed, values, words
from tests.unit.sinks.database.targets import Deltalake, Duckdb, Postgresql, Sqlite, Target

pytestmark = pytest.mark.slow


def taken(target: Target, aside: Path) -> tuple[Callable[[], None], Callable[[], None]]:
    """What takes a target away, and what gives it back."""
    match target:
        case Postgresql():
            return target.server.kill, target.server.start
        case Deltalake():
            return lambda: _moved(target.folder, aside), lambda: _put_over(target.folder, aside)
        case Sqlite():
            held = sqlite3.connect(target.file, isolation_level=None, timeout=30, check_same_thread=False)
            return lambda: _run(held, "BEGIN IMMEDIATE"), held.close
        case Duckdb():
            open_: list[duckdb.DuckDBPyConnection] = []
            return lambda: open_.append(_opened(target.file)), lambda: open_.pop().close()
    raise TypeError(target)


def _moved(folder: Path, aside: Path) -> None:
    folder.rename(aside)


def _put_over(folder: Path, aside: Path) -> None:
    """As a disk that is mounted again hides what a commit under way has left in the place of the mount."""
    if folder.exists():
        _moved(folder, aside.with_name("left behind"))
    _moved(aside, folder)


def _run(database: sqlite3.Connection, statement: str) -> None:
    database.execute(statement)


def _opened(file: Path) -> duckdb.DuckDBPyConnection:
    """As soon as the run has it closed."""
    while True:
        try:
            return duckdb.connect(file)
        except duckdb.IOException:
            continue


def test_away_while_rows_come(any_target: Target, tmp_path: Path) -> None:
    with steady_log(tmp_path, TABLE) as log:
        command = words(log.folder, any_target, "--retry-for", "5min", "--metrics", "0")
        running = [word for word in command if word not in ("--once", "--stopped")]
        with long_run(running, tmp_path / "said") as run:
            run.await_that(lambda: run.metric(DELIVERED) > 20)
            take, give_back = taken(any_target, tmp_path / "aside")
            outage(take, give_back, lambda: follower_says_it(run, log.folder), run, log)
            log.await_rows(20)
            run.await_that(lambda: run.metric(DELIVERED) > log.rows - 10)
            run.end()
    with long_run(words(log.folder, any_target), tmp_path / "rest") as rest:
        rest.ended()
    assert agreed(any_target, log.folder) == log.rows
    assert values(any_target) == list(range(log.rows))
