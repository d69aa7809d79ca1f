"""A service with a consumer in its own process, killed with SIGKILL again and again: nothing lost, nothing saved early.

CI kills it a few times, `make soak` as often as `COUNT` says.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

from tests.helpers.cli import ROOT
from tests.writer.consuming_service import SAFE_EVERY, TABLE, ToFile
from writer_hooks import SegmentLog

SOAK = os.environ.get("CDC_TAIL_SOAK")
KILLS = int(SOAK) if SOAK else 3


def run_and_kill(folder: Path, out: Path, seconds: float) -> list[int]:
    """The numbers that were durable when the service was killed."""
    command = [sys.executable, "-m", "tests.writer.consuming_service", str(folder), str(out)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as service:
        lines: list[bytes] = []
        reader = threading.Thread(target=lambda: lines.extend(service.stdout or []))
        reader.start()
        deadline = time.monotonic() + 60
        while len(lines) < 20 and service.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(seconds)
        assert service.poll() is None, "the service ended by itself"
        service.kill()
        reader.join()
    assert lines[0] == b"ready\n"
    return [int(line) for line in lines[1:] if line.endswith(b"\n")]


def runs_of(out: Path) -> list[list[str]]:
    """The lines of each run."""
    runs: list[list[str]] = []
    for line in out.read_text().splitlines():
        if line == "begin":
            runs.append([])
        else:
            runs[-1].append(line)
    return runs


def numbers(lines: list[str]) -> list[int]:
    return [int(line.split()[1]) for line in lines if line.startswith("row")]


def test_killed_again_and_again(tmp_path: Path) -> None:
    folder, out = tmp_path / "log", tmp_path / "rows"
    folder.mkdir()
    rng = random.Random(KILLS)
    durable: list[int] = []
    for _ in range(KILLS):
        durable += run_and_kill(folder, out, rng.uniform(0.05, 0.8))
    with SegmentLog.open(folder, [TABLE]) as log:
        running = log.run_in_thread(ToFile(out), name="file")
    assert running.join(60)
    runs = runs_of(out)
    assert len(runs) == KILLS + 1
    events: dict[int, set[str]] = {}
    for line in (line for run in runs for line in run if line.startswith("row")):
        _, number, event = line.split()
        events.setdefault(int(number), set()).add(event)
    assert sorted(events) == list(range(1, max(events) + 1)), "a row is lost"
    assert set(durable) <= set(events)
    assert all(len(each) == 1 for each in events.values()), "a row came again under another event_id"
    for run in runs:
        rows = numbers(run)
        assert not rows or rows == list(range(rows[0], rows[-1] + 1)), "one run gives each row once and in order"
    check_saved(runs)


def check_saved(runs: list[list[str]]) -> None:
    """What was certainly saved does not come again, and what was certainly not said to be safe does."""
    for before, after in pairwise(runs):
        again = numbers(after)
        if not numbers(before) or not again:
            continue
        saves = [at for at, line in enumerate(before) if line == "saved"]
        sure = numbers(before[: saves[-1]]) if saves else []
        assert not sure or again[0] > sure[-1], "a row that was saved came again"
        since = before[saves[-1] :] if saves else before
        if numbers(since) and since.count("unsaved") < SAFE_EVERY - 1:
            # Too few batches for another answer of True.
            assert again[0] == numbers(since)[0], "a row that nobody said to be safe did not come again"
