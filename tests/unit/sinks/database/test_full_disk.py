"""A disk that is full, a real one of a few megabytes: exit 8, and the same command goes on where there is room again.

Files on it; a server whose tables are on it; a server that has all on it, and ends when its own log has no room.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.helpers.postgres import PASSWORD, Postgres, UnavailableError
from tests.helpers.small_disk import SmallDisk, small_disk
from tests.unit.sinks.database.conftest import made
from tests.unit.sinks.database.followed import agreed, follow, log, values
from tests.unit.sinks.database.targets import Postgresql, Target

ALL = list(range(1, 21))
FIRST = ("--until", "1700000000001:0")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", 8) as made_:
        yield made_


@contextmanager
def server_on(disk: SmallDisk) -> Iterator[Postgres]:
    """All that it has is on the disk."""
    try:
        server = Postgres(disk.folder)
        server.start()
    except UnavailableError as error:
        pytest.skip(str(error))
    try:
        yield server
    finally:
        server.remove()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "delta"])
def test_a_full_disk(kind: str, disk: SmallDisk, tmp_path: Path) -> None:
    folder, target = log(tmp_path), made(kind, disk.folder)
    assert follow(folder, target, *FIRST).code == 0
    disk.fill()
    ran = follow(folder, target)
    assert ran.code == 8, ran.err
    disk.make_room()
    agreed(target, folder)
    done: Target = made(kind, disk.folder)
    assert follow(folder, done).code == 0
    assert values(done) == ALL


def test_a_server_whose_tables_have_no_room(postgresql: Postgresql, tmp_path: Path) -> None:
    """The table cannot be made longer: SQLSTATE 53100, from a disk and not from a trigger."""
    place = postgresql.server.folder / f"tables-{postgresql.name}"
    rows = 500
    folder = log(tmp_path, 4, rows)
    with small_disk(place, 16) as disk:
        postgresql.server.own(place)
        postgresql.run(f"CREATE TABLESPACE {postgresql.name} LOCATION '{place}'")
        postgresql.run(f"ALTER DATABASE {postgresql.name} SET default_tablespace = {postgresql.name}")
        assert follow(folder, postgresql, *FIRST).code == 0
        disk.fill()
        began = time.monotonic()
        ran = follow(folder, postgresql)
        assert ran.code == 8, ran.err
        assert "No space left on device" in ran.err
        assert "Free space on the server" in ran.err
        assert time.monotonic() - began < 5, "it is of no use to try again"
        assert agreed(postgresql, folder) == rows
        disk.make_room()
        assert follow(folder, postgresql).code == 0
        assert agreed(postgresql, folder) == 4 * rows
        postgresql.run("DROP TABLE changes, cdc_tail_positions")
        postgresql.run(f"ALTER DATABASE {postgresql.name} RESET ALL", f"DROP TABLESPACE {postgresql.name}")


def test_a_server_that_ends_for_want_of_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own log has no room: it panics, cannot recover, and is away for as long as that is so."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    folder = log(tmp_path)
    place = Path(tempfile.gettempdir()) / f"cdc-tail-disk-{os.getpid()}"
    with small_disk(place, 128) as disk, server_on(disk) as server:
        target = Postgresql(server, "small")
        assert follow(folder, target, *FIRST).code == 0
        disk.fill()
        # The next file of its log has no room.
        with suppress(psycopg.OperationalError):
            target.run("SELECT pg_switch_wal()", "CREATE TABLE one_more (a int)", "CHECKPOINT")
        ran = follow(folder, target, "--retry-for", "2s")
        assert ran.code == 8, ran.err
        assert "PANIC" in (server.folder / "log").read_text()
        disk.make_room()
        server.start()
        assert agreed(target, folder) == 5
        assert follow(folder, target).code == 0
        assert values(target) == ALL
