"""Rows of a full table without images: each once in an outlet, whatever is killed, and with the log's they add up."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tailer.options.tail import TailOptions
from tailer.snapshot.progress import done_of
from tailer.snapshot.spool import Spool
from tests.helpers.amount import ALL
from tests.helpers.cli import run_cli
from tests.helpers.jvm.program import running
from tests.helpers.rebuilt import known_tables, rebuilt, spelled
from tests.oracle.jsontext import loads
from tests.server.followers import CommandFollower
from tests.server.harness import Node
from tests.server.library import VERSIONS
from tests.server.test_snapshot import CREATE, KEYSPACE, QUICK, SETTLE_SECONDS, Writer, written
from tests.server.test_snapshot_kills import kill

pytestmark = [pytest.mark.server, pytest.mark.slow]

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
PLAIN, BARE = f"{KEYSPACE}.plain", f"{KEYSPACE}.bare"
TABLES = (PLAIN, BARE)
REST_SECONDS = 90.0


class Following(CommandFollower):
    """`cdc-tail follow --from snapshot` into SQLite."""

    def __init__(self, node: Node, file: Path, rows_a_second: int) -> None:
        super().__init__("rows", interrupted=True)
        self._server = f"{node.address}:{node.cql_port}"
        self._file, self._pace = file, rows_a_second

    def arguments(self, cdc_raw: Path, work: Path) -> list[str]:
        tables = [word for table in TABLES for word in ("--table", table)]
        asked = ["--from", "snapshot", "--server", self._server, "--snapshot-settle", str(SETTLE_SECONDS)]
        goes = ["--to", f"sqlite:{self._file}", "--into", "changes", "--rows-per-second", str(self._pace)]
        return ["follow", str(cdc_raw), "--consumer", self.name, *tables, *asked, *goes]


@pytest.fixture(scope="module", params=VERSIONS if ALL else ["5.0"])
def full(
    request: pytest.FixtureRequest, needs_server: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    needs_server(request.param)
    folder = tmp_path_factory.mktemp("cassandra")
    with running(Node(folder, version=request.param, heap="512m", options=[QUICK])) as node:
        with node.session() as session:
            for statement in CREATE:
                session.execute(statement)
            for id in range(300):
                session.execute(f"INSERT INTO {BARE} (id, ck) VALUES ({1000 + id}, 1)")
            Writer(session, 1).write(800)
        node.sync()
        yield node


def changes(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as store:
        store.row_factory = sqlite3.Row
        if not store.execute("SELECT 1 FROM sqlite_master WHERE name = 'changes'").fetchone():
            return []
        return [dict(row) for row in store.execute("SELECT * FROM changes")]


def differing(node: Node, rows: list[dict[str, Any]]) -> dict[str, set[str]]:
    """By table what rows and server do not have alike. Rows do not tell of a marker that was guessed: of a row that
    has no value any more nobody knows whether it is there."""
    known = {table.name: table for table in known_tables(node.cdc_raw, TailOptions()).values()}
    found = {}
    with node.session() as session:
        for name in TABLES:
            shown = {spelled(loads(row[0])) for row in session.execute(f"SELECT JSON * FROM {name}")}
            own = [row for row in rows if f"{row['keyspace']}.{row['table']}" == name]
            made = set(rebuilt(own, known[name], int(time.time())))
            both = {row for row in made ^ shown if name == BARE or loads(row).keys() & {"v", "w"}}
            if both:
                found[name] = both
    return found


def rows_read(spool: Path) -> int:
    now = Spool(spool).now
    return 0 if now is None else sum(each.rows for each in now.tables.values())


def all_read(spool: Path) -> bool:
    tables = Spool(spool).known.tables.values()
    return len(tables) == len(TABLES) and all(each.ended for each in tables)


def test_killed_again_and_again(full: Node, tmp_path: Path) -> None:
    """Each row once, no range twice, and behind it nothing is held; with the log's rows it is what SELECT shows."""
    chance, file = random.Random(7), tmp_path / "changes.db"
    follower = Following(full, file, rows_a_second=max(500 // (3 * KILLS), 10))
    spool = full.cdc_raw.with_name("cdc_raw.cdc_tail") / "snapshots" / follower.name
    with full.session() as session, written(Writer(session, 2), 0.02):
        follower.start(full.cdc_raw, tmp_path)
        read = [0]
        for _ in range(KILLS):
            while rows_read(spool) <= read[-1]:
                time.sleep(0.1)
                assert follower.running, follower.failures
            time.sleep(chance.uniform(0, 1.5))
            kill(follower)
            read.append(rows_read(spool))
            assert not all_read(spool)
        while not all_read(spool):
            time.sleep(0.2)
            assert follower.running, follower.failures
    full.sync()
    deadline = time.monotonic() + REST_SECONDS
    while (found := differing(full, changes(file))) and time.monotonic() < deadline:
        time.sleep(1)
    follower.stop()
    assert follower.failures == []
    assert found == {}
    tables = Spool(spool).known.tables.values()
    rows = changes(file)
    ids = [row["event_id"] for row in rows]
    assert len(ids) == len(set(ids))
    served = [row for row in rows if row["op"] == "snapshot"]
    keys = [(row["table"], row["partition_key"], row["clustering"], row["is_static"]) for row in served]
    assert len(keys) == len(set(keys))
    # Of the other one static columns are rows of their own.
    assert [len([row for row in served if row["table"] == "bare"])] == [
        each.rows for each in tables if each.table == BARE
    ]
    assert {done_of(each) for each in tables} == {1.0}
    assert Spool(spool).known.sizes == ()
    assert list(spool.glob("piece-*")) == []


def test_once_it_ends_by_itself(full: Node) -> None:
    """On standard output, with the ranges: all that there is, and no more."""
    where = [str(full.cdc_raw), "--server", f"{full.address}:{full.cql_port}", "--consumer", "once"]
    asked = ["--from", "snapshot", "--once", "--snapshot-settle", "1", "--table", BARE, "--schema-changes"]
    result = run_cli(["follow", *where, *asked, "--output", "json"])
    assert result.code == 0, result.err
    rows = [loads(line) for line in result.lines]
    served = [row for row in rows if row["op"] == "snapshot"]
    with full.session() as session:
        (count,) = session.execute(f"SELECT count(*) FROM {BARE}").one()
    assert len(served) == count
    assert {row["op"] for row in rows} == {"snapshot", "snapshot_range"}
    again = run_cli(["follow", *where, *asked, "--output", "json"])
    assert (again.code, again.lines) == (0, []), again.err


def test_what_rows_cannot_tell_is_refused(full: Node) -> None:
    where = [str(full.cdc_raw), "--server", f"{full.address}:{full.cql_port}", "--consumer", "lists"]
    result = run_cli(["follow", *where, "--from", "snapshot", "--once", "--table", f"{KEYSPACE}.counts"])
    assert result.code == 2, result.err
    assert "before.counts has hits, of which a snapshot knows values alone" in result.err


def test_a_masked_table_is_never_in_the_spool(full: Node) -> None:
    """Its server's values would stand there as they are. Masks that come later do not lock the consumer out either."""
    where = [str(full.cdc_raw), "--server", f"{full.address}:{full.cql_port}", "--from", "snapshot", "--once"]
    run = ["follow", *where, "--snapshot-settle", "1", "--output", "json", "--table", PLAIN]
    mask = ["--mask", f"{PLAIN}.w=null"]
    state = full.cdc_raw.with_name("cdc_raw.cdc_tail") / "snapshots"
    for words in (mask, ["--exclude", f"{PLAIN}.w"]):
        told = run_cli([*run, "--consumer", "masked", *words])
        assert (told.code, told.out) == (2, ""), told.err
        assert f"{PLAIN} is masked, and a server's rows are not" in told.err
        assert not list((state / "masked").glob("piece-*"))
    whole = run_cli([*run, "--consumer", "masked"])
    assert whole.code == 0, whole.err
    served = [row for row in map(loads, whole.lines) if row["op"] == "snapshot"]
    assert any(row["columns"].get("w") for row in served), "nothing of the refused run is kept"
    # Another table is read beside the masked one.
    others = run_cli(["follow", *where, "--consumer", "other", *mask, "--table", BARE, "--output", "json"])
    assert others.code == 0, others.err
    assert {row["table"] for row in map(loads, others.lines)} == {"bare"}
