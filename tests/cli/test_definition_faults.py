"""Schema changes as migrations make them, through the public command: what is kept, and what is said.

Each of these ended a run, or left wrong rows, in an earlier version. Expected rows are what SELECT shows.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailer.position import Position
from tailer.schema.rows import SchemaDelta
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import SchemaRecord
from tests.helpers.asked_server import AskedServer
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    Liveness,
    LogFolder,
    Mutation,
    Row,
    Table,
    Update,
    add_column,
    alter_table,
    completed,
    create_table,
    drop_column,
    drop_table,
    encode_mutation,
    i32,
    insert,
    live,
    rename_column,
    segment_of,
    simple_table,
)

FIRST = 1_700_000_000_001
T = simple_table("ks", "t")
W = Column("w", "regular", "int")
WIDE = replace(T, columns=(*T.columns, W))
S = Column("s", "static", "int")
WITH_S = replace(T, columns=(*T.columns, S))


class Log:
    """One segment that grows."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = LogFolder(tmp_path / "cdc_raw")
        self.path = self.folder.path
        self._sections: list[list[bytes]] = []

    def write(self, *mutations: Mutation, done: bool = False) -> None:
        self._sections += [[encode_mutation(each)] for each in mutations]
        segment = segment_of(FIRST, self._sections)
        self.folder.put(segment, completed(segment) if done else live(segment))


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


class Kept:
    """A database that a consumer keeps."""

    def __init__(self, log: Log, to: str = "sqlite") -> None:
        self._log, self._to = log, to
        self._file = log.path.with_name(f"kept.{to}")

    def follow(self, *more: str, consumer: str = "c") -> Result:
        to = ("--to", f"{self._to}:{self._file}", "--mode", "table", "--into", "{keyspace}_{table}")
        return run_cli(["follow", self._log.path, "--once", "--consumer", consumer, "--image", "after", *to, *more])

    def rows(self, columns: str, table: str = "ks_t") -> list[tuple[Any, ...]]:
        connection: Any
        if self._to == "duckdb":
            import duckdb

            connection = duckdb.connect(str(self._file))
        else:
            connection = sqlite3.connect(self._file)
        with closing(connection):
            return sorted(connection.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)


def static(table: Table, pk: int, value: int, ts: int) -> Mutation:
    return (Update(table, i32(pk), (), Row((), None, None, (("s", Cell(i32(value), ts)),))),)


def wide(pk: int, v: int, w: int, ts: int) -> Mutation:
    cells = (("v", Cell(i32(v), ts, like_row=1)), ("w", Cell(i32(w), ts, like_row=1)))
    return (Update(WIDE, i32(pk), (Row((b"a",), Liveness(ts), None, cells),)),)


def test_a_table_that_a_response_lacks_is_not_dropped(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A2: one consumer has read the CREATE; another one, which is behind, asks a server that is behind too."""
    server = AskedServer(monkeypatch)
    early = replace(simple_table("ks", "early", 2))
    server.knows(early)
    log.write(create_table(early, TS), insert(early, 1, "a", 1, TS + 1), create_table(T, TS + 10))
    log.write(insert(T, 1, "a", 1, TS + 11), insert(T, 2, "a", 2, TS + 12))
    assert run_cli(["follow", log.path, "--once", "--consumer", "near"]).code == 0
    assert run_cli(["follow", log.path, "--once", "--consumer", "far", "--server", "db"]).code == 0
    log.write(add_column(WIDE, W, TS + 20), wide(3, 3, 7, TS + 21))
    result = run_cli(["follow", log.path, "--once", "--image", "after", "--table", "ks.t", "--output", "json"])
    assert result.code == 0, result.err
    assert [json.loads(line)["after"] for line in result.lines][-1] == {"pk": 3, "ck": "a", "v": 3, "w": 7}


def test_a_column_that_is_dropped_later_is_not_dropped_and_added_again(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A3: the server's `dropped_columns` are of now, the consumer is behind. A row that lived by the column goes."""
    server, kept = AskedServer(monkeypatch), Kept(log)
    alone: Mutation = (Update(WIDE, i32(2), (Row((b"a",), None, None, (("w", Cell(i32(7), TS + 2)),)),)),)
    drop = TS + 1_000_000
    dropped = {"kind": (drop, "regular"), "type": (drop, "int"), "dropped_time": (drop, drop)}
    server.knows(T, ts=TS)
    server.also(SchemaDelta("dropped_columns", "ks", ("t", "w"), dropped, drop))
    log.write(create_table(WIDE, TS), wide(1, 1, 1, TS + 1), alone)
    assert kept.follow("--server", "db").code == 0
    assert kept.rows("pk, v, w") == [(1, 1, 1), (2, None, 7)]
    log.write(drop_column(T, W, drop), insert(T, 4, "a", 4, drop + 1))
    assert kept.follow("--server", "db").code == 0
    assert kept.rows("pk, v") == [(1, 1), (4, 4)]
    shown = run_cli(["schema", log.path, "--table", "ks.t"])
    (column,) = [each for each in json.loads(shown.lines[-1])["columns"] if each["name"] == "w"]
    assert (column["dropped"], column["dropped_time"]) == (True, drop)


def drop_using(table: Table, column: Column, ts: int, dropped: int) -> Mutation:
    """DROP column USING TIMESTAMP, in milliseconds here."""
    columns, made, heading = drop_column(table, column, ts)
    (row,) = made.unfiltereds
    assert isinstance(row, Row)
    cells = tuple(
        (name, replace(cell, value=dropped.to_bytes(8, "big"))) if name == "dropped_time" else (name, cell)
        for name, cell in row.cells
        if isinstance(cell, Cell)
    )
    return columns, replace(made, unfiltereds=(replace(row, cells=cells),)), heading


def test_a_value_that_a_drop_did_not_cover_is_there_again_with_its_column(log: Log) -> None:
    """A10."""
    kept = Kept(log)
    log.write(create_table(WIDE, TS), wide(1, 1, 7, TS + 1))
    assert kept.follow().code == 0
    log.write(drop_using(T, W, TS + 1_000_000, 5), add_column(WIDE, W, TS + 2_000_000))
    assert kept.follow().code == 0
    assert kept.rows("pk, v, w, cdc_tail_complete") == [(1, 1, 7, 1)]


def test_a_row_of_a_partition_that_the_last_static_column_alone_held_is_deleted(log: Log) -> None:
    """A15 (a)."""
    kept = Kept(log)
    log.write(create_table(WITH_S, TS), static(WITH_S, 1, 5, TS + 1), insert(WITH_S, 2, "a", 2, TS + 2))
    assert kept.follow().code == 0
    log.write(drop_column(T, S, TS + 1_000_000), insert(T, 3, "a", 3, TS + 1_000_001))
    assert kept.follow().code == 0
    assert kept.rows("pk, ck, v") == [(2, "a", 2), (3, "a", 3)]


@pytest.mark.parametrize("to", ["sqlite", "duckdb"])
def test_the_first_static_column_is_added(log: Log, to: str) -> None:
    """A15 (b)."""
    kept = Kept(log, to)
    log.write(create_table(T, TS), insert(T, 1, "a", 1, TS + 1))
    assert kept.follow().code == 0
    log.write(add_column(WITH_S, S, TS + 10), static(WITH_S, 2, 5, TS + 11))
    result = kept.follow()
    assert result.code == 0, result.err
    assert kept.rows("pk, ck, v, s") == [(1, "a", 1, None), (2, None, None, 5)]


AGAIN = replace(
    simple_table("ks", "t", 7), columns=(Column("id", "partition_key", "text", 0), Column("v", "regular", "int"))
)


def again(ts: int) -> Mutation:
    return (Update(AGAIN, b"one", (Row((), Liveness(ts), None, (("v", Cell(i32(1), ts, like_row=1)),)),)),)


@pytest.mark.parametrize("together", [False, True])
def test_a_table_that_is_made_again_with_another_key_is_kept(log: Log, together: bool) -> None:
    """A17; `together`, D2: within one commit."""
    kept = Kept(log)
    log.write(create_table(T, TS), insert(T, 1, "a", 1, TS + 1))
    if not together:
        assert kept.follow().code == 0
    log.write(drop_table(T, TS + 10), create_table(AGAIN, TS + 20), again(TS + 21))
    result = kept.follow()
    assert result.code == 0, result.err
    assert kept.rows("id, v, cdc_tail_complete") == [("one", 1, 1)]


def test_a_renamed_key_column_is_renamed(log: Log) -> None:
    """A17."""
    kept = Kept(log)
    log.write(create_table(T, TS), insert(T, 1, "a", 1, TS + 1))
    assert kept.follow().code == 0
    old, new = T.columns[1], replace(T.columns[1], name="k2")
    renamed = replace(T, columns=(T.columns[0], new, T.columns[2]))
    log.write(rename_column(renamed, old, new, TS + 10), insert(renamed, 2, "b", 2, TS + 11))
    result = kept.follow()
    assert result.code == 0, result.err
    assert kept.rows("pk, k2, v") == [(1, "a", 1), (2, "b", 2)]


def test_a_long_name_is_kept(log: Log) -> None:
    """D9."""
    table = replace(T, keyspace="k" * 40, name="t" * 40)
    kept = Kept(log)
    log.write(create_table(table, TS), insert(table, 1, "a", 1, TS + 1))
    result = kept.follow()
    assert result.code == 0, result.err
    assert kept.rows("pk, v", f"{table.keyspace}_{table.name}") == [(1, 1)]


def test_a_keyspace_without_durable_writes_is_named(log: Log) -> None:
    """D10: its rows never reach the log."""
    columns, keyspaces, tables = create_table(T, TS)
    (row,) = keyspaces.unfiltereds
    assert isinstance(row, Row)
    off = replace(row, cells=(("durable_writes", Cell(b"\x00", TS, like_row=1)),))
    log.write((columns, replace(keyspaces, unfiltereds=(off,)), tables), insert(T, 1, "a", 1, TS + 1))
    result = run_cli(["follow", log.path, "--once"])
    assert result.code == 0
    assert "durable_writes" in result.err
    assert "ks" in result.err


def test_two_consumers_keep_tables_of_their_own_by_one_pattern(log: Log) -> None:
    """D11."""
    other = simple_table("ks", "u", 2)
    log.write(create_table(T, TS), create_table(other, TS), insert(T, 1, "a", 1, TS + 1), insert(other, 2, "a", 2, TS))
    kept = Kept(log)
    assert kept.follow("--table", "ks.t", consumer="c").code == 0
    result = kept.follow("--table", "ks.u", consumer="d")
    assert result.code == 0, result.err
    assert (kept.rows("pk"), kept.rows("pk", "ks_u")) == ([(1,)], [(2,)])


def describe(table: Table) -> str:
    """DESCRIBE TABLE … WITH INTERNALS."""
    columns = ", ".join(f"{each.name} {each.type}" for each in table.columns)
    return (
        f"CREATE TABLE {table.keyspace}.{table.name} ({columns}, PRIMARY KEY (pk, ck)) "
        f"WITH ID = {table.id} AND cdc = true;\n"
    )


@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize("remedy", ["--schema", "--server"])
def test_each_remedy_of_a_lost_alter_helps(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remedy: str, stopped: bool
) -> None:
    """A2: at a first start, and where the run has stopped at the row before."""
    log.write(create_table(T, TS), insert(T, 1, "a", 1, TS + 1), wide(3, 3, 7, TS + 21))
    words = ("follow", log.path, "--once", "--consumer", "c", "--image", "after", "--output", "json")
    if stopped:
        first = run_cli(words)
        assert first.code == 3
        assert remedy in first.err
    server, file = AskedServer(monkeypatch), tmp_path / "describe.cql"
    server.knows(WIDE, ts=TS + 20)
    file.write_text(describe(WIDE))
    result = run_cli([*words, remedy, "db" if remedy == "--server" else file])
    assert result.code == 0, result.err
    assert json.loads(result.lines[-1])["after"] == {"pk": 3, "ck": "a", "v": 3, "w": 7}


@pytest.mark.parametrize("remedy", [None, "--schema", "--server"])
def test_a_state_by_which_a_table_is_dropped_that_lives_is_healed(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remedy: str | None
) -> None:
    """A2: what an earlier version journaled for a table that a response lacked. The ALTER behind it counts."""
    log.write(create_table(T, TS), insert(T, 1, "a", 1, TS + 1))
    assert run_cli(["follow", log.path, "--once", "--consumer", "near"]).code == 0
    made_up = [SchemaDelta("columns", "ks", ("t", each.name), row_deletion=TS) for each in T.columns]
    made_up.append(SchemaDelta("tables", "ks", ("t",), row_deletion=TS))
    journal = FolderJournal(log.path.with_name("cdc_raw.cdc_tail"), writable=True)
    journal.append([SchemaRecord(at=Position(FIRST, 5000), source="server db:9042", deltas=tuple(made_up))])
    log.write(add_column(WIDE, W, TS + 20), wide(3, 3, 7, TS + 21))
    server, file = AskedServer(monkeypatch), tmp_path / "describe.cql"
    server.knows(WIDE, ts=TS + 20)
    file.write_text(describe(WIDE))
    more = () if remedy is None else (remedy, "db" if remedy == "--server" else file)
    result = run_cli(["follow", log.path, "--once", "--image", "after", "--output", "json", *more])
    assert result.code == 0, result.err
    images = [json.loads(line) for line in result.lines]
    assert [each["after"] for each in images][-1] == {"pk": 3, "ck": "a", "v": 3, "w": 7}
    assert all(each["complete"] for each in images)


def test_whether_a_table_captured_before_an_alter_is_not_known_so_its_rows_come_marked(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No log shows the CREATE; the server's `cdc` is of behind an ALTER that the log shows."""
    server = AskedServer(monkeypatch)
    server.knows(T, ts=TS + 10)
    log.write(insert(T, 1, "a", 1, TS + 1), alter_table(T, TS + 10), insert(T, 2, "a", 2, TS + 11))
    rows = run_cli(["follow", log.path, "--once", "--consumer", "c", "--server", "db"])
    assert rows.code == 0, rows.err
    assert [json.loads(line)["partition_key"]["pk"] for line in rows.lines] == [1, 2]
    words = ("--image", "after", "--output", "json", "--server", "db")
    images = run_cli(["follow", log.path, "--once", "--consumer", "d", *words])
    assert images.code == 0, images.err
    told = [json.loads(line) for line in images.lines]
    assert [(each["partition_key"]["pk"], each["complete"]) for each in told] == [(1, False), (2, False)]


def test_keys_of_a_target_are_looked_up_in_its_catalogue(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A11: EXPLAIN as a check reads freed memory in SQLite once the schema has changed."""
    statements: list[str] = []

    class Cursor(sqlite3.Cursor):
        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            statements.append(sql)
            return super().execute(sql, *given)

    class Connection(sqlite3.Connection):
        def cursor(self, *given: Any) -> Any:
            return super().cursor(Cursor)

        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            return self.cursor().execute(sql, *given)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **more, factory=Connection))
    kept = Kept(log)
    log.write(create_table(T, TS), insert(T, 1, "a", 1, TS + 1))
    assert kept.follow().code == 0
    log.write(add_column(WIDE, W, TS + 20), wide(3, 3, 7, TS + 21))
    assert kept.follow().code == 0
    assert any(each.startswith("ALTER TABLE") for each in statements)
    assert [each for each in statements if each.lstrip().upper().startswith("EXPLAIN")] == []
