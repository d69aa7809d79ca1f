"""Rows that a database refuses, one among many: named, or put aside while the others go on."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from tailer.state.log_folder import state_folder
from tests.conftest import FreshFolder
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of
from tests.unit.sinks.database.followed import ONE, TABLE, follow, log, values
from tests.unit.sinks.database.targets import Duckdb, Postgresql, Sqlite, Target

REFUSING = {
    "sqlite": "CREATE TABLE changes (event_id TEXT PRIMARY KEY, columns TEXT CHECK (columns NOT IN ({})))",
    "duckdb": "CREATE TABLE changes (event_id VARCHAR PRIMARY KEY, columns JSON CHECK (columns::VARCHAR NOT IN ({})))",
    "postgresql": "CREATE TABLE changes (event_id text PRIMARY KEY, columns json CHECK (columns::text NOT IN ({})))",
}
WRONG = (1, 7, 8, 20)


def refusing(target: Target) -> None:
    """A table that takes all rows of a log but these."""
    texts = ", ".join(f"'{json.dumps({'v': value}, separators=(',', ':'))}'" for value in WRONG)
    target.run(REFUSING[target.kind].format(texts))


def test_it_is_named(target: Target, tmp_path: Path) -> None:
    refusing(target)
    ran = follow(log(tmp_path), target)
    assert ran.code == 7
    assert "refuses the row n1:1700000000000:" in ran.err
    assert target.ask("SELECT count(*) FROM changes") == [(0,)]


def test_it_is_put_aside(target: Target, tmp_path: Path) -> None:
    refusing(target)
    folder = log(tmp_path)
    for _ in range(2):
        ran = follow(folder, target, "--on-error", "quarantine")
        assert ran.code == 0, ran.err
        assert values(target) == [value for value in range(1, 21) if value not in WRONG]
    kept = (state_folder(folder) / "quarantine" / "c.jsonl").read_text().splitlines()
    assert len(kept) == len(WRONG)


def test_a_row_that_is_too_large(postgresql: Postgresql, tmp_path: Path) -> None:
    """PostgreSQL has no bound on rows as these, but on what an index takes, which a table may have: it is named, or put
    aside."""
    postgresql.run(
        "CREATE TABLE changes (event_id text PRIMARY KEY, clustering text, columns json)",
        "CREATE INDEX ON changes (clustering)",
    )
    folder, large = LogFolder(tmp_path / "cdc_raw"), Random(1).randbytes(8000).hex()
    rows = [insert_payload(TABLE, v, large if v == 2 else "a", v) for v in (1, 2, 3)]
    made = segment_of(ONE, [[create_payload(TABLE)], rows])
    folder.put(made, completed(made))
    ran = follow(folder.path, postgresql)
    assert ran.code == 7
    assert f"refuses the row n1:{ONE}:" in ran.err
    assert "maximum size" in ran.err
    assert follow(folder.path, postgresql, "--on-error", "quarantine").code == 0
    assert postgresql.ask("SELECT columns->>'v' FROM changes ORDER BY 1") == [("1",), ("3",)]


def test_a_nul_in_a_text(postgresql: Postgresql, fresh_folder: FreshFolder) -> None:
    """PostgreSQL has no such texts; the generic form has them as JSON, which it takes."""
    folder = fresh_folder("50-cases")
    ran = follow(folder, postgresql, "--typed", "cdc.pk_text")
    assert ran.code == 7
    assert "0x00" in ran.err
    assert follow(folder, postgresql, "--table", "cdc.pk_text", into="generic", consumer="d").code == 0
    assert postgresql.ask("SELECT count(*) FROM generic WHERE partition_key::text LIKE '%u0000%'") == [(1,)]


@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_a_date_that_is_none_there(
    kind: str, request: pytest.FixtureRequest, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    """The first and last days of CQL: DuckDB would take one of them for infinity."""
    target: Target = (
        request.getfixturevalue("postgresql") if kind == "postgresql" else Duckdb(request.getfixturevalue("tmp_path"))
    )
    folder = fresh_folder("50-cases")
    ran = follow(folder, target, "--typed", "cdc.pk_date", "--on-error", "quarantine")
    assert ran.code == 0, ran.err
    days = target.ask(
        "SELECT k - DATE '1970-01-01' FROM changes WHERE k BETWEEN '1900-01-01' AND '2100-01-01' ORDER BY k"
    )
    assert days == [(-1,), (19782,)]
    assert target.ask("SELECT count(*) FROM changes WHERE isfinite(k)") == target.ask("SELECT count(*) FROM changes")


def test_what_is_no_number_stays_itself(tmp_path: Path, fresh_folder: FreshFolder) -> None:
    """SQLite has no NaN, and would write NULL."""
    target = Sqlite(tmp_path)
    ran = follow(
        fresh_folder("50-cases"), target, "--typed", "cdc.scalars", "--decimals", "string", "--on-error", "quarantine"
    )
    assert ran.code == 0, ran.err
    assert target.ask("SELECT c_double, c_float FROM changes WHERE id = 3") == [("NaN", -0.0)]
    assert target.ask("SELECT c_float FROM changes WHERE id = 2") == [(float("inf"),)]
