"""What a target is refused for before a row goes there, and how a table that is there is made to fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    TS,
    Column,
    LogFolder,
    add_column,
    completed,
    create_payload,
    encode_mutation,
    insert_payload,
    segment_of,
)
from tests.unit.sinks.database.followed import ONE, TABLE, follow, log, values
from tests.unit.sinks.database.targets import Target

OTHER_SHAPE = {
    "event_id INTEGER PRIMARY KEY": "event_id",
    "event_id TEXT PRIMARY KEY, segment TEXT": "segment",
    "event_id TEXT": "event_id",
    "op TEXT": "event_id",
    "event_id TEXT PRIMARY KEY, mine TEXT NOT NULL": "mine",
}


def test_once_and_not_again(target: Target, tmp_path: Path) -> None:
    folder = log(tmp_path)
    for _ in range(2):
        assert follow(folder, target).code == 0
        assert values(target) == list(range(1, 21))


@pytest.mark.parametrize("columns", OTHER_SHAPE)
def test_a_table_of_another_shape(columns: str, target: Target, tmp_path: Path) -> None:
    """Exit 7, with statements after which it goes."""
    target.run(f"CREATE TABLE changes ({columns})")
    folder = log(tmp_path)
    ran = follow(folder, target)
    assert ran.code == 7
    assert OTHER_SHAPE[columns] in ran.err
    target.run(*ran.err.partition("Run: ")[2].partition("; or choose")[0].split("; "))
    again = follow(folder, target)
    assert again.code == 0, again.err
    assert values(target) == list(range(1, 21))


def test_a_table_that_holds_more(target: Target, tmp_path: Path) -> None:
    """Columns of others' and wider types stay as they are."""
    target.run("CREATE TABLE changes (event_id TEXT PRIMARY KEY, mine TEXT, ttl BIGINT)")
    assert follow(log(tmp_path), target).code == 0
    assert target.ask("SELECT count(*), count(mine) FROM changes") == [(20, 0)]


def test_columns_that_are_added_to_the_source_are_added_to_the_table(target: Target, tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    first = segment_of(ONE, [[create_payload(TABLE)], [insert_payload(TABLE, 1, "a", 1)]])
    folder.put(first, completed(first))
    assert follow(folder.path, target, "--typed", "ks.t").code == 0
    added = Column("w", "regular", "int")
    change = encode_mutation(add_column(TABLE, added, TS + 1))
    second = segment_of(ONE + 1, [[change], [insert_payload(TABLE, 2, "a", 2)]])
    folder.put(second, completed(second))
    ran = follow(folder.path, target, "--typed", "ks.t")
    assert ran.code == 0, ran.err
    assert "column w is new" in ran.err
    assert target.ask("SELECT pk, v, w FROM changes ORDER BY pk") == [(1, 1, None), (2, 2, None)]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--mode", "table"], "whole rows"),
        (["--into", "a b"], "TABLE"),
        (["--into", "cdc_tail_positions"], "positions"),
    ],
)
def test_wrong_usage(more: list[str], told: str, target: Target, tmp_path: Path) -> None:
    ran = follow(log(tmp_path), target, *more)
    assert ran.code == 2
    assert told in ran.err
    assert not target.there("changes")


def test_a_table_is_named(target: Target, tmp_path: Path) -> None:
    ran = run_cli(["follow", str(log(tmp_path)), "--once", "--consumer", "c", "--node", "n", "--to", target.to])
    assert ran.code == 2
    assert "--into" in ran.err


def test_a_consumer_feeds_one_table(target: Target, tmp_path: Path) -> None:
    folder = log(tmp_path)
    assert follow(folder, target).code == 0
    ran = follow(folder, target, into="others")
    assert ran.code == 6
    assert "changes" in ran.err
    assert not target.there("others")


def test_a_table_that_is_gone(target: Target, tmp_path: Path) -> None:
    folder = log(tmp_path)
    assert follow(folder, target).code == 0
    target.run("DROP TABLE changes")
    ran = follow(folder, target)
    assert ran.code == 6
    assert "gone" in ran.err
    assert not target.there("changes")


def test_sought_back_it_comes_once(target: Target, tmp_path: Path) -> None:
    """The rows come again, and are there: by their key."""
    folder = log(tmp_path)
    assert follow(folder, target).code == 0
    assert run_cli(["consumers", str(folder), "seek", "c", "earliest"]).code == 0
    assert follow(folder, target).code == 0
    assert values(target) == list(range(1, 21))


def test_somebody_else_moved_the_position(target: Target, tmp_path: Path) -> None:
    """What it was moved to is this log's: reading goes on from there, as behind a restored backup."""
    folder = log(tmp_path)
    assert follow(folder, target).code == 0
    (kept,) = target.ask("SELECT position FROM cdc_tail_positions")[0]
    moved = json.dumps({**json.loads(kept), "s": ONE + 2, "o": 0, "done": False}, separators=(",", ":"))
    target.run(
        f"UPDATE cdc_tail_positions SET position = '{moved}'", f'DELETE FROM changes WHERE "segment" >= {ONE + 2}'
    )
    assert follow(folder, target).code == 0
    assert values(target) == list(range(1, 21))
