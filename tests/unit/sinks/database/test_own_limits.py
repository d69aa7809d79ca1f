"""A database's file that cannot be opened because this process may open no more files: its own lack, no wrong path."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tailer.errors import CdcError, OwnLimitError, UsageError
from tailer.sinks.database.columns import TargetForm
from tailer.sinks.database.duckdb import DuckdbStore
from tailer.sinks.database.sqlite import SqliteStore
from tests.helpers.few_files import few_files

NO_FORM = TargetForm((), ())


def told(store: SqliteStore) -> CdcError | None:
    """What a run is told that opens the file, and writes."""
    try:
        store.connect()
        store.run("CREATE TABLE IF NOT EXISTS t (id)")
        store.run("INSERT INTO t VALUES (1)")
    except CdcError as error:
        return error
    except sqlite3.Error as error:
        return store.documented(error)
    return None


@pytest.mark.parametrize("left", [0, 1, 2])
@pytest.mark.parametrize("there", [False, True], ids=["made", "there"])
def test_sqlite(left: int, there: bool, tmp_path: Path) -> None:
    """It opens its file, the log beside it and their index, and says of each that the file cannot be opened."""
    store = SqliteStore(tmp_path / "target.db", NO_FORM)
    if there:
        store.connect()
        store.run("CREATE TABLE t (id)")
        store.close()
    with few_files(left):
        found = told(store)
    assert isinstance(found, OwnLimitError), found
    assert "LimitNOFILE" in found.sentence()
    assert "(/)" not in found.sentence(), "where it was tried is nobody's file"
    store.connect()
    store.close()


def test_sqlite_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unable to open database file"):
        SqliteStore(tmp_path / "none" / "target.db", NO_FORM).connect()


def test_duckdb(tmp_path: Path) -> None:
    store = DuckdbStore(tmp_path / "target.db", NO_FORM)
    with few_files(0), pytest.raises(Exception, match="Too many open files") as refused:
        store.begin()
    found = store.documented(refused.value)
    assert isinstance(found, OwnLimitError)
    assert "LimitNOFILE" in found.sentence()
