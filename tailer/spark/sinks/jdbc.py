"""Rows into a table of PostgreSQL or SQLite, exactly once by the key `event_id` (see `database.py` for how).

Spark's own JDBC writer brings a micro-batch there; our one connection, in the driver's JVM, moves it in a transaction.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tailer.errors import CdcError, SinkError, SystemFailedError, UsageError
from tailer.sinks.database.names import check_table, quoted, with_hash
from tailer.spark.errors import find_error
from tailer.spark.quoting import quoted_name
from tailer.spark.sinks.base import PlainSink
from tailer.spark.sinks.database import (
    check_columns,
    create_batch,
    create_target,
    database_of,
    is_kept,
    move,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

USER: Final = "CDC_TAIL_JDBC_USER"
PASSWORD: Final = "CDC_TAIL_JDBC_PASSWORD"

VALID_SECONDS: Final = 10
_SQL_ERROR: Final = re.compile(r"(?:SQL|SQLite|PSQL)\w*Exception: (.+)")


class JdbcSink(PlainSink):
    """Change rows in a table, which is made if it is not there. `key`: the column that is the same for the same row.

    `run`: what tells this query from others into the same table.
    """

    max_bytes = "64m"
    """One transaction."""

    def __init__(self, url: str, table: str, key: str, run: str) -> None:
        self._url = url
        self._database = database_of(url)
        self._table = check_table(table, self._database.name_limit)
        self._key = key
        # Within the limit: PostgreSQL cuts a longer name, which could make it the target's or another query's.
        self._batch = with_hash(table, run, self._database.name_limit)
        self._names: tuple[str, ...] = ()
        self._connection: Any = None
        self._connect: Any = None
        self.name = f"table {table} of {url.partition('?')[0]}"

    def packages(self) -> tuple[str, ...]:
        return (self._database.package,)

    def prepare(self, session: SparkSession, frame: DataFrame) -> None:
        """The tables, and a move of no rows: the database itself says what is wrong with columns or key."""
        kinds = {field.name: field.dataType.simpleString() for field in frame.schema}
        self._names = tuple(kinds)
        check_columns(self._database, self._names)
        self._connect = _connector(session, self._database.driver, self._url, _login())
        with _told():
            self._run(create_target(self._database, self._table, kinds, self._key))
            self._check_columns(kinds)
            self._run(f"DROP TABLE IF EXISTS {self._batch}", create_batch(self._database, self._batch, kinds))
            self._run(self._moving())

    def writer(self, frame: DataFrame) -> Any:
        return frame.writeStream.foreachBatch(self.take)

    def take(self, frame: DataFrame, number: int) -> None:
        """One micro-batch, as Spark hands it over."""
        try:
            with _told():
                self._run(f"DELETE FROM {self._batch}")
                self._bring(frame)
                self._run(self._moving(), f"DELETE FROM {self._batch}")
        except CdcError as error:
            self.failure = error
            raise

    def close(self) -> None:
        if self._connection is not None:
            with _told():
                self._run(f"DROP TABLE IF EXISTS {self._batch}")
                self._connection.close()

    def _bring(self, frame: DataFrame) -> None:
        from tailer.spark.sinks.nested import as_written

        kept = partial(is_kept, self._database)
        columns = [as_written(frame[quoted_name(field.name)], field, kept) for field in frame.schema]
        options = {"url": self._url, "dbtable": self._batch, "driver": self._database.driver, **_login()}
        if self._database.writers:
            options["numPartitions"] = str(self._database.writers)
        frame.select(*columns).write.format("jdbc").mode("append").options(**options).save()

    def _moving(self) -> str:
        return move(self._table, self._batch, self._names, self._key)

    def _check_columns(self, kinds: Mapping[str, str]) -> None:
        statement = self._open().createStatement()
        try:
            found = statement.executeQuery(f"SELECT * FROM {self._table} WHERE 1 = 0").getMetaData()
            there = {found.getColumnName(number + 1) for number in range(found.getColumnCount())}
        finally:
            statement.close()
        missing = [name for name in kinds if name not in there]
        if missing:
            raise UsageError(
                f"table {self._table} is there, and has no column {', '.join(map(quoted, missing))}",
                remedy="Add what is missing (ALTER TABLE … ADD COLUMN), or choose another table.",
            )

    def _run(self, *statements: str) -> None:
        """In one transaction."""
        connection = self._open()
        try:
            statement = connection.createStatement()
            for text in statements:
                statement.executeUpdate(text)
            statement.close()
            connection.commit()
        except BaseException:
            self._connection = None
            # It rolls back; and where the server is gone it fails as the statement did.
            with suppress(Exception):
                connection.close()
            raise

    def _open(self) -> Any:
        """The connection; a new one where the server has ended it since."""
        if self._connection is None or not self._connection.isValid(VALID_SECONDS):
            self._connection = self._connect()
            self._connection.setAutoCommit(False)
        return self._connection


def _login() -> dict[str, str]:
    named = {"user": os.environ.get(USER), "password": os.environ.get(PASSWORD)}
    return {name: value for name, value in named.items() if value}


def _connector(session: SparkSession, driver: str, url: str, login: Mapping[str, str]) -> Any:
    """What opens a connection. Not through DriverManager: it does not see drivers that were brought as packages."""
    jvm: Any = session.sparkContext._jvm
    made = jvm
    for part in driver.split("."):
        made = getattr(made, part)
    properties = jvm.java.util.Properties()
    for name, value in login.items():
        properties.setProperty(name, value)
    return lambda: made().connect(url, properties)


@contextmanager
def _told() -> Iterator[None]:
    """What the database says, as a documented error."""
    try:
        yield
    except CdcError:
        raise
    except Exception as error:
        raise _documented(error) from error


def _documented(error: Exception) -> CdcError:
    """The source's, if it was that: its rows are read in here. Else by SQLSTATE: 08 and 57P are a connection that is
    gone, 28 a login that is refused."""
    of_source = find_error(str(error))
    if of_source is not None:
        return of_source
    sentence, state = _of_database(error)
    if sentence is None:
        found = _SQL_ERROR.search(str(error))
        sentence = found[1].strip() if found else str(error).strip().splitlines()[0]
    if state.startswith(("08", "57P")):
        return SystemFailedError(f"the connection to the database: {sentence}", remedy="Start again when it is back.")
    if state.startswith("28"):
        return UsageError(f"the database refuses the login: {sentence}", remedy=f"Set {USER} and {PASSWORD}.")
    return SinkError(f"the database did not take the rows: {sentence}")


def _of_database(error: Exception) -> tuple[str | None, str]:
    """The database's own sentence and SQLSTATE, wherever in the chain of causes it is."""
    cause: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    sentence, state = None, ""
    while cause is not None:
        if "SQL" in cause.getClass().getSimpleName() and "spark" not in cause.getClass().getName():
            sentence = " ".join(str(cause.getMessage()).split()).removesuffix(".")
            state = cause.getSQLState() or ""
        cause = cause.getCause()
    return sentence, state
