"""What only a server can do wrong: logins, rights, commits whose answer is lost, full disks, another writer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.helpers.cli import ROOT, run_cli
from tests.helpers.cut_proxy import CutProxy, When
from tests.helpers.postgres import PASSWORD
from tests.unit.sinks.database.followed import agreed, follow, log, values, words
from tests.unit.sinks.database.targets import Postgresql

ALL = list(range(1, 21))


@pytest.fixture
def proxied(postgresql: Postgresql) -> Iterator[tuple[Postgresql, CutProxy]]:
    """The same database by way of a proxy."""
    proxy = CutProxy(postgresql.server.port)
    yield postgresql, proxy
    proxy.close()


@pytest.mark.parametrize("when", ["after", "late"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_commit_whose_answer_is_lost(
    when: When, number: int, proxied: tuple[Postgresql, CutProxy], tmp_path: Path
) -> None:
    """It was done, or is still to be done when the run asks again: nothing is sent twice, and nobody is suspected."""
    target, proxy = proxied
    folder = log(tmp_path)
    command = words(folder, target, "--commit-rows", "1")
    direct = target.to
    command[command.index(direct)] = direct.replace(f":{target.server.port}/", f":{proxy.port}/")
    proxy.arm(b"COMMIT", when, seconds=0.5, skip=number)
    ran = run_cli(command)
    assert ran.code == 0, ran.err
    assert proxy.cuts == 1
    assert "Trying again" in ran.err
    assert agreed(target, folder) == len(ALL)
    assert values(target) == ALL


def test_another_writer_is_shut_out(postgresql: Postgresql, tmp_path: Path) -> None:
    """Two processes, on machines with a copy of the state each: the second to commit ends with exit 6."""
    folder = log(tmp_path)
    assert follow(folder, postgresql, "--until", "1700000000001:0").code == 0
    command = [sys.executable, "-c", "from tailer.cli.app import run; run()", *words(folder, postgresql)]
    with psycopg.connect(postgresql.to) as other:
        # The other one is inside its commit, and moves the position.
        other.execute("UPDATE cdc_tail_positions SET position = replace(position, '\"o\":', '\"o\":1')")
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, env={**os.environ})
        waits_for_a_row(postgresql)
        other.commit()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 6, said
    assert b"somebody else" in said


def waits_for_a_row(target: Postgresql, seconds: float = 120.0) -> None:
    """Until somebody in this database waits for what another transaction holds."""
    end = time.monotonic() + seconds
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(target.to, autocommit=True) as asking:
        while asking.execute(waiting).fetchone() == (0,):
            assert time.monotonic() < end, "nobody waits for the row"
            time.sleep(0.05)


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_wrong_password(
    password: str | None, postgresql: Postgresql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD")
    if password:
        monkeypatch.setenv("PGPASSWORD", password)
    ran = follow(log(tmp_path), postgresql)
    assert ran.code == 2
    assert "PGPASSWORD" in ran.err


@pytest.mark.parametrize("where", ["cdc:secret@", "cdc@"])
def test_no_password_on_the_command_line(where: str, postgresql: Postgresql, tmp_path: Path) -> None:
    folder = log(tmp_path)
    query = "" if "secret" in where else "?password=secret"
    command = words(folder, postgresql)
    command[command.index(postgresql.to)] = postgresql.to.replace("cdc@", where) + query
    ran = run_cli(command)
    assert ran.code == 2
    assert "command lines" in ran.err
    assert "secret" not in ran.err


def test_a_node_needs_a_name(postgresql: Postgresql, tmp_path: Path) -> None:
    command = words(log(tmp_path), postgresql)
    command[command.index("--node") + 1] = "local"
    ran = run_cli(command)
    assert ran.code == 2
    assert "--node" in ran.err


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("postgresql://cdc@127.0.0.1:{port}/nowhere", "nowhere"),
        ("postgresql://nobody@127.0.0.1:{port}/postgres", "nobody"),
    ],
)
def test_a_database_or_user_that_is_not_there(to: str, told: str, postgresql: Postgresql, tmp_path: Path) -> None:
    command = words(log(tmp_path), postgresql)
    command[command.index(postgresql.to)] = to.format(port=postgresql.server.port)
    ran = run_cli(command)
    assert ran.code == 2
    assert told in ran.err


def test_missing_rights(postgresql: Postgresql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    role = f"weak_{postgresql.name}"
    postgresql.run(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
    folder = log(tmp_path)
    command = words(folder, postgresql)
    command[command.index(postgresql.to)] = postgresql.to.replace("cdc@", f"{role}@")
    ran = run_cli(command)
    assert ran.code == 2
    assert "Grant" in ran.err
    postgresql.run(f"GRANT CREATE ON SCHEMA public TO {role}")
    assert run_cli(command).code == 0
    assert values(postgresql) == ALL


def test_a_server_that_takes_no_writes(postgresql: Postgresql, tmp_path: Path) -> None:
    """A standby, or the former primary behind a failover: it is waited for."""
    folder = log(tmp_path)
    postgresql.run(f"ALTER DATABASE {postgresql.name} SET default_transaction_read_only = on")
    over = threading.Timer(
        1.0,
        lambda: postgresql.run(
            "SET default_transaction_read_only = off", f"ALTER DATABASE {postgresql.name} RESET ALL"
        ),
    )
    over.start()
    ran = follow(folder, postgresql)
    over.join()
    assert ran.code == 0, ran.err
    assert "read-only" in ran.err
    assert values(postgresql) == ALL


def test_a_trigger_that_says_the_disk_is_full(postgresql: Postgresql, tmp_path: Path) -> None:
    """Exit 8 at once: to try again would not help."""
    folder = log(tmp_path)
    assert follow(folder, postgresql, "--until", "1700000000001:0").code == 0
    postgresql.run(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE 'No space left' USING ERRCODE = '53100'; END $$",
        "CREATE TRIGGER full_disk BEFORE INSERT ON changes FOR EACH ROW EXECUTE FUNCTION full_disk()",
    )
    ran = follow(folder, postgresql)
    assert ran.code == 8
    assert "Free space" in ran.err
    assert "Trying again" not in ran.err
    agreed(postgresql, folder)
    postgresql.run("DROP TRIGGER full_disk ON changes")
    assert follow(folder, postgresql).code == 0
    assert values(postgresql) == ALL


def test_a_constraint_that_is_checked_at_the_end(postgresql: Postgresql, tmp_path: Path) -> None:
    """It is found where the row is."""
    postgresql.run("CREATE TABLE known (op text PRIMARY KEY)")
    postgresql.run(
        "CREATE TABLE changes (event_id text PRIMARY KEY, op text REFERENCES known DEFERRABLE INITIALLY DEFERRED)"
    )
    folder = log(tmp_path)
    ran = follow(folder, postgresql)
    assert ran.code == 7
    assert "refuses the row" in ran.err
    postgresql.run("INSERT INTO known VALUES ('insert')")
    assert follow(folder, postgresql).code == 0


def test_a_restored_backup_gets_what_it_lost(postgresql: Postgresql, tmp_path: Path) -> None:
    """Rows and position of an earlier time, as after a failover to an older copy."""
    folder = log(tmp_path)
    assert follow(folder, postgresql, "--until", "1700000000001:0").code == 0
    postgresql.run("CREATE TABLE kept AS SELECT * FROM cdc_tail_positions")
    assert follow(folder, postgresql).code == 0
    postgresql.run(
        "DELETE FROM cdc_tail_positions",
        "INSERT INTO cdc_tail_positions SELECT * FROM kept",
        'DELETE FROM changes WHERE "segment" > 1700000000000',
    )
    assert follow(folder, postgresql).code == 0
    assert values(postgresql) == ALL
    assert json.loads(postgresql.position() or "")["s"] == 1_700_000_000_003
