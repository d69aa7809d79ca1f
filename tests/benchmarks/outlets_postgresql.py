"""What does the outlet for PostgreSQL take, beside a bare COPY of the same rows?

One real server, which syncs its log as it is set to. A process for each run over one full 32 MiB segment (an archive or
an unpacked folder, with `schema.cql`; see README.md), compiled code on the disk. Behind each the very rows that are in
the table go by `COPY … FROM STDIN (FORMAT BINARY)`, the same bytes in one transaction, into a table of the same columns
with the same key, and into one without: what the server itself takes. Rows/s of `follow` count the whole process,
start-up included; peak memory is what the kernel tells of it when it ends.

    python -m tests.benchmarks.outlets_postgresql PERF_ARCHIVE --repeat 5 --keep
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.benchmarks.measured import FOLLOW, compile_ahead, figure, high, low, medians, schema_in, unpacked
from tests.benchmarks.script import Begun, perf_parser, published
from tests.benchmarks.throughput import measure
from tests.helpers.postgres import PASSWORD, Postgres

NAME = "outlets_postgresql"
QUESTION = "How many rows/s go into PostgreSQL, beside a bare COPY of the same rows, and with what memory?"
FORMS = {"generic": "change rows", "typed": "typed rows"}
COPIES = {"copy": "bare COPY into a table with the same key", "copy_no_key": "bare COPY into a table without a key"}
BLOCK = 1 << 20
Round = dict[str, dict[str, float]]


def one_round(server: Postgres, folder: Path, options: Sequence[str | Path], table: str) -> Round:
    """Each form and its copies, one after another, each form in a database of its own."""
    found: Round = {}
    for form in FORMS:
        typed = ["--typed", table] if form == "typed" else []
        with tempfile.TemporaryDirectory() as parent, database(server) as to:
            found |= _one_form(form, to, Path(parent), [folder, *options, *typed])
    return found


@contextmanager
def database(server: Postgres) -> Iterator[str]:
    """Its URL. It is gone behind the block."""
    with psycopg.connect(server.to, autocommit=True) as connection:
        connection.execute("CREATE DATABASE bench")
    try:
        yield server.to.replace("/postgres", "/bench")
    finally:
        with psycopg.connect(server.to, autocommit=True) as connection:
            connection.execute("DROP DATABASE bench WITH (FORCE)")


def _one_form(form: str, to: str, parent: Path, words: Sequence[str | Path]) -> Round:
    run = ["--once", "--state", parent / "state", "--node", "n1", "--consumer", "bench", "--to", to, "--into", "rows"]
    found = measure([*FOLLOW, *words, *run], pipe=False)
    with psycopg.connect(to, autocommit=True) as connection:
        bytes_of_rows = _copied_out(connection, parent / "rows")
        connection.execute("CREATE TABLE copy (LIKE rows INCLUDING ALL)")
        connection.execute("CREATE TABLE copy_no_key (LIKE rows)")
        rows = connection.execute("SELECT count(*) FROM rows").fetchall()[0][0]
        copies = {name: _copied_in(connection, parent / "rows", name) for name in COPIES}
        for name in COPIES:
            (there,) = connection.execute(f"SELECT count(*) FROM {name}".encode()).fetchall()[0]
            if there != rows:
                raise RuntimeError(f"{name} has {there} rows of {rows}")
    counted = {"rows": float(rows), "mib_of_rows": bytes_of_rows / 2**20}
    taken = {form: {**found, **counted, "rows_per_second": round(rows / found["seconds"])}}
    for name, seconds in copies.items():
        taken[f"{form}, {name}"] = {"rows": float(rows), "seconds": seconds, "rows_per_second": round(rows / seconds)}
    return taken


def _copied_out(connection: psycopg.Connection[Any], file: Path) -> int:
    """The table's rows in PostgreSQL's binary form; how many bytes."""
    statement = "COPY rows TO STDOUT (FORMAT BINARY)"
    with file.open("wb") as out, connection.cursor() as cursor, cursor.copy(statement) as copy:
        for data in copy:
            out.write(data)
    return file.stat().st_size


def _copied_in(connection: psycopg.Connection[Any], file: Path, table: str) -> float:
    """The seconds until all of it is committed."""
    connection.execute("CHECKPOINT")
    began = time.perf_counter()
    statement = f"COPY {table} FROM STDIN (FORMAT BINARY)".encode()
    with file.open("rb") as data, connection.cursor() as cursor, cursor.copy(statement) as copy:
        while block := data.read(BLOCK):
            copy.write(block)
    return round(time.perf_counter() - began, 3)


def run(perf: Path, table: str, repeat: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, {}, repeat, perf)
    compile_ahead()
    os.environ["PGPASSWORD"] = PASSWORD
    server = Postgres(fsync=True)
    try:
        server.start()
        with tempfile.TemporaryDirectory() as parent:
            folder = unpacked(perf, Path(parent))
            schema = schema_in(folder)
            options: list[str | Path] = ["--schema", schema] if schema is not None else []
            rounds = [one_round(server, folder, options, table) for _ in range(repeat)]
    finally:
        server.remove()
    return begun.result(medians=medians(rounds), figures=list(figures(rounds)), runs=rounds)


def figures(rounds: Sequence[Mapping[str, Mapping[str, float]]]) -> Iterator[dict[str, Any]]:
    """The lines of the table."""
    for form, what in FORMS.items():
        rates = high([each[form]["rows_per_second"] for each in rounds])
        yield figure(f"`--to postgresql:`, {what}: whole process", "rows/s", rates)
        yield figure(
            f"`--to postgresql:`, {what}: peak memory", "MiB", low([each[form]["peak_mib"] for each in rounds])
        )
        for name, how in COPIES.items():
            other = f"{form}, {name}"
            yield figure(f"{how}, {what}", "rows/s", high([each[other]["rows_per_second"] for each in rounds]))
            times = low([each[form]["seconds"] / each[other]["seconds"] for each in rounds])
            yield figure(f"`--to postgresql:`, {what}: time beside a {how}", "×", times)


def main(arguments: Sequence[str] | None = None) -> int:
    return published(perf_parser(NAME, QUESTION, 5), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
