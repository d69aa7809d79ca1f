"""One node of a query with `startingOffsets=snapshot` of a service's own log: it begins with what the writer keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tailer.errors import UsageError
from tailer.options.to_spark import parse_options
from tailer.spark.batch import _plan_jobs
from tailer.spark.executor import JobPacker, read_job
from tailer.spark.node import Node
from tailer.spark.own_start import begun
from tailer.state.offset import NodeOffset
from tests.native.kept_log import Service, Told, ids, told
from tests.native.logs import as_rows
from tests.unit.spark.test_node import all_planned


@pytest.fixture
def service(tmp_path: Path) -> Service:
    made = Service(tmp_path)
    made.write(60)
    made.write_secrets(10)
    made.write(20)
    assert len(made.clean()) > 5
    made.write(10)
    return made


def opened(service: Service) -> Node:
    options = begun(parse_options({"path": str(service.raw), "startingOffsets": "snapshot"}))
    assert not options.snapshots
    return Node("local", service.raw, options.of("local", once=False), None, print)


@pytest.fixture
def node(service: Service) -> Iterator[Node]:
    made = opened(service)
    yield made
    made.close()


def rows(node: Node, begin: NodeOffset, end: NodeOffset, pieces: int = 1) -> list[Told]:
    found: list[Told] = []
    for task in node.tasks(begin, end, pieces):
        job = JobPacker().pack(task, node.place, node.options, node.carried(task))
        found += told(as_rows(read_job(job)))
    return found


def test_a_query_begins_with_every_change_that_is_kept(service: Service, node: Node) -> None:
    first = node.initial()
    end = all_planned(node)
    assert rows(node, first, end) == rows(node, first, end, 4) == service.changes
    before = len(service.changes)
    node.stand(end)
    service.write(20)
    assert node.plan(10**9)[0]
    assert node.handed is not None
    assert rows(node, end, node.handed) == service.changes[before:]


def test_a_batch_is_replayed_behind_a_kill(service: Service, node: Node) -> None:
    first = node.initial()
    end = all_planned(node)
    node.close()
    again = opened(service)
    again.stand(first)
    assert rows(again, first, end) == service.changes
    again.close()


def test_a_batch_read_has_all_that_is_kept(service: Service) -> None:
    options = begun(parse_options({"path": str(service.raw), "startingOffsets": "snapshot"}))
    found: list[Told] = []
    tail = replace(options.of("local", once=True), consumer=None)
    for job in _plan_jobs(service.raw, tail, None, options):
        found += told(as_rows(read_job(job)))
    assert found == service.changes
    assert len(service.own()) > len(ids(service.raw)) + 5


def test_of_a_servers_log_a_server_is_asked(tmp_path: Path) -> None:
    folder = tmp_path / "server" / "cdc_raw"
    folder.mkdir(parents=True)
    options = parse_options({"path": str(folder), "startingOffsets": "snapshot"})
    assert begun(options) is options


def test_a_copy_without_the_writers_own_folder_is_refused(service: Service, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "cdc_raw"
    moved.parent.mkdir()
    service.raw.rename(moved)
    with pytest.raises(UsageError, match="what its writer keeps, and that is not here"):
        begun(parse_options({"path": str(moved), "startingOffsets": "snapshot"}))
