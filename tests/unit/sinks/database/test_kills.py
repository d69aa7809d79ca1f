"""A run killed with SIGKILL while it commits, and a server that is killed under it: rows and position always agree.

CI kills each three times, `make soak` as often as `COUNT` says: fifty.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tailer.state.log_folder import state_folder
from tests.helpers.cli import ROOT
from tests.helpers.long_run import long_run
from tests.unit.sinks.database.conftest import made
from tests.unit.sinks.database.followed import agreed, log, values, words
from tests.unit.sinks.database.targets import Postgresql, Target

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
SEGMENTS, ROWS = 10 + 3 * KILLS, 4
ALL = list(range(1, SEGMENTS * ROWS + 1))

pytestmark = pytest.mark.slow


def started(folder: Path, target: Target) -> subprocess.Popen[bytes]:
    run = [sys.executable, "-c", "from tailer.cli.app import run; run()", *words(folder, target, "--commit-rows", "1")]
    return subprocess.Popen(run, cwd=ROOT, env={**os.environ}, stderr=subprocess.PIPE)


def moved(folder: Path, since: float, process: subprocess.Popen[bytes]) -> float:
    """Until the consumer's position moves, or the run ends; when it moved."""
    file = state_folder(folder) / "consumers" / "c.json"
    while process.poll() is None:
        if file.exists() and file.stat().st_mtime != since:
            return file.stat().st_mtime
        time.sleep(0.001)
    return since


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "delta", "postgresql", "files"])
def test_killed_while_it_commits(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    target: Target = made(kind, tmp_path) if kind != "postgresql" else request.getfixturevalue("postgresql")
    folder, chance, since = log(tmp_path, SEGMENTS, ROWS), random.Random(7), 0.0
    for _ in range(KILLS):
        with started(folder, target) as process:
            since = moved(folder, since, process)
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
        agreed(target, folder)
    with started(folder, target) as process:
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert agreed(target, folder) == len(ALL)
    assert values(target) == ALL


def test_the_server_is_killed_under_it(postgresql: Postgresql, tmp_path: Path) -> None:
    """The run goes on by itself each time: nobody starts it again."""
    folder, chance, since = log(tmp_path, SEGMENTS, ROWS), random.Random(8), 0.0
    with started(folder, postgresql) as process:
        for _ in range(KILLS):
            since = moved(folder, since, process)
            time.sleep(chance.uniform(0, 0.05))
            postgresql.server.kill()
            postgresql.server.start()
            agreed(postgresql, folder)
            if process.poll() is None:
                moved(folder, since, process)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert agreed(postgresql, folder) == len(ALL)
    assert values(postgresql) == ALL


def test_the_server_is_away_for_a_while(postgresql: Postgresql, tmp_path: Path) -> None:
    """Where the run begins."""
    folder = log(tmp_path, 3, 2)
    postgresql.server.stop()
    with long_run(words(folder, postgresql, "--retry-for", "2min"), tmp_path / "said") as run:
        run.await_that(lambda: "Trying again" in run.said())
        postgresql.server.start()
        run.ended()
        assert "there again" in run.said()
    assert values(postgresql) == [1, 2, 3, 4, 5, 6]
