"""A table that another consumer keeps stops alone, and what the sentences of refused tables advise leads on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, SinkError
from tailer.sinks.outlet import OutletKey
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.unit.sinks.database.followed import ONE, follow, log, values, words
from tests.unit.sinks.database.targets import Target
from tests.unit.sinks.database.test_kept_table import OTHER, PLAIN, Kept, definition

PATTERN = "{keyspace}_{table}"
SECOND = OutletKey("other", "images", "d")
U: dict[str, Any] = {"id": OTHER, "table": "u"}


@pytest.fixture
def kept(target: Target) -> Kept:
    """Consumer c keeps ks.t and consumer d keeps ks.u, by one pattern. One commit a call."""
    kept = Kept(target, each=False, into=PATTERN)
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER, table="u")
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    kept.number = 0
    kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "a"), **U), key=SECOND)
    with pytest.raises(SinkError, match=r"images of ks\.t wait in cdc_tail_waiting") as raised:
        kept.give(
            kept.image("insert", {"v": 3, "w": None}, (3, "a")),
            kept.image("insert", {"v": 9, "w": None}, (9, "a"), **U),
            key=SECOND,
        )
    for told in ("is kept by another consumer", "--exclude ks.t", "--table"):
        assert told in str(raised.value)
    return kept


def test_the_other_tables_go_on(kept: Kept) -> None:
    """In the same commit, in later ones, and when the run begins again; the table has the other consumer's rows."""
    assert sorted(kept.target.ask("SELECT pk, v FROM ks_u")) == [(1, 2), (9, 9)]
    with pytest.raises(SinkError, match="is kept by another consumer"):
        kept.give(key=SECOND)
    with pytest.raises(SinkError, match="is kept by another consumer"):
        kept.give(kept.image("delete", None, (1, "a"), **U), kept.image("delete", None, (3, "a")), key=SECOND)
    assert kept.target.ask("SELECT pk, v FROM ks_u") == [(9, 9)]
    assert kept.target.ask("SELECT pk, v FROM ks_t") == [(1, 1)]
    assert kept.target.ask("SELECT count(*), min(source) FROM cdc_tail_waiting") == [(2, "ks.t")]


def test_the_table_is_left_out_as_the_error_says(kept: Kept) -> None:
    kept.target.run("DELETE FROM cdc_tail_waiting WHERE source = 'ks.t'")
    kept.give(kept.image("insert", {"v": 7, "w": None}, (7, "a"), **U), key=SECOND)
    assert sorted(kept.target.ask("SELECT pk, v FROM ks_u")) == [(1, 2), (7, 7), (9, 9)]
    kept.number = 1
    kept.give(kept.image("insert", {"v": 4, "w": None}, (4, "a")))
    assert sorted(kept.target.ask("SELECT pk, v FROM ks_t")) == [(1, 1), (4, 4)]


def test_the_other_consumer_is_ended_as_the_error_says(kept: Kept) -> None:
    """Its table is dropped and its row deleted: the images that waited are written."""
    kept.target.run("DROP TABLE ks_t", "DELETE FROM cdc_tail_positions WHERE consumer = 'c'")
    kept.give(key=SECOND)
    assert kept.target.ask("SELECT pk, v FROM ks_t") == [(3, 3)]
    assert kept.target.ask("SELECT count(*) FROM cdc_tail_waiting") == [(0,)]


def test_another_pattern_and_consumer_as_the_error_says(kept: Kept) -> None:
    kept.into, kept.number = "other_{table}", 0
    kept.give(kept.image("insert", {"v": 5, "w": None}, (5, "a")), key=SECOND._replace(consumer="e"))
    assert kept.target.ask("SELECT pk, v FROM other_t") == [(5, 5)]


def test_one_table_of_another_pattern_stops_alone(target: Target) -> None:
    """Both patterns mean `ks_t`."""
    kept = Kept(target, each=False, into=PATTERN)
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER, table="u")
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    kept.into, kept.number = "ks_{table}", 0
    with pytest.raises(SinkError, match=r"kept by another run, under --into \{keyspace\}_\{table\}.*--exclude ks\.t"):
        kept.give(
            kept.image("insert", {"v": 3, "w": None}, (3, "a")),
            kept.image("insert", {"v": 9, "w": None}, (9, "a"), **U),
            key=SECOND,
        )
    assert target.ask("SELECT pk, v FROM ks_t") == [(1, 1)]
    assert target.ask("SELECT pk, v FROM ks_u") == [(9, 9)]


def test_one_name_without_a_pattern_is_refused(target: Target) -> None:
    """There is no other table that could go on: exit 6 at once, and nothing waits."""
    kept = Kept(target)
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    kept.number = 0
    with pytest.raises(RefusedError, match="Choose another --into and another --consumer"):
        kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "a")), key=SECOND)
    assert not target.there("cdc_tail_waiting")
    kept.into = "mine"
    kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "a")), key=SECOND._replace(consumer="e"))
    assert target.ask("SELECT v FROM mine") == [(2,)]


def test_as_a_user_does_it(target: Target, tmp_path: Path) -> None:
    """Exit 7 with the sentence; then `--exclude`, and the statement of docs/migrations.md: exit 0."""
    tables = [simple_table("ks", "t"), simple_table("ks", "u", 2)]
    made = segment_of(
        ONE, [[create_payload(table)] for table in tables] + [[insert_payload(table, 1, "a", 1)] for table in tables]
    )
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(made, completed(made))
    more = ("--mode", "table", "--image", "after")
    first = words(folder.path, target, *more, "--table", "ks.t", into=PATTERN)
    ran = run_cli(first)
    assert (ran.code, ran.err) == (0, "")
    second = words(folder.path, target, *more, into=PATTERN, consumer="d")
    # Another consumer of the same state, so the same images.
    ran = run_cli(second)
    assert (ran.code, "is kept by another consumer" in ran.err, "--exclude ks.t" in ran.err) == (7, True, True), ran.err
    assert target.ask("SELECT pk, ck, v FROM ks_u") == [(1, "a", 1)]
    target.run("DELETE FROM cdc_tail_waiting WHERE source = 'ks.t'")
    ran = run_cli([*second, "--exclude", "ks.t"])
    assert (ran.code, ran.err) == (0, "")
    assert run_cli(first).code == 0
    assert target.ask("SELECT pk, ck, v FROM ks_t") == [(1, "a", 1)]


ADVICE = "another --into and another --consumer"


@pytest.mark.parametrize("before", [True, False], ids=["has a position", "first run"])
def test_change_rows_go_elsewhere_as_the_error_says(target: Target, tmp_path: Path, before: bool) -> None:
    """The position of a consumer is of its table: with another --into alone the run would be refused."""
    folder = log(tmp_path)
    if before:
        assert follow(folder, target).code == 0
        target.run("ALTER TABLE changes RENAME TO aside")
    target.run("CREATE TABLE changes (event_id INTEGER)")
    ran = follow(folder, target)
    assert (ran.code, ADVICE in ran.err) == (7, True), ran.err
    alone = run_cli(words(folder, target, into="elsewhere"))
    assert alone.code == (6 if before else 0), alone.err
    if before:
        assert "a consumer of its own (--consumer)" in alone.err
    ran = run_cli(words(folder, target, into="elsewhere", consumer="another"))
    assert (ran.code, ran.err) == (0, "")
    assert values(target, "elsewhere") == list(range(1, 21))


def test_a_kept_table_is_made_elsewhere_as_the_error_says(target: Target) -> None:
    target.run("CREATE TABLE ks_t (pk INTEGER, v INTEGER)")
    kept = Kept(target, into=PATTERN)
    with pytest.raises(SinkError, match=ADVICE):
        kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    kept.into, kept.number = "x_{keyspace}_{table}", 0
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")), key=SECOND._replace(folder="5f4e"))
    assert target.ask("SELECT pk, v FROM x_ks_t") == [(1, 1)]


def test_two_source_tables_have_a_table_each_as_the_error_says(target: Target) -> None:
    kept = Kept(target)
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER, table="u")
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    with pytest.raises(SinkError, match=r"--into '\{keyspace\}_\{table\}', .* and another --consumer"):
        kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "a"), **U))
    kept.into, kept.number = PATTERN, 0
    images = (
        kept.image("insert", {"v": 1, "w": None}, (1, "a")),
        kept.image("insert", {"v": 2, "w": None}, (2, "a"), **U),
    )
    kept.give(*images, key=SECOND._replace(folder="5f4e"))
    assert (target.ask("SELECT pk FROM ks_t"), target.ask("SELECT pk FROM ks_u")) == ([(1,)], [(2,)])
