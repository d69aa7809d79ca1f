"""Entries of a table that no definition names, through the other ways that rows take: row images of one node and of
several, kept tables, Spark's batch reader, a program's own consumer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.options.to_spark import parse_options
from tailer.serve.clients import EVERYBODY
from tailer.spark.batch import CdcTailReader
from tailer.spark.errors import CdcTailError
from tailer.spark.executor import read_job
from tailer.spark.source import generic_schema
from tests.helpers.asked_server import AskedServer
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import LogFolder, completed, insert_payload, segment_of
from tests.helpers.served import served
from tests.unit.tail.test_unknown_tables import BOTH, FIRST, PLAIN, A, B, aside, log_of

ROWS = [insert_payload(A, 1, "a", 10), *(insert_payload(B, n, "b", n) for n in (2, 3))]
LINE = f"2 entries of table {B.id} put into quarantine"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> AskedServer:
    found = AskedServer(monkeypatch)
    found.knows(A, PLAIN)
    return found


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return log_of(tmp_path, *ROWS)


def follow(place: str | Path, *more: str) -> Result:
    return run_cli(["follow", place, "--once", "--consumer", "c", *more])


def images(result: Result) -> list[tuple[str, int, bool]]:
    told = (json.loads(line) for line in result.lines)
    return [(image["table"], image["partition_key"]["pk"], image["complete"]) for image in told]


def more_rows(log: LogFolder) -> None:
    """A row of each table in a later segment."""
    writer = segment_of(FIRST + 1, [[insert_payload(A, 4, "a", 4), insert_payload(B, 5, "b", 5)]])
    log.put(writer, completed(writer))


def test_other_tables_images_stay_whole(log: LogFolder, server: AskedServer) -> None:
    result = follow(log.path, "--output", "json", "--image", "after", "--server", "db")
    assert (result.code, images(result)) == (0, [("a", 1, True), ("a", 9, True)])
    assert LINE in result.err
    server.knows(A, PLAIN, B)
    more_rows(log)
    result = follow(log.path, "--output", "json", "--image", "after", "--server", "db")
    # Of the table itself something is missing.
    assert images(result) == [("a", 4, True), ("b", 5, False)]


def test_images_of_a_table_that_the_server_knows(log: LogFolder, server: AskedServer) -> None:
    server.knows_next(A, PLAIN, B)
    result = follow(log.path, "--output", "json", "--image", "after", "--server", "db")
    assert (result.code, [image[:2] for image in images(result)]) == (0, [("a", 1), ("b", 2), ("b", 3), ("a", 9)])


def test_an_entry_with_rows_of_a_known_table_makes_its_images_incomplete(tmp_path: Path, server: AskedServer) -> None:
    log = log_of(tmp_path, BOTH)
    result = follow(log.path, "--output", "json", "--image", "after", "--server", "db")
    assert (result.code, images(result)) == (0, [("a", 9, False)])
    assert str(B.id) in result.err


def test_two_nodes_each_put_their_own_aside(tmp_path: Path, server: AskedServer) -> None:
    logs = [log_of(tmp_path / name, *ROWS) for name in ("n1", "n2")]
    place = ",".join(f"{name}={log.path}" for name, log in zip(("n1", "n2"), logs, strict=True))
    result = follow(place, "--output", "json", "--server", "db")
    keys = sorted(json.loads(line)["partition_key"]["pk"] for line in result.lines)
    assert (result.code, keys) == (0, [1, 1, 9, 9])
    assert result.err.count(LINE) == 2
    imaged = run_cli(
        ["follow", place, "--once", "--consumer", "i", "--output", "json", "--image", "after", "--server", "db"]
    )
    assert imaged.code == 0
    assert imaged.err.count(LINE) == 2
    # What is known of the other table's rows is what would be without the entries of the unknown one.
    without = [log_of(tmp_path / "without" / name, ROWS[0]) for name in ("n1", "n2")]
    place = ",".join(f"{name}={log.path}" for name, log in zip(("n1", "n2"), without, strict=True))
    same = run_cli(["follow", place, "--once", "--output", "json", "--image", "after", "--server", "db"])
    assert images(imaged) == images(same)
    # Known in part until the other node's log shows the CREATE, and then complete.
    known = [("a", pk, complete) for complete in (False, True) for pk in (1, 9)]
    assert images(same) == known


def test_a_kept_table_says_what_it_lacks(log: LogFolder, server: AskedServer, tmp_path: Path) -> None:
    target = tmp_path / "kept.db"
    words = ["--image", "after", "--to", f"sqlite:{target}", "--mode", "table", "--into", "{keyspace}_{table}"]
    result = follow(log.path, *words, "--server", "db")
    assert result.code == 0, result.err
    assert LINE in result.err
    with sqlite3.connect(target) as held:
        assert held.execute("SELECT pk FROM ks_a ORDER BY pk").fetchall() == [(1,), (9,)]
    held.close()


def test_rows_to_files_say_it(log: LogFolder, server: AskedServer, tmp_path: Path) -> None:
    result = follow(log.path, "--to", f"files:{tmp_path / 'out'}", "--server", "db")
    assert result.code == 0, result.err
    assert LINE in result.err


def test_a_batch_read_in_spark_asks(log: LogFolder, server: AskedServer) -> None:
    server.knows_next(A, PLAIN, B)
    assert batch(log, server="db", tables="ks.*") == [1, 2, 3, 9]
    assert server.requests == 2


def test_a_batch_read_in_spark_keeps_nothing_so_it_leaves_nothing_out(log: LogFolder, server: AskedServer) -> None:
    with pytest.raises(CdcTailError, match=f"CDC-3.*{B.id}.*does not know either.*quarantine-table {B.id}"):
        batch(log, server="db", tables="ks.*")
    assert batch(log, server="db", tables="ks.*", quarantineTables=str(B.id)) == [1, 9]


def batch(log: LogFolder, **options: str) -> list[int]:
    reader = CdcTailReader(parse_options({"path": str(log.path), **options}), generic_schema())
    rows = [row for part in reader.partitions() for found in read_job(part.value) for row in found.to_pylist()]
    return [json.loads(row["partition_key"])["pk"] for row in rows]


class Taken:
    """A consumer of a program's own."""

    def __init__(self) -> None:
        self.keys: list[int] = []

    def start(self, state: Any) -> None:
        """It begins."""

    def on_definitions(self, changes: Sequence[Any]) -> None:
        """They are known."""

    def on_changes(self, batch: Any) -> bool:
        self.keys += [json.loads(row["partition_key"])["pk"] for row in batch.to_pylist()]
        return True

    def stop(self) -> None:
        """It ends."""


def test_a_consumer_of_a_program_is_told(log: LogFolder, server: AskedServer) -> None:
    said: list[str] = []
    taken = Taken()
    tailer.run(log.path, taken, name="c", once=True, server="db", say=said.append)
    assert taken.keys == [1, 9]
    assert any(LINE in line for line in said)


def test_a_served_node_keeps_what_its_reader_puts_aside(log: LogFolder, server: AskedServer) -> None:
    with served(log.path) as node:
        result = follow(node.url, "--output", "json", "--server", "db")
    assert (result.code, [json.loads(line)["partition_key"]["pk"] for line in result.lines]) == (0, [1, 9])
    assert LINE in result.err
    assert len(aside(log)) == 2


def test_a_served_nodes_full_quarantine_is_3(
    log: LogFolder, server: AskedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not waited for as a node that is busy."""
    small = replace(EVERYBODY, quarantine_bytes=900)
    monkeypatch.setattr(import_module("tailer.serve.access"), "EVERYBODY", small)
    with served(log.path) as node:
        result = follow(node.url, "--output", "json", "--server", "db")
    assert (result.code, len(aside(log))) == (3, 1)
    assert "the quarantine of everybody is full (900 bytes)" in result.err
    assert str(B.id) in result.err
