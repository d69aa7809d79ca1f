"""Logs recorded from real servers (5.0.9) in which an earlier version lost rows or left some that were not alive.

The expected rows are what the statements wrote, and what the server answered to SELECT.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tailer.schema.cql_file import read_cql
from tests.helpers.asked_server import AskedServer
from tests.helpers.cli import Result, run_cli
from tests.helpers.sets import extract

CASES = Path(__file__).parents[2] / "fixtures" / "cases"
M2 = (
    "CREATE TABLE k.m2 (pk int, ck int, a int, PRIMARY KEY (pk, ck)) "
    "WITH ID = c7c5f370-eb61-11f1-a1ad-6361e808cc8b AND cdc = true;\n"
)


class TestCreatedThenDropped:
    """A2: the state's journal says that k.m2 was dropped: a server's response was older than the log's CREATE."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        extract(CASES / "created-then-dropped.tar.xz", tmp_path)
        return tmp_path / "n1"

    def follow(self, folder: Path, *more: str | Path) -> Result:
        what = ("--image", "after", "--table", "k.m2", "--output", "json")
        return run_cli(["follow", folder, "--once", "--stopped", *what, *more])

    def check(self, result: Result) -> None:
        assert result.code == 0, result.err
        images = [json.loads(line) for line in result.lines]
        keys = [(each["partition_key"]["pk"], each["clustering"]["ck"]) for each in images]
        assert keys == [(2, 0), (2, 1), (2, 2), (2, 3)]
        assert [each["table"] for each in images] == ["m2"] * 4

    def test_the_images_come(self, folder: Path) -> None:
        self.check(self.follow(folder))

    def test_with_the_describe_of_the_table(self, folder: Path, tmp_path: Path) -> None:
        """A remedy of the error's sentence."""
        file = tmp_path / "describe.cql"
        file.write_text(
            "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};" + M2
        )
        self.check(self.follow(folder, "--schema", file))

    @pytest.mark.parametrize("knows", [True, False])
    def test_with_the_server(self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knows: bool) -> None:
        """A remedy of the error's sentence; and a server that lacks the table proves nothing."""
        server = AskedServer(monkeypatch)
        (tmp_path / "describe.cql").write_text(M2)
        if knows:
            server.also(*read_cql(tmp_path / "describe.cql"))
        self.check(self.follow(folder, "--server", "db"))
        assert server.requests > 0


def test_a_row_that_only_a_late_node_shows_to_be_gone_is_deleted_and_the_others_become_complete(tmp_path: Path) -> None:
    """A20: one log as two nodes, of which n2 is behind at first."""
    extract(CASES / "two-nodes-ghost.tar.xz", tmp_path)
    parts = [tmp_path / "two-nodes-ghost" / name for name in ("part1", "part2")]
    nodes = [tmp_path / name for name in ("A", "B")]
    for node in nodes:
        shutil.copytree(parts[0], node)
    database = tmp_path / "k.db"
    places, into = f"n1={nodes[0]},n2={nodes[1]}", ("--mode", "table", "--into", "{keyspace}_{table}")
    to = ("--state", tmp_path / "S", "--image", "after", "--to", f"sqlite:{database}", *into)
    for more in (None, *nodes):
        if more is not None:
            shutil.copytree(parts[1], more, dirs_exist_ok=True)
        result = run_cli(["follow", places, "--once", "--consumer", "c", *to])
        assert result.code == 0, result.err
    with closing(sqlite3.connect(database)) as kept:
        assert kept.execute("SELECT id, v, cdc_tail_complete FROM k_h").fetchall() == [(2, 2, 1)]
        assert kept.execute("SELECT cdc_tail_complete FROM k_a").fetchall() == [(1,)]
