"""More nodes and segments than a process may have files open: all rows come, or the run ends and says what it lacks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from shlex import join

import pytest

from tests.helpers.cli import ROOT, program
from tests.helpers.many_nodes import many_nodes

NODES, SEGMENTS, FEW_SEGMENTS = 50, 60, 10
NAMES = [f"n{number}" for number in range(1, NODES + 1)]


def ran(words: list[str], limit: int) -> subprocess.CompletedProcess[str]:
    """With so many descriptors, as the error says how to set them."""
    shell = ["sh", "-c", f"ulimit -n {limit}; exec {join(words)}"]
    return subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_a_query_that_ends_has_the_rows_of_all_nodes(tmp_path: Path) -> None:
    many_nodes(tmp_path, NODES, SEGMENTS)
    done = ran([sys.executable, "-m", "tests.helpers.many_nodes", str(tmp_path)], 1024)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == dict.fromkeys(NAMES, SEGMENTS)
    assert "is away" not in done.stderr


@pytest.mark.parametrize("once", [True, False], ids=["once", "live"])
def test_a_follower_of_all_nodes(tmp_path: Path, once: bool) -> None:
    logs = many_nodes(tmp_path, NODES, FEW_SEGMENTS)
    places = ",".join(f"{name}={path}" for name, path in logs.items())
    words = program(["follow", places, "--output", "json", "--consumer", "c", *(["--once"] if once else [])])
    few = ran(words, 64)
    assert few.returncode == 8, few.stderr
    assert "Too many open files" in few.stderr
    assert "This process may have 64 files open: raise that (`ulimit -n` before the start" in few.stderr
    assert "is away" not in few.stderr
    if once:
        enough = ran(words, 512)
        assert enough.returncode == 0, enough.stderr
        # Behind an error a terminal may have rows twice: where the run stood could not be written.
        rows = {(row["node"], row["segment"]) for row in map(json.loads, (few.stdout + enough.stdout).splitlines())}
        assert Counter(node for node, _ in rows) == dict.fromkeys(NAMES, FEW_SEGMENTS)
