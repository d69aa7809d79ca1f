"""A run of images killed with SIGKILL while it commits to a target: each image is there once, and the chain goes on.

CI kills each three times, `make soak` as often as `COUNT` says: fifty.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT
from tests.helpers.data_files import lines_of
from tests.unit.sinks.database.conftest import made
from tests.unit.sinks.database.followed import log, words
from tests.unit.sinks.database.targets import Files, Target
from tests.unit.sinks.database.test_kills import moved

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
SEGMENTS, ROWS = 10 + 3 * KILLS, 4
ALL = list(range(1, SEGMENTS * ROWS + 1))

pytestmark = pytest.mark.slow


def started(folder: Path, target: Target, mode: str) -> subprocess.Popen[bytes]:
    run = [sys.executable, "-c", "from tailer.cli.app import run; run()", *words(folder, target, "--commit-rows", "1")]
    return subprocess.Popen(
        [*run, "--image", "after", "--mode", mode], cwd=ROOT, env={**os.environ}, stderr=subprocess.PIPE
    )


def values(target: Target) -> list[int]:
    if isinstance(target, Files):
        return [image["after"]["v"] for image in lines_of(target.folder / "images")]
    return [json.loads(after)["v"] for (after,) in target.rows("changes", ["after"])]


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        *((kind, "changes") for kind in ("sqlite", "duckdb", "delta", "postgresql", "files")),
        *((kind, "table") for kind in ("sqlite", "duckdb", "postgresql")),
    ],
)
def test_killed_while_it_commits(kind: str, mode: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    target: Target = made(kind, tmp_path) if kind != "postgresql" else request.getfixturevalue("postgresql")
    folder, chance, since = log(tmp_path, SEGMENTS, ROWS), random.Random(7), 0.0
    for _ in range(KILLS):
        with started(folder, target, mode) as process:
            since = moved(folder, since, process)
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
    with started(folder, target, mode) as process:
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    if mode == "table":
        assert sorted(target.ask("SELECT pk, ck, v FROM changes")) == [(value, "a", value) for value in ALL]
    else:
        assert values(target) == ALL
