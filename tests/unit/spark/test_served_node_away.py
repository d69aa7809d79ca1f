"""A node that is served goes away behind the plan of a batch: nobody waits for it whose rows are in that batch."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.options.to_spark import parse_options
from tailer.spark import node as node_module
from tailer.spark.planner import Planner
from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.served import ServedNode, served
from tests.spark.engine import Json, read_lines, travelled

TABLE = simple_table("ks", "t")
SEGMENT = 1_700_000_000_001
WAIT_SECONDS = 20
"""How long the planner would wait for a node; it waits for nobody where that is not over."""


class Logs:
    """Two nodes' logs: `here` a folder, `there` served. Rows have the node's name in them."""

    def __init__(self, folder: Path) -> None:
        self.folders = {name: LogFolder(folder / name / "cdc_raw") for name in ("here", "there")}
        self._writers: dict[str, SegmentWriter] = {}
        for name in self.folders:
            self._writers[name] = segment_of(SEGMENT, [[create_payload(TABLE)]])
            self.add(name, 0)

    def add(self, name: str, number: int) -> None:
        writer = self._writers[name]
        writer.section([insert_payload(TABLE, number, f"{name}-{number}", number)])
        self.folders[name].put(writer, live(writer))


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path)


@pytest.fixture
def node(logs: Logs) -> Iterator[ServedNode]:
    with served(logs.folders["there"].path) as node:
        yield node


@pytest.fixture
def planner(logs: Logs, node: ServedNode) -> Iterator[Planner]:
    path = f"here={logs.folders['here'].path},there={node.url}"
    options = {"path": path, "waitMillis": "300", "tickSeconds": "0", "nodeWait": f"{WAIT_SECONDS}s"}
    made = Planner(parse_options(options))
    yield made
    made.close()


def next_of(planner: Planner, at: Json, *names: str) -> Json:
    """The end of the next batch, in which each of the nodes has rows."""
    end = at
    until = time.monotonic() + 30
    while any(end["nodes"].get(name) == at["nodes"].get(name) for name in names) and time.monotonic() < until:
        end = travelled(planner.latest(at, None))
    return end


def rows_behind(planner: Planner, at: Json, count: int) -> list[str]:
    """So many rows of the next batches: of which one a node's are depends on who looks first, it or the planner."""
    found: list[str] = []
    until = time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < until, found
        end = travelled(planner.latest(at, None))
        found += rows(planner.partitions(at, end))
        planner.report(end)
        planner.commit(end)
        at = end
    return sorted(found)


def rows(jobs: list[bytes]) -> list[str]:
    return sorted(json.loads(line)["clustering"]["ck"] for job in jobs for line in read_lines(job))


def test_its_rows_are_in_the_batch_and_nobody_waits(logs: Logs, node: ServedNode, planner: Planner) -> None:
    first = travelled(planner.initial())
    end = next_of(planner, first, "here", "there")
    node.stop()
    began = time.monotonic()
    assert rows(planner.partitions(first, end)) == ["here-0", "there-0"]
    assert time.monotonic() - began < WAIT_SECONDS
    planner.report(end)
    planner.commit(end)
    logs.add("here", 1)
    assert rows(planner.partitions(end, next_of(planner, end, "here"))) == ["here-1"]


def test_it_is_what_the_node_gives_when_it_is_asked_again(logs: Logs, node: ServedNode, planner: Planner) -> None:
    """As a batch is read that a killed run planned."""
    first = travelled(planner.initial())
    end = next_of(planner, first, "here", "there")
    carried = [read_lines(job) for job in planner.partitions(first, end)]
    planner.close()
    path = f"here={logs.folders['here'].path},there={node.url}"
    again = Planner(parse_options({"path": path, "waitMillis": "300", "tickSeconds": "0"}))
    try:
        assert [read_lines(job) for job in again.partitions(first, end)] == carried
    finally:
        again.close()


def test_much_log_is_left_to_executors(
    logs: Logs, node: ServedNode, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "SMALL_BYTES", 10)
    first = travelled(planner.initial())
    end = next_of(planner, first, "here", "there")
    assert rows(planner.partitions(first, end)) == ["here-0", "there-0"]
    logs.add("here", 1)
    logs.add("there", 1)
    assert rows_behind(planner, end, 2) == ["here-1", "there-1"]
    node.stop()
