"""`cdc-tail stream` and `cdc-tail demo`, as a user runs them."""

from __future__ import annotations

import re
import sqlite3
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import SystemFailedError
from tailer.metrics.monitor import Monitor
from tests.conftest import FreshFolder
from tests.helpers.cli import run_cli, run_process
from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.sets import Place
from tests.oracle import expected

NO_JAVA = {"JAVA_HOME": "/nowhere"}


def test_without_java_the_commands_say_what_to_install(fresh_folder: FreshFolder) -> None:
    for arguments in (["demo"], ["stream", fresh_folder("50-cases")]):
        result = run_process(arguments, NO_JAVA)
        assert result.code == 2
        assert "Java" in result.err
        assert "17 or newer" in result.err
        assert "apt-get install" in result.err
        assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "parquet"], "--path"),
        (["--path", "out"], "--path"),
        (["--option", "minPartition=2"], "unknown option 'minPartition'"),
        (["--conf", "spark.ui.enabled"], "NAME=VALUE"),
        (["--max-bytes", "much"], "maxBytesPerTrigger"),
        (["--to", "delta"], "--path"),
        (["--to", "iceberg"], "--path"),
        (["--to", "iceberg", "--path", "out", "--into", "lake.shop.changes"], "instead of --into"),
        (["--to", "iceberg", "--into", "lake.shop.changes"], "needs --checkpoint"),
        (["--to", "jdbc", "--into", "t", "--checkpoint", "c"], "--url"),
        (["--to", "jdbc", "--url", "jdbc:sqlite:x.db", "--checkpoint", "c"], "--into"),
        (["--to", "jdbc", "--url", "jdbc:sqlite:x.db", "--into", "t"], "needs --checkpoint"),
        (["--to", "jdbc", "--url", "jdbc:sqlite:x.db", "--into", "a;b", "--checkpoint", "c"], "SCHEMA.TABLE"),
        (["--to", "jdbc", "--url", "jdbc:mysql://h/d", "--into", "t", "--checkpoint", "c"], "jdbc:postgresql"),
        (["--to", "jdbc", "--url", "jdbc:sqlite::memory:", "--into", "t", "--checkpoint", "c"], "FILE"),
        (
            ["--to", "jdbc", "--url", "jdbc:postgresql://h/d?password=x", "--into", "t", "--checkpoint", "c"],
            "CDC_TAIL_JDBC_PASSWORD",
        ),
        (["--into", "t"], "--to jdbc"),
        (["--typed", "cdc.nowhere", "--output", "json"], "cdc.nowhere"),
        (["--option", "waitMillis"], "NAME=VALUE"),
        (["--from", "oldest"], "startingOffsets"),
        (["--to", "parquet", "--path", "out", "--output", "json"], "--output"),
        (["--no-expirations"], "--image after"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_told_before_spark_starts(arguments: list[str], words: str, fresh_folder: FreshFolder) -> None:
    result = run_cli(["stream", fresh_folder("50-cases"), *arguments], NO_JAVA)
    assert result.code == (3 if "cdc.nowhere" in arguments else 2)
    assert words in result.err


def test_a_folder_that_is_not_there_is_told_before_spark_starts(tmp_path: Path) -> None:
    result = run_cli(["stream", tmp_path / "nowhere"], NO_JAVA)
    assert result.code == 2
    assert "no such folder" in result.err


@pytest.mark.parametrize("given", [None, "-XX:+UseParallelGC"], ids=["ours", "the user's"])
def test_the_jvm_compiles_by_what_there_is_to_read_unless_the_user_says(
    given: str | None, fresh_folder: FreshFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[dict[str, Any]] = []

    def refuse(*names: object, **options: Any) -> None:
        opened.append(options)
        raise SystemFailedError("no JVM today")

    monkeypatch.setattr("tailer.spark.session.open_session", refuse)
    monkeypatch.setattr("tailer.spark.purpose.ONCE_BYTES", 1)
    setting = [] if given is None else ["--conf", f"spark.driver.extraJavaOptions={given}"]
    results = [run_cli(["stream", fresh_folder("50-cases"), *once, *setting]) for once in (["--once"], [])]
    assert [result.code for result in results] == [8, 8]
    assert [options["long"] for options in opened] == [True, False]
    assert [options["conf"].get("spark.driver.extraJavaOptions") for options in opened] == [given, given]
    assert ["the JVM compiles fully: a run that ends" in result.err for result in results] == [given is None, False]
    assert ["the JVM compiles little, to start soon: a stream" in r.err for r in results] == [False, given is None]
    assert ["as --conf spark.driver.extraJavaOptions says" in r.err for r in results] == [given is not None] * 2


@pytest.mark.spark
def test_stream_into_the_console_and_a_loss(
    in_session: None, sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    """The first as a process of its own, the second in this one."""
    folder = fresh_folder(Place("50-nonblocking", 1))
    command = ["stream", folder, "--once", "--output", "json", "--checkpoint", tmp_path / "checkpoint"]
    result = run_process(command, timeout=300)
    assert result.code == 0, result.err
    same_rows(expected(sets_root / "50-nonblocking", folder).rows, without_truncates(result.lines))
    assert "Spark 4" in result.err
    assert "WARN" not in result.err
    assert "set spark.sql.streaming.checkpointFileManagerClass=" in result.err
    assert "the JVM compiles little, to start soon: a run that ends with what is there" in result.err
    assert "set spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1" in result.err
    assert f"{len(result.lines)} rows in " in result.err

    for file in folder.iterdir():
        file.unlink()
    fresh_folder(Place("50-nonblocking", 7)).rename(tmp_path / "later")
    for file in (tmp_path / "later").iterdir():
        file.rename(folder / file.name)
    result = run_cli(command)
    assert (result.code, result.lines) == (5, [])
    assert "first position not read" in result.err
    assert "Traceback" not in result.err


@pytest.mark.oldest
@pytest.mark.spark
@pytest.mark.usefixtures("with_jars", "in_session")
def test_stream_into_a_database_with_changes_of_definitions(fresh_folder: FreshFolder, tmp_path: Path) -> None:
    folder, file = fresh_folder("50-cases"), tmp_path / "changes.db"
    to = ["--to", "jdbc", "--url", f"jdbc:sqlite:{file}", "--into", "changes", "--checkpoint", tmp_path / "checkpoint"]
    command = ["stream", folder, "--once", "--schema-changes", *to]
    result = run_cli(command)
    assert result.code == 0, result.err
    with sqlite3.connect(file) as database:
        ops = dict(database.execute("SELECT op, count(*) FROM changes GROUP BY op").fetchall())
    database.close()
    assert ops["schema"] > 10
    assert ops["insert"] > 1000
    assert f"{sum(ops.values()):,} rows in " in result.err


@pytest.mark.spark
@pytest.mark.usefixtures("in_session")
@pytest.mark.parametrize("table", [["--table", "cdc.range3_desc"], ["--typed", "cdc.coll"]], ids=" ".join)
def test_the_console_shows_people_what_follow_does(table: list[str], fresh_folder: FreshFolder) -> None:
    """By the definitions that the query has journalled."""
    options = ["--once", "--stopped", "--output", "pretty", *table]
    streamed = run_cli(["stream", fresh_folder("50-cases"), *options])
    assert streamed.code == 0, streamed.err
    followed = run_cli(["follow", fresh_folder("50-cases"), *options])
    assert streamed.lines == followed.lines
    assert any(" AND " in line or " + " in line for line in streamed.lines)


@pytest.mark.spark
@pytest.mark.usefixtures("in_session")
def test_stream_shows_its_numbers_until_it_ends(fresh_folder: FreshFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("prometheus_client")
    pages: list[list[str]] = []
    close = Monitor.close

    def closing(monitor: Monitor) -> None:
        if monitor.address is not None:
            with urllib.request.urlopen(f"http://{monitor.address}/metrics", timeout=10) as answer:
                pages.append(answer.read().decode().splitlines())
        close(monitor)

    monkeypatch.setattr(Monitor, "close", closing)
    options = ["--once", "--stopped", "--output", "json", "--metrics", "0"]
    result = run_cli(["stream", fresh_folder("50-cases"), *options])
    assert result.code == 0, result.err
    (page,) = pages
    assert f'cdc_tail_stream_rows_total{{consumer="spark"}} {float(len(result.lines))}' in page
    assert 'cdc_tail_lag_bytes{consumer="spark",node="local"} 0.0' in page
    assert 'cdc_tail_ready{consumer="spark",node="local"} 1.0' in page
    (batches,) = (line for line in page if line.startswith("cdc_tail_stream_batch_seconds_count"))
    assert float(batches.split()[-1]) >= 1


@pytest.mark.spark
@pytest.mark.soak
def test_the_demo_of_a_recording_shows_every_change_and_ends_by_itself() -> None:
    result = run_process(["demo", "--cassandra", "--seconds", "5"], timeout=300)
    assert result.code == 0, result.err
    assert re.search(r"2229 changes in \d+ micro-batches, from 3 segments", result.out)
    assert re.search(r"p50 \d+ ms, p99 \d+ ms", result.out)
    assert "every change of the recording was shown, once, in the log's order" in result.out
    assert "\x1b" not in result.out
    assert result.err == ""


@pytest.mark.spark
def test_the_demo_of_a_service_shows_every_change_behind_a_kill() -> None:
    result = run_process(["demo", "--seconds", "6"], timeout=300)
    assert result.code == 0, result.err
    assert re.search(r"\d{2,} changes in \d+ micro-batches, from \d+ segments", result.out)
    assert re.search(r"kill -9 of the writer: \d+ changes and transactions were acknowledged by then", result.out)
    assert re.search(r"started again: it recovered its log, and found order \d+ to be its last", result.out)
    assert "every change of the log was shown, once, in the log's order" in result.out
    assert "and nothing that was acknowledged before the kill is missing" in result.out
    assert result.err == ""
