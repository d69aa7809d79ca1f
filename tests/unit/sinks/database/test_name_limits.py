"""Names at the database's limit, and names that are taken: the statements and options that errors advise lead on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tailer.errors import SinkError
from tailer.schema.model import Column
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.unit.sinks.database.followed import ONE, words
from tests.unit.sinks.database.targets import Postgresql, Target
from tests.unit.sinks.database.test_kept_table import ID, PLAIN, Kept, definition

MODE = ("--mode", "table", "--image", "after")


def advised(kept: Kept, *images: object) -> list[str]:
    """The statements that the error of these images says to run."""
    with pytest.raises(SinkError, match="Run: ") as raised:
        kept.give(*images)  # type: ignore[arg-type]
    return str(raised.value).partition("Run: ")[2].partition("; or choose another")[0].split("; ")


@pytest.mark.parametrize("name", ["t" * 56 + "1", "t" * 62 + "2", "short"], ids=["57", "63", "short"])
@pytest.mark.parametrize("taken", [True, False], ids=["taken", "free"])
def test_a_table_that_is_set_aside(target: Target, name: str, taken: bool) -> None:
    """Two of its key columns are wrong, and one more column: one statement gives it a name that no other table has."""
    wrong = f"CREATE TABLE {name} (pk DATE, ck DATE, v DATE)"
    target.run(wrong, *([f"CREATE TABLE {name}_before (x INTEGER)"] if taken and name == "short" else []))
    kept = Kept(target, into=name)
    image = kept.image("insert", {"v": 1, "w": None}, (1, "a"))
    target.run(*advised(kept, image))
    kept.give()
    assert target.ask(f"SELECT pk, ck, v FROM {name}") == [(1, "a", 1)]
    if taken and name != "short":
        # Once more: the name of the first one is taken now.
        target.run("DELETE FROM cdc_tail_positions", "DELETE FROM cdc_tail_tables", f"DROP TABLE {name}", wrong)
        kept.number = 0
        target.run(*advised(kept, image))
        kept.give()
        assert target.ask(f"SELECT pk, ck, v FROM {name}") == [(1, "a", 1)]


@pytest.mark.parametrize("name", ["c" * 57, "c" * 63, "a." + "c" * 61, "short"], ids=["57", "63", "dot", "short"])
def test_a_column_that_is_set_aside(target: Target, name: str) -> None:
    """The name for it is taken by another column, which is wrong as well."""
    kept = Kept(target, into="kept")
    more = Column(f"{name}_before", "regular", "int") if name == "short" else Column("other", "regular", "int")
    kept.tables = {ID: definition(Column(name, "regular", "int"), more)}
    target.run(f'CREATE TABLE kept (pk INTEGER PRIMARY KEY, "{name}" DATE, "{more.name}" DATE)')
    target.run(*advised(kept, kept.image("insert", {name: 1, more.name: 2}, 1)))
    kept.give()
    assert target.ask(f'SELECT pk, "{name}", "{more.name}" FROM kept') == [(1, 1, 2)]


def test_a_column_with_a_dot_that_a_migration_sets_aside(target: Target) -> None:
    """A dot in a column's name is no schema's: the name is cut at its own end."""
    name = "a." + "c" * 61
    kept = Kept(target)
    kept.tables = {ID: definition(Column(name, "regular", "int"))}
    kept.give(kept.image("insert", {name: 1}, 1))
    again = definition(Column(name, "regular", "blob", dropped_time=5, added_time=9))
    kept.give(kept.altered(again, name), kept.image("update", {name: "0x07"}, 1))
    found = target.ask(f'SELECT pk, "{name}" FROM kept')
    assert [(pk, bytes(value)) for pk, value in found] == [(1, b"\x07")]


@pytest.mark.parametrize("how", ["left out", "as changes"])
def test_a_column_name_that_cannot_be_kept(target: Target, tmp_path: Path, how: str) -> None:
    """Longer than PostgreSQL takes; the same but for case as another one, in SQLite and DuckDB. `--mode table` has no
    `--typed` that could be left away."""
    plain = simple_table("ks", "t")
    name = "c" * 64 if target.kind == "postgresql" else "V"
    columns = tuple(replace(each, name=name) if each.name == "ck" else each for each in plain.columns)
    table = replace(plain, columns=columns)
    made = segment_of(ONE, [[create_payload(table)], [insert_payload(table, 1, "a", 1)]])
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(made, completed(made))
    run = words(folder.path, target, *MODE, into="{keyspace}_{table}")
    ran = run_cli(run)
    assert ran.code == 7
    for told in ("--exclude", "--mode changes", "another --into and another --consumer"):
        assert told in ran.err
    assert "--typed" not in ran.err
    if how == "left out":
        target.run("DELETE FROM cdc_tail_waiting WHERE source = 'ks.t'")
        ran = run_cli([*run, "--exclude", "ks.t"])
        assert (ran.code, ran.err) == (0, "")
    else:
        ran = run_cli(words(folder.path, target, "--image", "after", into="images", consumer="d"))
        assert (ran.code, ran.err) == (0, "")
        assert target.ask("SELECT count(*) FROM images") == [(1,)]


def test_more_columns_than_postgresql_takes(postgresql: Postgresql) -> None:
    """At most 1,600."""
    kept = Kept(postgresql)
    kept.tables = {ID: definition(*(Column(f"c{n}", "regular", "int") for n in range(1600)))}
    with pytest.raises(
        SinkError,
        match=r"1600 columns.*another --consumer into another --into: --mode changes without --typed.*--exclude",
    ):
        kept.give(kept.image("insert", {"c1": 1}, 1))


def test_a_null_in_a_key(target: Target) -> None:
    kept = Kept(target, tables={ID: PLAIN})
    with pytest.raises(SinkError, match=r"no value for ck.*--exclude.*--mode changes, another --into and another --c"):
        kept.give(kept.image("insert", {"v": 1, "w": None}, (1, None)))
