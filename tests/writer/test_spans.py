"""A backlog of transactions read from every section edge to every other, and in steps of every size: the same rows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.options.tail import TailOptions
from tailer.position import Position
from tests.helpers.tails import open_tail
from tests.writer.crash.crashes import Recorder, raw_files
from tests.writer.crash.log import LOG_NAME, parse_segment
from tests.writer.crash.reader import Delivered, read_folder
from tests.writer.crash.session import FOLDER, RAW
from tests.writer.crash.workloads import random_script, transactions
from tests.writer.tailing import tailed


class Backlog:
    """A closed log in a folder, its rows by the model's reader, and the section edges of its segments."""

    def __init__(self, folder: Path, seed: int | None) -> None:
        run = Recorder()
        (transactions if seed is None else random_script(seed, steps=60, tidy=False))(run)
        run.close()
        run.files.disk.write_out(FOLDER, folder)
        files = raw_files(run.files.disk)
        self.folder = folder / RAW.name
        self.rows = read_folder(files).rows
        self.edges = [
            Position(segment, offset)
            for name in sorted(files)
            if (found := LOG_NAME.fullmatch(name)) and (parsed := parse_segment(files[name], segment := int(found[1])))
            for offset in parsed.edges()
        ]

    def between(self, start: Position, end: Position) -> list[Delivered]:
        return [row for row in self.rows if start <= row.at < end]


@pytest.fixture(scope="module", params=[None, 1, 2, 3])
def backlog(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Backlog:
    return Backlog(tmp_path_factory.mktemp("backlog"), request.param)


def in_steps(folder: Path, budget: int) -> Iterator[list[Delivered]]:
    """The rows of each step of so many bytes."""
    with open_tail(folder, TailOptions(settle_seconds=0.0), writes=False) as tail:
        tail.open()
        while (step := tail.step(budget)).tasks or step.moved:
            assert step.error is None
            rows = [row for task in step.tasks for batch in tail.read(task) for row in batch.to_arrow().to_pylist()]
            yield [
                Delivered(
                    Position(row["segment"], row["offset"]),
                    row["row"],
                    row["table"],
                    json.loads(row["partition_key"])["id"],
                )
                for row in rows
            ]
            tail.advance(step)


def test_the_tailer_reads_what_the_model_reads(backlog: Backlog) -> None:
    assert backlog.rows
    assert tailed(backlog.folder) == backlog.rows


def test_in_steps_of_every_size(backlog: Backlog) -> None:
    counts = set()
    for budget in (1, 50, 200, 500, 1000, 2000, 3000, 5000, 10**9):
        steps = list(in_steps(backlog.folder, budget))
        assert [row for rows in steps for row in rows] == backlog.rows, budget
        counts.add(len(steps))
    assert len(counts) > 3


def test_from_every_edge_to_every_other(backlog: Backlog) -> None:
    edges = backlog.edges if len(backlog.edges) < 25 else backlog.edges[:: len(backlog.edges) // 25 + 1]
    for start in edges:
        assert tailed(backlog.folder, start=str(start)) == [row for row in backlog.rows if row.at >= start]
    for start, end in list(itertools.combinations(edges, 2))[::3]:
        assert tailed(backlog.folder, start=str(start), end=str(end)) == backlog.between(start, end), (start, end)
