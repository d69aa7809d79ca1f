"""Each place that `stream --to` knows: every row is there once, also those of a batch that Spark brings again."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tailer.errors import SinkError, SystemFailedError, UsageError
from tailer.rows.batch import COLUMNS, ChangeBatch
from tailer.spark.run import run_query
from tailer.spark.sinks.base import QuerySink
from tailer.spark.sinks.console import ConsoleSink
from tailer.spark.sinks.database import POSTGRESQL
from tailer.spark.sinks.delta import DeltaSink
from tailer.spark.sinks.files import ParquetSink
from tailer.spark.sinks.jdbc import JdbcSink
from tests.helpers.compare import same_rows
from tests.helpers.postgres import PASSWORD, USER, Postgres, UnavailableError
from tests.helpers.replay import Stage
from tests.helpers.sets import Place
from tests.oracle import expected
from tests.spark.engine import lines_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SET = "50-live"


class Lines:
    """The console's end: rows as `--output json` has them."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def write(self, batch: ChangeBatch) -> None:
        self.told += batch.json_lines().decode().removesuffix("\n").split("\n")


class Query:
    """A query into a sink, run again and again: all that is there each time."""

    def __init__(self, spark: SparkSession, sets_root: Path, parent: Path, sink: Callable[[Path], QuerySink]) -> None:
        self.stage = Stage(parent, sets_root)
        self.checkpoint = parent / "checkpoint"
        self._spark = spark
        self._sink = sink

    def run(self, **options: str) -> None:
        given = {"path": str(self.stage.folder), **options}
        run_query(
            self._spark, given, self._sink(self.checkpoint), str(self.checkpoint), once=True, watch=lambda read: None
        )

    def twice_with_a_batch_again(self) -> None:
        """Two runs, and the last batch once more: killed when the sink had it, and Spark did not know yet. The run that
        repeats it reads what came behind it as well."""
        self.stage.show(Place(SET, 9))
        self.run(maxBytesPerTrigger="300k")
        consumers = self.stage.folder.with_name("cdc_raw.cdc_tail") / "consumers"
        shutil.copytree(consumers, consumers.with_name("before"))
        self.stage.show(Place(SET, 17))
        self.run()
        last = max(int(file.name) for file in (self.checkpoint / "commits").iterdir() if file.name.isdigit())
        assert last >= 1
        for name in (f"{last}", f".{last}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)
        shutil.rmtree(consumers)
        consumers.with_name("before").rename(consumers)
        self.stage.show(Place(SET, 25))
        self.run()
        assert (self.checkpoint / "commits" / f"{last}").exists()


def collected(frame: DataFrame) -> list[str]:
    return [line for batch in frame.select(*COLUMNS).toArrow().to_batches() for line in lines_of(batch)]


def in_order(frame: DataFrame) -> list[str]:
    return collected(frame.orderBy("segment", "offset", "row"))


def in_sqlite(file: Path, table: str = "changes") -> list[str]:
    """All rows, read by Python's own SQLite."""
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    with sqlite3.connect(file) as database:
        rows = database.execute(f'SELECT {names} FROM {table} ORDER BY segment, "offset", "row"').fetchall()
    database.close()
    return ChangeBatch.of(rows).json_lines().decode().removesuffix("\n").split("\n")


def test_the_console_has_a_repeated_batch_once(spark: SparkSession, sets_root: Path, tmp_path: Path) -> None:
    lines = Lines()
    query = Query(spark, sets_root, tmp_path, lambda checkpoint: ConsoleSink(lines, checkpoint))
    query.twice_with_a_batch_again()
    same_rows(expected(sets_root / SET, query.stage.folder).rows, lines.told)


@pytest.mark.oldest
def test_parquet_has_a_repeated_batch_once(spark: SparkSession, sets_root: Path, tmp_path: Path) -> None:
    query = Query(spark, sets_root, tmp_path, lambda checkpoint: ParquetSink(tmp_path / "out"))
    query.twice_with_a_batch_again()
    same_rows(expected(sets_root / SET, query.stage.folder).rows, in_order(spark.read.parquet(str(tmp_path / "out"))))


@pytest.mark.oldest
def test_delta_has_a_repeated_batch_once(with_jars: SparkSession, sets_root: Path, tmp_path: Path) -> None:
    try:
        DeltaSink(tmp_path)
    except UsageError as error:
        pytest.skip(error.sentence())
    query = Query(with_jars, sets_root, tmp_path, lambda checkpoint: DeltaSink(tmp_path / "out"))
    query.twice_with_a_batch_again()
    rows = with_jars.read.format("delta").load(str(tmp_path / "out"))
    same_rows(expected(sets_root / SET, query.stage.folder).rows, in_order(rows))


@pytest.mark.oldest
def test_sqlite_has_a_repeated_batch_once(with_jars: SparkSession, sets_root: Path, tmp_path: Path) -> None:
    file = tmp_path / "changes.db"
    query = Query(with_jars, sets_root, tmp_path, lambda checkpoint: into_sqlite(file, checkpoint))
    query.twice_with_a_batch_again()
    want = expected(sets_root / SET, query.stage.folder).rows
    same_rows(want, in_sqlite(file))

    # A batch that the database refuses is not there in part, and what the next run finds half done is begun anew.
    refuse = 'CREATE TRIGGER no BEFORE INSERT ON other WHEN NEW."row" >= 0 AND (SELECT count(*) FROM other) > 9 '
    with sqlite3.connect(file) as database:
        columns = database.execute("SELECT sql FROM sqlite_master WHERE name = 'changes'").fetchone()[0]
        database.execute(columns.replace("changes", "other", 1))
        database.execute(refuse + "BEGIN SELECT RAISE(ABORT, 'no more rows today'); END")
    database.close()
    other = Query(with_jars, sets_root, tmp_path / "other", lambda checkpoint: into_sqlite(file, checkpoint, "other"))
    other.stage.show(Place(SET, 25))
    for _ in range(2):
        with pytest.raises(SinkError, match="no more rows today"):
            other.run()
    with sqlite3.connect(file) as database:
        assert database.execute("SELECT count(*) FROM other").fetchone() == (0,)
        database.execute("DROP TRIGGER no")
    database.close()
    other.run()
    same_rows(want, in_sqlite(file, "other"))


def into_sqlite(file: Path, checkpoint: Path, table: str = "changes") -> JdbcSink:
    return JdbcSink(f"jdbc:sqlite:{file}", table, "event_id", str(checkpoint))


@pytest.fixture
def postgres(monkeypatch: pytest.MonkeyPatch) -> Iterator[Postgres]:
    try:
        server = Postgres()
        server.start()
    except UnavailableError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("CDC_TAIL_JDBC_USER", USER)
    monkeypatch.setenv("CDC_TAIL_JDBC_PASSWORD", PASSWORD)
    try:
        yield server
    finally:
        server.remove()


def test_postgresql_has_a_repeated_batch_once(
    with_jars: SparkSession, postgres: Postgres, sets_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sink(checkpoint: Path) -> JdbcSink:
        return JdbcSink(postgres.url, "public.changes", "event_id", str(checkpoint))

    query = Query(with_jars, sets_root, tmp_path, sink)
    query.twice_with_a_batch_again()
    login = {"user": USER, "password": PASSWORD, "driver": POSTGRESQL.driver}
    reader = with_jars.read.format("jdbc").options(url=postgres.url, dbtable="changes", **login)
    same_rows(expected(sets_root / SET, query.stage.folder).rows, in_order(reader.load()))

    empty = reader.load().limit(0)
    with monkeypatch.context() as other:
        other.setenv("CDC_TAIL_JDBC_PASSWORD", "wrong")
        with pytest.raises(UsageError, match="refuses the login"):
            sink(query.checkpoint).prepare(with_jars, empty)
    running = sink(query.checkpoint)
    running.prepare(with_jars, empty)
    postgres.stop()
    with pytest.raises(SystemFailedError, match="connection"):
        running.take(empty, 99)
    # It is not for good: the same query goes on when the server is back.
    postgres.start()
    running.prepare(with_jars, empty)
    running.take(empty, 99)


def test_every_kind_of_column_is_in_the_database(with_jars: SparkSession, tmp_path: Path) -> None:
    """Whatever a typed form may have: nested values as JSON, maps by any key, what SQLite has no type for as text."""
    frame = with_jars.sql(
        """SELECT 'k1' AS _event_id, 7Y AS tiny, 2.5D AS real, true AS yes, X'CAFE' AS blob, DATE'2024-02-29' AS day,
        CAST('12345678901234567890.000000000000000001' AS DECIMAL(38, 18)) AS amount,
        TIMESTAMP'2024-02-29 12:00:00.123456Z' AS at, array(1, NULL) AS list, map('a', array(1)) AS plain,
        map(X'CAFE', 1) AS by_blob, map(DATE'2024-02-29', named_struct('x', map(X'00', 'y'))) AS deep,
        CAST(NULL AS STRUCT<x: INT>) AS nothing, 'say "hi"' AS `the "text"`"""
    )
    file = tmp_path / "kinds.db"
    sink = JdbcSink(f"jdbc:sqlite:{file}", "kinds", "_event_id", "one")
    sink.prepare(with_jars, frame)
    for number in (0, 1):
        sink.take(frame, number)
    sink.close()
    with sqlite3.connect(file) as database:
        cursor = database.execute("SELECT * FROM kinds")
        row = dict(zip((column[0] for column in cursor.description), *cursor.fetchall(), strict=True))
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    database.close()
    assert tables == [("kinds",)]
    nested = {name: json.loads(row.pop(name)) for name in ("list", "plain", "by_blob", "deep")}
    assert row == {
        "_event_id": "k1",
        "tiny": 7,
        "real": 2.5,
        "yes": 1,
        "blob": b"\xca\xfe",
        "day": "2024-02-29",
        "amount": "12345678901234567890.000000000000000001",
        "at": "2024-02-29 12:00:00.123456",
        "nothing": None,
        'the "text"': 'say "hi"',
    }
    assert nested == {
        "list": [1, None],
        "plain": {"a": [1]},
        "by_blob": [{"key": "yv4=", "value": 1}],
        "deep": [{"key": "2024-02-29", "value": {"x": [{"key": "AA==", "value": "y"}]}}],
    }


@pytest.mark.parametrize(
    ("existing", "error", "words"),
    [
        ("CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT, more TEXT)", None, ""),
        ("CREATE TABLE t (id TEXT PRIMARY KEY)", UsageError, 'has no column "a"'),
        ("CREATE TABLE t (id TEXT, a TEXT)", SinkError, "ON CONFLICT"),
    ],
    ids=["fits", "a column is missing", "no key"],
)
def test_a_table_that_is_there_is_checked(
    existing: str, error: type[Exception] | None, words: str, with_jars: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "there.db"
    with sqlite3.connect(file) as database:
        database.execute(existing)
    database.close()
    sink: Any = JdbcSink(f"jdbc:sqlite:{file}", "t", "id", "one")
    frame = with_jars.sql("SELECT 'x' AS id, 'y' AS a")
    if error is None:
        sink.prepare(with_jars, frame)
        sink.take(frame, 0)
        sink.close()
        return
    with pytest.raises(error, match=words):
        sink.prepare(with_jars, frame)
