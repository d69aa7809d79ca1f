"""Batches that are read again behind a compaction have the rows that they had, or are refused; none has others.

Two queries over one folder, one far behind, as Spark drives them but without a JVM: segments are written, tables are
altered, batches are planned, committed, forgotten by a kill, while `clean` deletes and forgets all that it may.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError
from tailer.options.tail import TailOptions
from tailer.retention import clean as cleaning
from tailer.retention.needed import Ages
from tailer.spark.executor import JobPacker, read_job
from tailer.spark.node import Node
from tailer.spark.planner import UNLIMITED
from tailer.state.folder_journal import FolderJournal
from tailer.state.log_folder import state_folder
from tailer.state.offset import NodeOffset
from tests.helpers.amount import examples
from tests.helpers.log_writer import (
    TS,
    LogFolder,
    alter_payload,
    completed,
    create_payload,
    insert_payload,
    segment_of,
    simple_table,
)
from tests.helpers.logs.model import Column, Table

FIRST = 1_700_000_000_000
STEPS = 60

Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def forgets_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "FORGOTTEN_AT_LEAST", 1)


class Server:
    """Writes finished segments of one table, which is altered now and then."""

    def __init__(self, path: Path) -> None:
        self.log = LogFolder(path)
        self.table: Table = simple_table("shop", "orders")
        self.segments = 0

    def write(self, *, alter: bool) -> None:
        number, ts = self.segments, TS + self.segments
        payloads = [create_payload(self.table, ts)] if number == 0 else []
        if alter:
            column = Column(f"c{number % 3}", "regular", ("int", "text")[number % 2])
            payloads.append(alter_payload(self.table, column, ts))
        payloads += [insert_payload(self.table, number, "a", each, ts) for each in range(2)]
        writer = segment_of(FIRST + number, [[payload] for payload in payloads])
        self.log.put(writer, completed(writer))
        self.segments += 1


@dataclass
class Query:
    """A query as its checkpoint knows it: batches planned in order, how many of them are committed, and their rows."""

    folder: Path
    name: str
    ends: list[NodeOffset] = field(default_factory=list)
    committed: int = 0
    rows: dict[int, Rows] = field(default_factory=dict)
    node: Node | None = None

    def started(self) -> Node:
        if self.node is None:
            options = TailOptions(consumer=self.name, settle_seconds=0.0)
            self.node = Node("local", self.folder, options, None, lambda line: None)
            if not self.ends:
                self.ends.append(self.node.initial())
            self.node.stand(self.ends[-1])
        return self.node

    def kill(self) -> None:
        if self.node is not None:
            self.node.close()
            self.node = None

    def plan(self, budget: int) -> None:
        node = self.started()
        if node.plan(budget)[0] and node.handed is not None:
            self.ends.append(node.handed)
            node.stand(node.handed)
            number = len(self.ends) - 1
            self.rows[number] = self.read(number)

    def read(self, number: int) -> Rows:
        node = self.started()
        found = node.tasks(self.ends[number - 1], self.ends[number])
        jobs = [JobPacker().pack(task, node.place, node.options, None) for task in found]
        return [row for job in jobs for batch in read_job(job) for row in batch.to_pylist()]

    def commit(self) -> None:
        """All but the last batch: a checkpoint repeats at most that one."""
        self.committed = max(len(self.ends) - 2, 0)
        self.started().move_consumer(self.ends[self.committed])

    def check(self) -> None:
        """Every batch that the checkpoint may ask for again, by a run that has just started."""
        self.kill()
        for number in range(self.committed + 1, len(self.ends)):
            assert self.read(number) == self.rows[number], (self.name, number)


@pytest.fixture
def queries(tmp_path: Path) -> Iterator[tuple[Query, Query]]:
    folder = tmp_path / "cdc_raw"
    pair = Query(folder, "fast"), Query(folder, "slow")
    yield pair
    for query in pair:
        query.kill()


def clean(folder: Path) -> None:
    cleaning.clean(folder, ages=Ages(0.0, 0.0), clock=lambda: time.time() + 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(examples(30)))
def test_no_replay_changes(tmp_path: Path, queries: tuple[Query, Query], seed: int) -> None:
    chance = random.Random(seed)
    server = Server(tmp_path / "cdc_raw")
    server.write(alter=False)
    fast, slow = queries
    for query in queries:
        query.started()
    for _ in range(STEPS):
        match chance.choice(("write", "write", "fast", "fast", "slow", "commit", "commit slow", "kill", "clean")):
            case "write":
                server.write(alter=chance.random() < 0.5)
            case "fast":
                fast.plan(chance.choice((1, UNLIMITED)))
            case "slow":
                slow.plan(chance.choice((1, 200)))
            case "commit":
                fast.commit()
            case "commit slow":
                slow.commit()
            case "kill":
                chance.choice(queries).kill()
            case "clean":
                for query in queries:
                    query.kill()
                clean(server.log.path)
                for query in queries:
                    query.check()
    for _ in range(3):
        server.write(alter=True)
    for query in queries:
        for _ in range(3 * STEPS):
            query.plan(UNLIMITED)
        query.commit()
        query.kill()
    clean(server.log.path)
    for query in queries:
        query.check()
        assert sum(len(rows) for rows in query.rows.values()) == 2 * server.segments
    base = FolderJournal(state_folder(server.log.path), writable=False).base
    assert base.segment == min(query.ends[query.committed].s for query in queries)


def read_ahead(server: Server, query: Query, batches: int) -> None:
    """Six segments, every second one altering a table; the query takes so many batches of them, and ends."""
    for number in range(6):
        server.write(alter=number % 2 == 1)
    for _ in range(batches):
        query.plan(1)
    query.commit()
    query.kill()


def test_a_checkpoint_from_before_is_refused_by_the_floor(tmp_path: Path, queries: tuple[Query, Query]) -> None:
    server = Server(tmp_path / "cdc_raw")
    fast, slow = queries
    read_ahead(server, fast, 12)
    old, older = fast.ends[2], fast.ends[0]
    clean(server.log.path)
    journal = FolderJournal(state_folder(server.log.path), writable=False)
    assert journal.base.segment == fast.ends[-2].s
    for restored in (old, older):
        slow.ends[:] = [restored]
        with pytest.raises(RefusedError, match="older than what the journal still knows"):
            slow.started().tasks(restored, fast.ends[4])
        slow.kill()


def test_who_begins_at_the_earliest_behind_a_compaction_gets_all_that_is_there(
    tmp_path: Path, queries: tuple[Query, Query]
) -> None:
    server = Server(tmp_path / "cdc_raw")
    fast, slow = queries
    read_ahead(server, fast, 5)
    clean(server.log.path)
    there = sorted(int(path.stem.split("-")[2]) for path in server.log.path.glob("*.log"))
    assert 1 < len(there) < 6
    slow.plan(UNLIMITED)
    found = [row for rows in slow.rows.values() for row in rows]
    assert [row["segment"] for row in found] == [segment for segment in there for _ in range(2)]
    assert all(row["table"] == "orders" for row in found)
