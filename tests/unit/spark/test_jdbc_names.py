"""Names of the tables of `stream --to jdbc` at the database's limit. The statements run in a real PostgreSQL and in
SQLite; only the JVM's JDBC driver is replaced, by Python's drivers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from tailer.errors import UsageError
from tailer.spark.sinks import jdbc
from tailer.spark.sinks.jdbc import JdbcSink
from tests.helpers.postgres import PASSWORD, Postgres, started


class Connection:
    """The methods of `java.sql.Connection` and its statements that the sink calls."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def setAutoCommit(self, on: bool) -> None:
        assert not on

    def isValid(self, seconds: int) -> bool:
        return True

    def createStatement(self) -> Connection:
        return self

    def executeUpdate(self, text: str) -> None:
        self._connection.execute(text)

    def executeQuery(self, text: str) -> SimpleNamespace:
        names = [column[0] for column in self._connection.execute(text).description]
        found = SimpleNamespace(getColumnName=lambda at: names[at - 1], getColumnCount=lambda: len(names))
        return SimpleNamespace(getMetaData=lambda: found)

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        """Of a statement too: the test closes the connection itself."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    yield from started()


@pytest.fixture(params=["postgresql", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The connection, and the URL of its database."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("server")
        connection: Any = psycopg.connect(server.to, password=PASSWORD)
        url = server.url
    else:
        connection = sqlite3.connect(tmp_path / "d.db")
        url = f"jdbc:sqlite:{tmp_path / 'd.db'}"
    monkeypatch.setattr(jdbc, "_connector", lambda *_: lambda: Connection(connection))
    yield SimpleNamespace(url=url, run=connection.execute, commit=connection.commit, kind=request.param)
    connection.rollback()
    connection.close()


def prepared(url: str, table: str, run: str = "checkpoint consumer", *more: str) -> JdbcSink:
    fields = [
        SimpleNamespace(name=name, dataType=SimpleNamespace(simpleString=lambda: "string")) for name in ("id", *more)
    ]
    sink = JdbcSink(url, table, "id", run)
    sink.prepare(SimpleNamespace(sparkContext=None), SimpleNamespace(schema=fields))  # type: ignore[arg-type]
    return sink


@pytest.mark.parametrize("letters", [55, 62, 63])
def test_the_target_keeps_its_rows(database: Any, letters: int) -> None:
    """PostgreSQL cuts a name to 63 bytes: the table beside the target must not become the target itself."""
    table = f"t{letters}" + "n" * (letters - 3)
    database.run(f"CREATE TABLE {table} (id TEXT PRIMARY KEY)")
    database.run(f"INSERT INTO {table} VALUES ('there before')")
    database.commit()
    prepared(database.url, table).close()
    assert database.run(f"SELECT id FROM {table}").fetchall() == [("there before",)]
    database.run(f"DROP TABLE {table}")
    database.commit()


def test_two_queries_into_one_table_have_a_table_each_beside_it(database: Any) -> None:
    table = "q" * 62
    first, second = (prepared(database.url, table, run) for run in ("one", "two"))
    beside = {sink._batch[: 63 if database.kind == "postgresql" else 200] for sink in (first, second)}
    assert len(beside - {table}) == 2
    database.run(f"INSERT INTO {first._batch} VALUES ('of the first query')")
    database.commit()
    second.close()
    assert database.run(f"SELECT id FROM {first._batch}").fetchall() == [("of the first query",)]
    first.close()


@pytest.mark.parametrize(
    ("database", "into"),
    [("postgresql", "n" * 64), ("postgresql", f"{'s' * 64}.t"), ("sqlite", "n" * 201)],
    indirect=["database"],
)
def test_a_name_that_is_too_long_is_refused(database: Any, into: str) -> None:
    limit = {"postgresql": 63, "sqlite": 200}[database.kind]
    with pytest.raises(UsageError, match=f"--into.*at most {limit} letters"):
        prepared(database.url, into)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_column_that_postgresql_would_cut_is_refused_before_a_table_is_made(database: Any) -> None:
    """At 63 bytes it is taken; the remedy of the error names the form whose columns all have short names."""
    prepared(database.url, "fits", "one", "é" * 31 + "c").close()
    with pytest.raises(UsageError, match=r"column .*at most 63 bytes.*found 64.*without --typed"):
        prepared(database.url, "too_long", "one", "é" * 32)
    assert database.run("SELECT to_regclass('too_long')").fetchall() == [(None,)]


def test_the_table_beside_a_short_name_is_called_as_before(database: Any) -> None:
    """A query that is started again after an upgrade drops the one that it left. By `printf one | b2sum -l 32`."""
    assert JdbcSink(database.url, "public.t", "id", "one")._batch == "public.t_8e83ed46"
