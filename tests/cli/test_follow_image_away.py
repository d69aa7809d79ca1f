"""Images while a target, or all nodes, are away: nothing is lost, time goes on, and whoever asks to stop is heard."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.cli.test_follow_image import logs, path_of
from tests.helpers.cli import ROOT, program, run_cli
from tests.unit.spark.test_nodes_away import Log
from tests.unit.tail.images.test_state import expiring, log_of

__all__ = ["logs"]

PATIENCE_SECONDS = 60.0


def words(logs: dict[str, Log], file: Path, *more: str) -> list[str]:
    run = ["follow", path_of(logs), "--consumer", "c", "--image", "after", "--to", f"sqlite:{file}", "--mode", "table"]
    return [*run, "--into", "t", *more]


def keys(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 't'").fetchall():
            return []
        return [ck for (ck,) in database.execute("SELECT ck FROM t ORDER BY ck")]


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_run_that_is_stopped_while_its_target_is_away(logs: dict[str, Log], tmp_path: Path) -> None:
    file = tmp_path / "kept.db"
    assert run_cli([*words(logs, file), "--once"]).code == 0
    with subprocess.Popen(program(words(logs, file)), cwd=ROOT, stderr=subprocess.PIPE, text=True) as running:
        try:
            logs["n1"].write("c")
            until(lambda: keys(file) == ["a", "b", "c"])
            with closing(sqlite3.connect(file, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                logs["n2"].write("d")
                until(lambda: "locked" in run_cli(["status", str(logs["n1"].path)]).out)
                running.send_signal(signal.SIGTERM)
                _, said = running.communicate(timeout=PATIENCE_SECONDS)
        finally:
            running.kill()
    assert running.returncode == 0, said
    assert "database is locked" in said
    assert "stopped while the target was away" in said
    assert keys(file) == ["a", "b", "c"]
    assert run_cli([*words(logs, file), "--once"]).code == 0
    assert keys(file) == ["a", "b", "c", "d"]


def test_a_target_that_stays_away_ends_the_run(logs: dict[str, Log], tmp_path: Path) -> None:
    file = tmp_path / "kept.db"
    assert run_cli([*words(logs, file), "--once"]).code == 0
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        logs["n1"].write("c")
        ended = run_cli([*words(logs, file, "--retry-for", "1s"), "--once"])
        assert (ended.code, "database is locked" in ended.err) == (8, True), ended.err
        other.rollback()
    assert run_cli([*words(logs, file), "--once"]).code == 0
    assert keys(file) == ["a", "b", "c"]


def test_what_a_ttl_ends_while_all_nodes_are_away(tmp_path: Path) -> None:
    ends = int(time.time()) + 12
    nodes = {name: log_of(tmp_path / name / "cdc_raw", [expiring(1, ends)]) for name in ("n1", "n2")}
    place = ",".join(f"{name}={log.path}" for name, log in nodes.items())
    file = tmp_path / "kept.db"
    kept = [*words({}, file)[2:], "--image-state", str(tmp_path / "images")]
    with (
        subprocess.Popen(program(["follow", place, *kept]), cwd=ROOT, stderr=subprocess.PIPE, text=True) as running,
        subprocess.Popen(
            program(["follow", place, "--consumer", "d", "--image", "both", "--output", "json"]),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as shown,
    ):
        try:
            assert shown.stdout is not None
            first = json.loads(shown.stdout.readline())
            until(lambda: keys(file) == ["a"])
            for log in nodes.values():
                log.path.rename(log.path.with_name("away"))
            last = json.loads(shown.stdout.readline())
            while last["op"] == "read":
                # The other node has shown the CREATE: the row is complete.
                last = json.loads(shown.stdout.readline())
            until(lambda: keys(file) == [])
        finally:
            for each in (running, shown):
                each.send_signal(signal.SIGTERM)
            running.communicate(timeout=PATIENCE_SECONDS)
    assert first["op"] in {"insert", "upsert"}, "by whether the other node has shown the CREATE by then"
    assert (last["op"], last["before"], last["after"]) == ("expire", first["after"], None)
    assert time.time() >= ends
