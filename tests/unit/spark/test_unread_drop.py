"""A DROP that no log shows any more, for keepers of tables and the current state: the CREATE behind it tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tailer.options.to_spark import parse_options
from tailer.rebuild import Table
from tailer.spark.batch import CdcTailReader
from tailer.spark.executor import read_job
from tailer.spark.known_table import find_table
from tailer.spark.newest import with_schema_rows
from tailer.spark.source import generic_schema
from tests.helpers.log_writer import create_payload
from tests.helpers.spark_rows import Query
from tests.unit.tail.images.test_created_again import (
    FIRST_LIFE,
    PLAIN,
    TS,
    Log,
    insert,
    rows_of_schema,
    server_of,
)

Change = dict[str, Any]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A table, a segment that vanished with its DROP, and the CREATE with the same id."""
    made = Log(tmp_path)
    made.put(0, *FIRST_LIFE[:2])
    made.put(2, create_payload(PLAIN, TS + 20), insert(2, TS + 2, v=2), open=True)
    return made


def earlier(table: Table, rows: Sequence[Change]) -> dict[str, bool]:
    """By key whether a row is of the earlier table."""
    own = [row for row in rows if row["op"] == "insert"]
    return {
        row["partition_key"]: table.is_former(row["node"], (row["segment"], row["offset"]), row["write_ts"])
        for row in own
    }


SPLIT = {'{"pk":1}': True, '{"pk":2}': False}


def test_a_keeper_learns_it_from_rows(log: Log) -> None:
    rows = Query({"n1": log.path}).rows()
    first = Table.of(find_table(f"n1={log.path}", "ks.t", {}).table.definition)
    kept = with_schema_rows(first, rows, ())
    assert not kept.definition.dropped
    assert earlier(kept, rows) == SPLIT
    assert with_schema_rows(kept, rows, ()) == kept, "rows that come again change nothing"


def test_so_does_who_asks_for_the_table(log: Log) -> None:
    rows = Query({"n1": log.path}).rows()
    asked = find_table(f"n1={log.path}", "ks.t", {}).table
    assert earlier(asked, rows) == SPLIT
    kept = with_schema_rows(Table.of(asked.definition), rows, ())
    assert asked.ended == kept.ended, "or a keeper would take the one for another table than the other"


def test_a_batch_has_the_row_too(log: Log) -> None:
    options = parse_options({"path": f"n1={log.path}", "includeSchemaChanges": "true"})
    jobs = [partition.value for partition in CdcTailReader(options, generic_schema()).partitions()]
    rows = [row for job in jobs for batch in read_job(bytes(job)) for row in batch.to_pylist()]
    drops = [row for row in rows if row["op"] == "schema" and row["columns"] is None]
    assert [(row["write_ts"], row["event_id"][:9]) for row in drops] == [(TS + 19, "found:n1:")]
    assert not [row for row in plain_rows(log) if row["op"] == "schema"], "unless nobody asks for definitions"


def plain_rows(log: Log) -> list[Change]:
    options = parse_options({"path": f"n1={log.path}"})
    jobs = [partition.value for partition in CdcTailReader(options, generic_schema()).partitions()]
    return [row for job in jobs for batch in read_job(bytes(job)) for row in batch.to_pylist()]


def test_where_a_server_alone_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server_of(monkeypatch, rows_of_schema(PLAIN, TS))
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE[:2], open=True)
    query = Query({"n1": log.path})
    rows = query.rows(server="127.0.0.1:1")
    log.put(0, *FIRST_LIFE[:2])
    log.put(2, insert(2, TS + 21, v=2), open=True)
    server_of(monkeypatch, rows_of_schema(PLAIN, TS + 20))
    more = query.rows(server="127.0.0.1:1")
    asked = find_table(f"n1={log.path}", "ks.t", {}).table
    kept = with_schema_rows(with_schema_rows(Table.of(asked.definition), rows, ()), more, ())
    assert earlier(asked, [*rows, *more]) == earlier(kept, [*rows, *more]) == SPLIT
    assert asked.ended == kept.ended


def test_each_row_has_an_id_of_its_own(log: Log) -> None:
    ids = [row["event_id"] for row in Query({"n1": log.path}).rows()]
    assert len(ids) == len({*ids})
