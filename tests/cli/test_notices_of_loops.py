"""Every loop tells what a run leaves out: the first at once, and how much it was in all at the end."""

from __future__ import annotations

import io
import os
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, redirect_stderr
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

import tailer
from tailer.options.to_spark import SourceOptions, parse_options
from tailer.spark.batch import CdcTailReader
from tailer.spark.node import Node
from tailer.spark.planner import UNLIMITED
from tests.helpers.cli import ROOT, program, run_cli
from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    LogFolder,
    Row,
    Update,
    alter_payload,
    completed,
    create_payload,
    encode_mutation,
    i32,
    insert_payload,
    segment_of,
    simple_table,
)
from tests.helpers.logs.growing import GrowingLog

FIRST = 1_700_000_000_001
KNOWN = simple_table("ks", "known")
STRANGE = simple_table("ks", "strange", 2)
LIVE_SECONDS = 60
CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""A shell has its background jobs ignore it."""


def odd(number: int) -> bytes:
    """A row of the known table whose int has three bytes."""
    return encode_mutation((Update(KNOWN, i32(number), (Row((b"x",), cells=(("v", Cell(b"abc", TS)),)),)),))


def strange(number: int) -> bytes:
    return insert_payload(STRANGE, number, "x", number)


def known(number: int) -> bytes:
    return insert_payload(KNOWN, number, "k", number)


@dataclass(frozen=True)
class Kind:
    """What is left out. `first`, `last`: of the notices, in this order; `at`: the first names the place."""

    options: dict[str, Any]
    entry: Callable[[int], bytes]
    first: str
    last: str = r"warning: 3 entries were (put into quarantine|left out)$"


KINDS = {
    "an entry that cannot be read": Kind(
        {"on_error": "quarantine"},
        odd,
        r"warning: .*ks.known at \d+:\d+.*The entry was (put into quarantine|left out)\.",
    ),
    "an entry of an unknown table": Kind(
        {"quarantine_tables": str(STRANGE.id)},
        strange,
        rf"warning: \d entr\w+ of table {STRANGE.id} (put into quarantine|left out), the first one at \d+:\d+",
    ),
}


def words(options: dict[str, Any]) -> list[str]:
    """As the command line has them."""
    names = {"on_error": "--on-error", "quarantine_tables": "--quarantine-table"}
    return [word for name, value in options.items() for word in (names[name], value)]


def python_options(kind: Kind) -> dict[str, Any]:
    return {name: [value] if name == "quarantine_tables" else value for name, value in kind.options.items()}


def put(folder: Path, entry: Callable[[int], bytes]) -> Path:
    """A log with three entries that are left out, between rows."""
    log = LogFolder(folder / "cdc_raw")
    writer = segment_of(FIRST, [[create_payload(KNOWN), known(1), entry(2), known(3), entry(4), entry(5), known(6)]])
    log.put(writer, completed(writer))
    return log.path


Loop = Callable[[Path, Kind], Sequence[str]]


def command(*more: str, nodes: int = 1) -> Loop:
    """`follow --once` of one node or several."""

    def run(work: Path, kind: Kind) -> Sequence[str]:
        logs = [put(work / f"n{number}", kind.entry) for number in range(nodes)]
        place = ",".join(f"n{number}={log}" for number, log in enumerate(logs)) if nodes > 1 else str(logs[0])
        given = [word.replace("WORK", str(work)) for word in more]
        result = run_cli(["follow", place, "--once", "--consumer", "c", *given, *words(kind.options)])
        assert result.code == 0, result.err
        return result.err.splitlines()

    return run


def program_of_python(work: Path, kind: Kind) -> Sequence[str]:
    said: list[str] = []

    class Takes:
        def start(self, state: object) -> None: ...

        def on_definitions(self, changes: object) -> None: ...

        def on_changes(self, batch: object) -> bool:
            return True

        def stop(self) -> None: ...

    tailer.run(put(work, kind.entry), Takes(), name="c", once=True, say=said.append, **python_options(kind))
    return said


def batches_of_python(work: Path, kind: Kind) -> Sequence[str]:
    return drained(put(work, kind.entry), python_options(kind))


def images_of_python(work: Path, kind: Kind) -> Sequence[str]:
    return drained(put(work, kind.entry), {**python_options(kind), "image": "after"})


def drained(place: Path, options: dict[str, Any]) -> Sequence[str]:
    log = tailer.open(place, consumer="c", **options)
    for _ in log.follow(once=True):
        pass
    return log.notices


def spark_options(log: Path, kind: Kind) -> SourceOptions:
    names = {"on_error": "onError", "quarantine_tables": "quarantineTables"}
    return parse_options({"path": str(log), **{names[name]: str(value) for name, value in kind.options.items()}})


def query_of_spark(work: Path, kind: Kind) -> Sequence[str]:
    """The source of a query: its driver's side. Images and tables that a query keeps are made of its rows."""
    said: list[str] = []
    log = put(work, kind.entry)
    options = spark_options(log, kind).of("local", once=False)
    node = Node("local", log, replace(options, settle_seconds=0.0), None, said.append)
    try:
        start = node.initial()
        node.stand(start)
        while node.plan(UNLIMITED)[0]:
            assert node.handed is not None
            node.tasks(start, node.handed)
            start = node.handed
            node.stand(start)
    finally:
        node.close()
    return said


def batch_of_spark(work: Path, kind: Kind) -> Sequence[str]:
    options = spark_options(put(work, kind.entry), kind)
    with redirect_stderr(io.StringIO()) as said:
        CdcTailReader(options, StructType()).partitions()
    return said.getvalue().splitlines()


LOOPS: dict[str, Loop] = {
    "terminal": command("--output", "json"),
    "files": command("--to", "files:WORK/out"),
    "database": command("--to", "sqlite:WORK/changes.db", "--into", "changes"),
    "images": command("--image", "after", "--output", "json"),
    "images into a table": command(
        "--image", "after", "--to", "sqlite:WORK/kept.db", "--mode", "table", "--into", "{table}"
    ),
    "two nodes": command("--output", "json", nodes=2),
    "two nodes into files": command("--to", "files:WORK/out", nodes=2),
    "two nodes' images": command("--image", "after", "--output", "json", nodes=2),
    "tailer.run": program_of_python,
    "tailer.open": batches_of_python,
    "tailer.open, images": images_of_python,
    "a query of Spark": query_of_spark,
    "a batch of Spark": batch_of_spark,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loop", LOOPS)
def test_each_loop_tells_of_each_kind(loop: str, kind: str, tmp_path: Path) -> None:
    said = LOOPS[loop](tmp_path, KINDS[kind])
    first = next((number for number, line in enumerate(said) if re.search(KINDS[kind].first, line)), None)
    assert first is not None, said
    assert any(re.search(KINDS[kind].last, line) for line in said[first + 1 :]), said


@dataclass
class Live:
    """`follow` of a log that grows, in a process of its own."""

    log: GrowingLog
    process: subprocess.Popen[bytes]
    errors: Path

    def said(self) -> list[str]:
        return self.errors.read_text().splitlines()

    def await_said(self, pattern: str) -> None:
        until = time.monotonic() + LIVE_SECONDS
        while not any(re.search(pattern, line) for line in self.said()):
            assert time.monotonic() < until, self.said()
            assert self.process.poll() is None, self.said()
            time.sleep(0.05)

    def write(self, *entries: bytes) -> None:
        self.log.section(entries)
        self.log.publish()

    def stop(self) -> list[str]:
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(LIVE_SECONDS) == 0, self.said()
        return self.said()


def live(work: Path, options: Sequence[str]) -> Iterator[Live]:
    log = GrowingLog(work, FIRST)
    log.section([create_payload(KNOWN), known(1)])
    log.publish()
    errors = work / "stderr"
    arguments = ["follow", str(log.folder), "--consumer", "c", *(word.replace("WORK", str(work)) for word in options)]
    with open(errors, "wb") as err, open(work / "stdout", "wb") as out:
        process = subprocess.Popen(
            program(arguments, CTRL_C), stdout=out, stderr=err, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
    try:
        yield Live(log, process, errors)
    finally:
        process.kill()
        process.wait()


LIVE = {
    "terminal": ["--output", "json"],
    "files": ["--to", "files:WORK/out"],
    "images": ["--image", "after", "--output", "json"],
    "images into a table": ["--image", "after", "--to", "sqlite:WORK/kept.db", "--mode", "table", "--into", "{table}"],
}


@pytest.mark.parametrize("loop", LIVE)
def test_a_run_without_an_end_tells_at_once(loop: str, tmp_path: Path) -> None:
    for run in live(tmp_path, [*LIVE[loop], "--on-error", "quarantine"]):
        run.write(odd(2))
        run.await_said(r"warning: .*ks.known at \d+:\d+.*The entry was put into quarantine\.")
        run.write(odd(3), known(4), odd(5))
        said = run.stop()
    assert re.search(r"warning: \d entries were put into quarantine$", said[-1]), said


ROWS = {"terminal": 4, "images": 5}
"""Of images one tells of the ALTER."""
VALUES = {"terminal": ["--output", "json"], "images": ["--image", "after", "--output", "json"]}


@pytest.mark.parametrize("loop", VALUES)
def test_values_that_a_typed_form_has_no_column_for_are_told_at_once(loop: str, tmp_path: Path) -> None:
    more = Column("w", "regular", "int")
    wider = replace(KNOWN, columns=(*KNOWN.columns, more))

    def row(number: int) -> bytes:
        return encode_mutation((Update(wider, i32(number), (Row((b"x",), cells=(("w", Cell(i32(7), TS)),)),)),))

    for run in live(tmp_path, [*VALUES[loop], "--typed", "ks.known", "--on-schema-change", "ignore"]):
        until = time.monotonic() + LIVE_SECONDS
        while not (tmp_path / "stdout").read_bytes():
            assert time.monotonic() < until, run.said()
            time.sleep(0.05)
        run.write(alter_payload(KNOWN, more), row(2))
        run.await_said('warning: 1 values of column "w" were left out')
        run.write(row(3), row(4))
        until = time.monotonic() + LIVE_SECONDS
        while len((tmp_path / "stdout").read_bytes().splitlines()) < ROWS[loop]:
            assert time.monotonic() < until, run.said()
            time.sleep(0.05)
        said = run.stop()
    assert any('warning: 3 values of column "w" were left out' in line for line in said), said


def test_a_row_that_a_database_refuses_is_told_at_once(tmp_path: Path) -> None:
    """The first, and how many they were."""
    target, log = tmp_path / "changes.db", LogFolder(tmp_path / "cdc_raw")
    run = [
        "follow",
        log.path,
        "--once",
        "--consumer",
        "c",
        "--to",
        f"sqlite:{target}",
        "--into",
        "changes",
        "--on-error",
        "quarantine",
    ]
    writer = segment_of(FIRST, [[create_payload(KNOWN), known(1)]])
    log.put(writer, completed(writer))
    assert run_cli(run).code == 0
    with closing(sqlite3.connect(target)) as database:
        database.execute(
            "CREATE TRIGGER no BEFORE INSERT ON changes WHEN NEW.partition_key LIKE '%7%' "
            "BEGIN SELECT RAISE(ABORT, 'no sevens'); END"
        )
    writer = segment_of(FIRST + 1, [[known(7), known(8), known(77)]])
    log.put(writer, completed(writer))
    result = run_cli(run)
    assert result.code == 0, result.err
    said = result.err.splitlines()
    first = next(number for number, line in enumerate(said) if "no sevens" in line and "The row was put into" in line)
    assert "cdc-tail: warning: 2 entries were put into quarantine" in said[first + 1 :]
