"""Entries of a table that no definition names, in Spark: the planner asks the server and decides before an offset
leaves; executors do neither."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tailer.errors import DefinitionError
from tests.helpers.asked_server import AskedServer
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, live, segment_of
from tests.spark.engine import Engine, planned_anew
from tests.unit.tail.test_unknown_tables import BEHIND, BOTH, CQL, FIRST, PLAIN, A, B, aside, log_of, replayed

if TYPE_CHECKING:
    pass

ROWS = [insert_payload(A, 1, "a", 10), *(insert_payload(B, n, "b", n) for n in (2, 3))]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> AskedServer:
    found = AskedServer(monkeypatch)
    found.knows(A, PLAIN)
    return found


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return log_of(tmp_path, *ROWS)


def keys(lines: list[str]) -> list[int]:
    return [json.loads(line)["partition_key"]["pk"] for line in lines]


@pytest.mark.parametrize("tables", ["", "ks.*", "ks.a,ks.b"])
def test_the_planner_asks_and_every_row_comes(log: LogFolder, server: AskedServer, tables: str) -> None:
    server.knows_next(A, PLAIN, B)
    more = {"tables": tables, "tablesMayCome": "true"} if tables else {}
    engine = Engine(log.path, {"server": "db", **more})
    rows = engine.available_now()
    assert keys(rows) == [1, 2, 3, 9]
    requests = server.requests
    assert [line for n in range(len(engine.offsets)) for line in planned(engine, log, n)] == rows
    assert server.requests == requests, "the definition is in the journal, before the offset that needs it"


def planned(engine: Engine, log: LogFolder, number: int) -> list[str]:
    return planned_anew(log.path, engine.end(number - 1), engine.end(number))


def test_what_the_server_does_not_know_goes_aside_and_stays_aside(log: LogFolder, server: AskedServer) -> None:
    engine = Engine(log.path, {"server": "db", "tables": "ks.*"})
    with engine.running() as planner:
        assert engine.log_next(planner)
        rows = engine.read(planner, engine.end(-1), engine.end(0))
    assert keys(rows) == [1, 9]
    assert len(aside(log, "spark")) == 2
    # The batch was not committed. The server knows the table by now: the batch is what it was all the same.
    server.knows(A, PLAIN, B)
    with engine.running() as planner:
        assert engine.read(planner, engine.end(-1), engine.end(0)) == rows
    assert planned(engine, log, 0) == rows
    writer = segment_of(FIRST + 1, [[insert_payload(B, 4, "b", 4)]])
    log.put(writer, completed(writer))
    engine.committed = 1
    assert keys(engine.available_now()) == [4]


def test_its_id_can_be_put_aside(log: LogFolder) -> None:
    engine = Engine(log.path, {"tables": "ks.*", "quarantineTables": str(B.id)})
    assert keys(engine.available_now()) == [1, 9]
    assert len(aside(log, "spark")) == 2


def test_an_unknown_table_behind_a_known_one_is_found_by_the_planner(tmp_path: Path, server: AskedServer) -> None:
    log = log_of(tmp_path, BOTH, BEHIND)
    server.knows_next(A, PLAIN, B)
    assert keys(Engine(log.path, {"server": "db"}).available_now()) == [7, 8, 6, 9]
    server.knows(A, PLAIN)
    other = Engine(log.path, {"consumer": "other", "tables": "ks.*", "quarantineTables": str(B.id), "stateDir": str(
        tmp_path / "own")})  # fmt: skip
    assert keys(other.available_now()) == [9]


@pytest.mark.parametrize("mended", ["server", "schemaFile", "quarantineTables"])
def test_a_query_that_stopped_is_mended_by_each_remedy(
    log: LogFolder, server: AskedServer, tmp_path: Path, mended: str
) -> None:
    engine = Engine(log.path, {"tables": "ks.*"})
    with pytest.raises(DefinitionError, match=f"quarantine-table {B.id}"):
        engine.available_now()
    (tmp_path / "b.cql").write_text(CQL)
    server.knows(A, PLAIN, B)
    value = {"server": "db", "schemaFile": str(tmp_path / "b.cql"), "quarantineTables": str(B.id)}[mended]
    rows = engine.available_now(**{mended: value})
    assert keys(rows) == ([1, 9] if mended == "quarantineTables" else [1, 2, 3, 9])
    assert planned(engine, log, 0) == rows


def test_row_images_elsewhere_are_not_robbed_of_known_rows(tmp_path: Path, server: AskedServer) -> None:
    """Who makes images of the rows cannot be told that a known table's row is missing: the query ends instead."""
    log = log_of(tmp_path, BOTH)
    engine = Engine(log.path, {"server": "db", "includeSchemaChanges": "true"})
    with pytest.raises(DefinitionError, match=str(B.id)):
        engine.available_now()
    assert aside(log, "spark") == []


def test_a_table_that_is_met_later_is_asked_for_in_the_same_run(tmp_path: Path, server: AskedServer) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    first = segment_of(FIRST, [[create_payload(A)], [insert_payload(A, 1, "a", 1)]])
    folder.put(first, completed(first))
    engine = Engine(folder.path, {"server": "db"})
    with engine.running() as planner:
        assert keys([line for batch in engine.batches(planner) for line in batch]) == [1]
        server.knows(A, PLAIN, B)
        second = segment_of(FIRST + 1, [[insert_payload(B, 2, "b", 2)]])
        folder.put(second, live(second))
        assert keys([line for batch in engine.batches(planner) for line in batch]) == [2]


def test_a_replay_gives_what_went_aside(log: LogFolder, server: AskedServer, tmp_path: Path) -> None:
    Engine(log.path, {"server": "db", "consumer": "c"}).available_now()
    (tmp_path / "b.cql").write_text(CQL)
    assert keys(replayed(log, "--schema", str(tmp_path / "b.cql")).lines) == [2, 3]
