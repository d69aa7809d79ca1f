"""A node that lost an ALTER takes it from the logs of the query's other nodes, in Spark (A21)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailer.errors import DefinitionError
from tailer.options.to_spark import parse_options
from tailer.spark.batch import CdcTailReader
from tailer.spark.executor import read_job
from tailer.spark.source import generic_schema
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import TS, create_table, i32
from tests.helpers.served import served
from tests.spark.engine import Engine, lines_of
from tests.spark.test_images import fitting, makes_images
from tests.unit.definitions.test_peers import ALTERED, N1, N2, TABLE, WITH_W, log, row

OLD = [create_table(TABLE, TS), row(TABLE, 1, {"v": i32(1)}, TS + 10)]
NEW = [row(WITH_W, 3, {"v": i32(3), "w": i32(7)}, TS + 200)]
WANTED = [(1, None), (1, None), (2, 2), (3, 7)]


@pytest.fixture
def n1(tmp_path: Path) -> Path:
    return log(tmp_path / "n1", (N1, ALTERED))


@pytest.fixture
def n2(tmp_path: Path) -> Path:
    return log(tmp_path / "n2", (N1, OLD), (N2, NEW))


def values(lines: list[str]) -> list[tuple[int, int | None]]:
    rows = [json.loads(line) for line in lines]
    found = ((each["partition_key"]["pk"], each.get("columns", {}).get("w")) for each in rows)
    return sorted(found, key=lambda each: (each[0], each[1] or 0))


def batch_read(places: str) -> list[str]:
    reader = CdcTailReader(parse_options({"path": places}), generic_schema())
    return [line for part in reader.partitions() for batch in read_job(part.value) for line in lines_of(batch)]


def test_a_stream_asks_at_the_gap_and_its_batches_stay_what_they_were(n1: Path, n2: Path) -> None:
    assert values(replayed(Engine(f"n1={n1},n2={n2}"))) == WANTED


def replayed(engine: Engine) -> list[str]:
    """All rows; each batch is read, and read again by a later run, before it is committed."""
    rows: list[str] = []
    while True:
        with engine.running(once=True) as planner:
            if not engine.log_next(planner):
                return rows
            start, end = engine.end(len(engine.offsets) - 2), engine.offsets[-1]
            batch = engine.read(planner, start, end)
        with engine.running() as planner:
            assert engine.read(planner, start, end) == batch
        rows += batch
        engine.committed = len(engine.offsets)


def test_a_batch_read_asks_at_the_gap(n1: Path, n2: Path) -> None:
    assert values(batch_read(f"n1={n1},n2={n2}")) == WANTED


def test_nodes_elsewhere_are_asked_too(n1: Path, n2: Path) -> None:
    with served(n1) as one, served(n2) as two:
        places = f"n1={one.url},n2={two.url}"
        assert values(replayed(Engine(places))) == WANTED
        assert values(batch_read(places)) == WANTED


@pytest.mark.parametrize("kind", ["stream", "batch"])
def test_a_table_that_only_the_other_log_shows_is_asked_for(tmp_path: Path, n1: Path, kind: str) -> None:
    """Without a gap."""
    n2 = log(tmp_path / "n2", (N2, NEW))
    places = f"n1={n1},n2={n2}"
    rows = Engine(places).available_now() if kind == "stream" else batch_read(places)
    assert values(rows) == [(1, None), (2, 2), (3, 7)]


def test_a_node_that_could_not_be_asked_at_the_gap_is_asked_where_a_row_cannot_be_read(
    tmp_path: Path, n1: Path, n2: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The query ends at the row, nothing is passed over; the same checkpoint goes on when the node can be asked."""
    hidden = tmp_path / "hidden"
    engine = Engine(f"n1={n1},n2={n2}", {"onNodeLost": "wait"})
    n1.rename(hidden)
    with pytest.raises(DefinitionError, match="column"):
        engine.available_now()
    hidden.rename(n1)
    rows = engine.available_now()
    assert values(rows) == WANTED


@makes_images
def test_images_have_the_column(spark: object, in_session: None, n1: Path, n2: Path) -> None:
    with fitting(spark):  # type: ignore[arg-type]
        result = run_cli(["stream", f"n1={n1},n2={n2}", "--image", "after", "--once", "--output", "json"])
    assert result.code == 0, result.err
    images = [json.loads(line) for line in result.lines]
    assert [each["after"]["w"] for each in images if each["partition_key"] == {"pk": 3}] == [7]


def test_a_batch_stays_what_it_was_where_the_query_follows_another_node_since(n1: Path, n2: Path) -> None:
    """The rows of definitions that a query of several nodes gets besides depend on whether there are several."""
    engine = Engine(f"n1={n1}", {"includeSchemaChanges": "true"})
    with engine.running(once=True) as planner:
        assert engine.log_next(planner)
        start, end = engine.end(-1), engine.offsets[-1]
        batch = engine.read(planner, start, end)
    assert any(json.loads(line)["op"] == "schema" for line in batch)
    engine.folder = f"n1={n1},n2={n2}"
    with engine.running() as planner:
        assert engine.read(planner, start, end) == batch
