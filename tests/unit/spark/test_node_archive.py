"""One node of a query with the option `archive`: executors get the bytes of what is archived from the driver."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tailer.errors import LossError
from tailer.options.to_spark import parse_options
from tailer.retention import clean as cleaning
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.needed import Ages
from tailer.spark.batch import _plan_jobs
from tailer.spark.executor import read_job
from tailer.spark.node import Node
from tailer.state.folder_journal import FolderJournal
from tailer.state.log_folder import state_folder
from tailer.stores.folder_store import FolderStore
from tests.helpers.cli import run_cli
from tests.helpers.logs.folder import LogFolder
from tests.unit.spark.test_node import Start, all_planned, log, said, segment, start, values

__all__ = ["log", "said", "start"]


@pytest.fixture
def where(log: LogFolder, tmp_path: Path) -> str:
    """7 and 8 are in the archive alone, 9 and 10 in the folder."""
    for number in (7, 8, 9):
        segment(log, number, f"a{number}", f"b{number}")
    run_cli(["follow", log.path, "--once", "--consumer", "c", "--output", "json"])
    run_cli(["consumers", log.path, "drop", "c"])
    store = FolderStore(tmp_path / "archive")
    options = CleanOptions(no_consumers=True, archive=store)
    assert len(clean(log.path, options, ages=Ages(0.0, 0.0)).logs) == 2
    segment(log, 10, "a10", "b10")
    return store.where


ALL = [f"{letter}{number}" for number in (7, 8, 9, 10) for letter in "ab"]


def test_a_batch_over_the_edge_has_every_row_however_it_is_cut(start: Start, where: str) -> None:
    node = start(archive=where)
    first = node.initial()
    end = all_planned(node)
    assert values(node, first, end) == values(node, first, end, 5) == ALL
    assert node.carried(node.tasks(first, end)[0]) is not None


def test_a_batch_is_replayed_though_its_segments_were_archived_since(
    log: LogFolder, start: Start, tmp_path: Path, where: str
) -> None:
    node = start(archive=where)
    first = node.initial()
    end = all_planned(node)
    node.close()
    folder = log.path
    again = start(archive=where)
    assert again.initial() == first
    assert values(again, first, end) == ALL
    again.move_consumer(end)
    again.close()
    # Somebody restores the checkpoint of before, when what it needs is archived.
    run_cli(["consumers", folder, "drop", "spark"])
    options = CleanOptions(no_consumers=True, archive=FolderStore(Path(where)))
    assert len(clean(folder, options, ages=Ages(0.0, 0.0)).logs) == 1
    assert [each.name for each in folder.glob("*.log")] == ["CommitLog-7-10.log"]
    late = start(archive=where)
    late.stand(first)
    assert values(late, first, end) == ALL


def test_a_run_that_ends_with_what_is_there_meets_what_is_damaged(start: Start, where: str) -> None:
    (path,) = Path(where).rglob("*-8.log")
    path.write_bytes(path.read_bytes()[:-3])
    node = start(archive=where)
    first = node.initial()
    assert node.freeze()
    end = all_planned(node)
    assert values(node, first, end) == ["a7", "b7"]
    node.stand(end)
    with pytest.raises(LossError, match="the archive's segment 8 is damaged"):
        plan_on(node)


def plan_on(node: Node) -> None:
    """As the source does while it waits for what may come."""
    for _ in range(3):
        node.plan(1 << 20)


def test_an_archive_alone_starts_a_query(log: LogFolder, start: Start, where: str) -> None:
    shutil.rmtree(log.path)
    identity = next(each.name for each in Path(where).iterdir())
    log.path.mkdir()
    shutil.rmtree(state_folder(log.path))
    node = start(archive=f"{where}/{identity}")
    first = node.initial()
    assert values(node, first, all_planned(node)) == ALL[:4]


def test_a_batch_read_takes_it_too(log: LogFolder, where: str) -> None:
    """The partitions of Spark's batch reader, read as executors do."""
    source = parse_options({"path": str(log.path), "archive": where})
    options = replace(source.of("local", once=True), consumer=None)
    jobs = _plan_jobs(log.path, options, None, source)
    texts = [row["columns"] for job in jobs for batch in read_job(job) for row in batch.to_pylist()]
    assert [json.loads(text)["v"] for text in texts] == ALL


def test_a_journal_that_forgot_what_is_archived_knows_it_again(
    log: LogFolder, start: Start, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "FORGOTTEN_AT_LEAST", 1)
    options = CleanOptions(no_consumers=True, archive=FolderStore(Path(where)))
    assert len(clean(log.path, options, ages=Ages(0.0, 0.0)).logs) == 1
    state = state_folder(log.path)
    assert FolderJournal(state, writable=False).base.segment == 10
    node = start(archive=where)
    first = node.initial()
    end = all_planned(node)
    again = start(archive=where)
    assert again.initial() == first
    assert values(again, first, end) == ALL, "replayed by the records that the offset names"
