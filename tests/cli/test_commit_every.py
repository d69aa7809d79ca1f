"""`follow` killed in the middle of a section: what was taken before the batch in hand does not come again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tailer.reading.reader import CHUNK_ENTRIES
from tests.helpers.cli import ROOT, run_cli
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table

ROWS = 4 * CHUNK_ENTRIES
TAKEN = 2 * CHUNK_ENTRIES + CHUNK_ENTRIES // 2
"""Lines that are read: the third batch is being written then, and the pipe holds little of it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One section, far below what one step reads."""
    table = simple_table("ks", "t")
    rows = [insert_payload(table, number, "a", number) for number in range(ROWS)]
    made = segment_of(1_700_000_000_001, [[create_payload(table), *rows]])
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(made, completed(made))
    return folder.path


@pytest.mark.parametrize(("every", "most"), [("batch", CHUNK_ENTRIES), ("9000 rows", 9000 + CHUNK_ENTRIES)])
def test_a_kill_gives_again_what_was_not_saved_alone(folder: Path, every: str, most: int) -> None:
    words = ["follow", str(folder), "--once", "--output", "json", "--consumer", "c", "--commit-every", every]
    process = subprocess.Popen(
        [sys.executable, "-c", "from tailer.cli.app import run; run()", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    with process.stdout as lines:
        taken = [value(next(lines)) for _ in range(TAKEN)]
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert taken == list(range(TAKEN))
    again = [value(line.encode()) for line in run_cli(words).lines]
    assert again == list(range(ROWS - len(again), ROWS)), "all that is left, once"
    assert 0 < TAKEN - again[0] <= most
    assert (again[0] == 0) == (every != "batch")


def value(line: bytes) -> int:
    found: int = json.loads(line)["columns"]["v"]
    return found
