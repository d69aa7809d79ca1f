"""What differs between the databases of `--to jdbc`, and the statements. Texts only: opens nothing.

A micro-batch is first written into a table beside the target, by as many tasks as Spark likes; one statement then moves
it, passing over keys that are there. So a batch is in the target whole or not at all; a second time changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tailer.errors import UsageError
from tailer.sinks.database.names import listed, quoted


@dataclass(frozen=True, slots=True)
class Database:
    """One kind. `types`: column types by Spark's type names; those without an entry are written as text.

    `unlogged`: how a table is made that may be empty after a crash. `writers`: tasks that may write at once, 0 = any.
    `name_limit`: how many bytes a name may have; `cuts`: the database cuts longer ones, instead of taking them whole.
    """

    scheme: str
    driver: str
    package: str
    types: Mapping[str, str]
    unlogged: str
    writers: int
    name_limit: int
    cuts: bool


_COMMON: Final = {
    "string": "TEXT",
    "boolean": "BOOLEAN",
    "tinyint": "SMALLINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "REAL",
    "double": "DOUBLE PRECISION",
}

POSTGRESQL: Final = Database(
    "jdbc:postgresql:",
    "org.postgresql.Driver",
    "org.postgresql:postgresql:42.7.8",
    {**_COMMON, "decimal": "NUMERIC", "date": "DATE", "timestamp": "TIMESTAMP WITH TIME ZONE", "binary": "BYTEA"},
    "CREATE UNLOGGED TABLE",
    0,
    63,
    True,
)
# Decimals and times stay text: SQLite has no type that keeps all their digits.
SQLITE: Final = Database(
    "jdbc:sqlite:",
    "org.sqlite.JDBC",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    {**_COMMON, "binary": "BLOB"},
    "CREATE TABLE",
    1,
    # SQLite has no limit of its own; this is the one that `follow --to sqlite` has.
    200,
    False,
)

_SECRET: Final = re.compile(r"[?&;](user|password)=", re.IGNORECASE)


def database_of(url: str) -> Database:
    """The database that a URL is of. UsageError for one that we do not know, and for secrets in it."""
    if _SECRET.search(url):
        raise UsageError(
            "--url with a user or password: others can see command lines",
            remedy="Put them into CDC_TAIL_JDBC_USER and CDC_TAIL_JDBC_PASSWORD.",
        )
    for database in (POSTGRESQL, SQLITE):
        if url.startswith(database.scheme):
            if database is SQLITE and (url == SQLITE.scheme or "memory" in url.partition("?")[2] or ":memory:" in url):
                raise UsageError("--url", expected="jdbc:sqlite:FILE; memory is gone when the run ends", found=url)
            return database
    raise UsageError("--url", expected="jdbc:postgresql://HOST/DATABASE or jdbc:sqlite:FILE", found=repr(url))


def column_type(database: Database, spark_type: str) -> str:
    """What a column of a Spark type (its `simpleString`) is in the database."""
    name, bracket, digits = spark_type.partition("(")
    return database.types.get(name, "TEXT") + (bracket + digits if name == "decimal" in database.types else "")


def is_kept(database: Database, spark_type: str) -> bool:
    """Whether values of this Spark type go there as they are; the others as text."""
    return spark_type.partition("(")[0] in database.types


def check_columns(database: Database, names: Iterable[str]) -> None:
    """UsageError for a column whose name would not stay what it is."""
    for name in names:
        if database.cuts and len(name.encode()) > database.name_limit:
            raise UsageError(
                f"the database cuts the name of column {name}",
                expected=f"at most {database.name_limit} bytes",
                found=len(name.encode()),
                remedy="Send this table's rows in the generic form (without --typed).",
            )


def create_target(database: Database, table: str, columns: Mapping[str, str], key: str) -> str:
    """`columns`: Spark types by name."""
    parts = [
        f"{quoted(name)} {column_type(database, kind)}{' PRIMARY KEY' if name == key else ''}"
        for name, kind in columns.items()
    ]
    return f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(parts)})"


def create_batch(database: Database, batch: str, columns: Mapping[str, str]) -> str:
    """The table beside the target. Without a key: a task that Spark tries twice may have written twice."""
    parts = [f"{quoted(name)} {column_type(database, kind)}" for name, kind in columns.items()]
    return f"{database.unlogged} {batch} ({', '.join(parts)})"


def move(table: str, batch: str, columns: Sequence[str], key: str) -> str:
    """All rows of the batch whose key is not there yet."""
    names = listed(tuple(columns))
    # Without a WHERE, SQLite takes ON for a join's.
    return (
        f"INSERT INTO {table} ({names}) SELECT {names} FROM {batch} WHERE true ON CONFLICT ({quoted(key)}) DO NOTHING"
    )
