"""CMiner: rows in a table with their position, or in rolling files that a second process ships; and where a restart
begins while transactions are open.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tailer.retention.clean import clean
from tailer.retention.needed import Ages
from tests.helpers.cli import run_cli, run_process
from tests.helpers.data_files import indexes, lines_of
from tests.mission.shop import ORDERS, Order, idx_files, numbers, opened, rows, write


def asked(file: Path, question: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(question).fetchall()


def test_rows_go_into_a_table_with_their_position(tmp_path: Path) -> None:
    """And the position of the run stands beside them: a state that was put back brings no row twice."""
    with opened(tmp_path) as log:
        write(log, 1, 2)
    file = tmp_path / "changes.db"
    words = ["follow", tmp_path / "cdc_raw", "--once", "--consumer", "c", "--to", f"sqlite:{file}", "--into", "changes"]
    for _ in range(2):
        ran = run_cli(words)
        assert ran.code == 0, ran.err
        found = asked(file, "SELECT segment, offset, row FROM changes WHERE op = 'insert'")
        assert len(found) == len(set(found)) == 2
        assert found == sorted(found)
        assert len(asked(file, "SELECT * FROM cdc_tail_positions")) == 1
        (tmp_path / "cdc_raw.cdc_tail" / "consumers" / "c.json").unlink()


def test_rows_go_into_rolling_files_that_a_second_process_ships(tmp_path: Path) -> None:
    """A data file and an index file each; the shipper keeps its own place, in a process of its own."""
    out, lake = tmp_path / "out", tmp_path / "lake"
    with opened(tmp_path) as log:
        write(log, *range(40), size=100)
    follow = ["follow", tmp_path / "cdc_raw", "--once", "--consumer", "c", "--to", f"files:{out}", "--roll-bytes", "4k"]
    ran = run_cli(follow)
    assert ran.code == 0, ran.err
    told = indexes(out / "local")
    assert len(told) > 1
    assert all((out / "local" / each["data"]).exists() for each in told)
    for _ in range(2):
        shipped = run_process(["ship", out, "--once", "--to", f"files:{lake}", "--consumer", "lake"])
        assert shipped.code == 0, shipped.err
        there = [row["partition_key"]["number"] for row in lines_of(lake / "local") if row["op"] == "insert"]
        assert there == list(range(40))


def test_a_restart_begins_at_the_oldest_open_transaction(tmp_path: Path) -> None:
    """A consumer that has read on holds what is still open, so that the commit's rows are there when it comes."""
    folder = tmp_path / "cdc_raw"
    with opened(tmp_path, threads=False) as log:
        transaction = log.begin()
        transaction.append(ORDERS.insert(Order(100)))
        oldest = log.stats().segment
        write(log, *range(8), size=3000)
        assert log.stats().segment > oldest
        assert numbers(rows(folder, "--consumer", "c")) == list(range(8))
        kept = json.loads((tmp_path / "cdc_raw.cdc_tail" / "consumers" / "c.json").read_text())["nodes"]["local"]
        assert kept["offset"]["s"] > oldest
        assert kept["restart"][0] == oldest
        clean(folder, ages=Ages(0.0, 0.0))
        assert oldest in idx_files(tmp_path)
        transaction.commit()
        log.sync()
        assert numbers(rows(folder, "--consumer", "c")) == [100]
        gone = clean(folder, ages=Ages(0.0, 0.0)).logs
        assert oldest in {held.segment for held in gone}
