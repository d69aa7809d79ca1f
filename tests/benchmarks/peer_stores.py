"""Where a service could keep its rows instead: SQLite, LMDB, a file of JSON lines; and this project's log.

Each is opened in a folder of its own and gives a function that returns when the rows it was given are kept, in one
transaction or one sync. Nothing here measures anything.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import util
from pathlib import Path

import msgspec

from writer_hooks import SegmentLog, Table, batch


class Sale(msgspec.Struct):
    """A row of about 200 bytes."""

    number: int
    article: str
    note: str
    price: float


SALES = Table.of(Sale, "bench.sales", key=["number"])
NOTE = "n" * 150

Write = Callable[[Sequence[Sale]], None]


def sale(number: int) -> Sale:
    return Sale(number, "tea", NOTE, 1.5)


@contextmanager
def own_log(folder: Path) -> Iterator[Write]:
    """`writer_hooks` under `batch`; the first segment is there, and the spare."""
    with SegmentLog.open(folder, [SALES], sync=batch()) as log:

        def write(rows: Sequence[Sale]) -> None:
            log.append_many(map(SALES.insert, rows)).wait()

        write([sale(0)])
        time.sleep(0.3)
        yield write


@contextmanager
def sqlite_table(folder: Path, synchronous: str) -> Iterator[Write]:
    """SQLite in WAL mode, one connection. NORMAL does not sync at a commit: what a power loss takes was committed."""
    connection = sqlite3.connect(folder / "rows.db", isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute("CREATE TABLE sales (number INTEGER PRIMARY KEY, article TEXT, note TEXT, price REAL)")

        def write(rows: Sequence[Sale]) -> None:
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO sales VALUES (?, ?, ?, ?)", map(msgspec.structs.astuple, rows))
            connection.execute("COMMIT")

        yield write
    finally:
        connection.close()


@contextmanager
def lmdb_table(folder: Path) -> Iterator[Write]:
    """LMDB as it is by default: a commit is synced. Values are msgpack; keys come in order and are told to."""
    import lmdb

    pack = msgspec.msgpack.Encoder().encode
    with lmdb.open(str(folder), map_size=8 << 30) as environment:

        def write(rows: Sequence[Sale]) -> None:
            with environment.begin(write=True) as transaction:
                for row in rows:
                    transaction.put(row.number.to_bytes(8, "big"), pack(row), append=True)

        yield write


@contextmanager
def json_lines(folder: Path) -> Iterator[Write]:
    """A file that is appended to, a line of JSON a row, and `fdatasync`."""
    encode = msgspec.json.Encoder().encode_lines
    fd = os.open(folder / "rows.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:

        def write(rows: Sequence[Sale]) -> None:
            data = encode(rows)
            assert os.write(fd, data) == len(data)
            os.fdatasync(fd)

        yield write
    finally:
        os.close(fd)


STORES = {
    "writer_hooks": own_log,
    "SQLite FULL": partial(sqlite_table, synchronous="FULL"),
    "SQLite NORMAL": partial(sqlite_table, synchronous="NORMAL"),
    "LMDB": lmdb_table,
    "JSON lines": json_lines,
}


def left_out() -> dict[str, str]:
    """What cannot be measured here, and why."""
    return {} if util.find_spec("lmdb") else {"LMDB": "the package lmdb is not installed"}
