"""A server for all tests of this folder, and a database of each kind for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.postgres import PASSWORD, Postgres, started
from tests.unit.sinks.database.targets import Deltalake, Duckdb, Files, Postgresql, Sqlite, Target

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    yield from started()


@pytest.fixture
def postgresql(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> Postgresql:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return Postgresql(server, f"test{next(_NUMBERS)}")


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """One of each kind, empty."""
    if request.param == "postgresql":
        found: Target = request.getfixturevalue("postgresql")
        return found
    return made(request.param, tmp_path)


@pytest.fixture(params=["sqlite", "duckdb", "delta", "postgresql"])
def any_target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """Those, and a Delta table."""
    if request.param == "postgresql":
        found: Target = request.getfixturevalue("postgresql")
        return found
    return made(request.param, tmp_path)


def made(kind: str, folder: Path) -> Target:
    return {"sqlite": Sqlite, "duckdb": Duckdb, "delta": Deltalake, "files": Files}[kind](folder)
