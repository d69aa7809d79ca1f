"""A service killed with SIGKILL again and again, a reader beside it all the time.

CI kills it a few times, `make soak` six times as often as `COUNT` says: hundreds.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.helpers.cli import ROOT
from tests.writer.crash.reader import Delivered, read_folder
from tests.writer.service import SECOND_THREAD
from tests.writer.tailing import tailed

SOAK = os.environ.get("CDC_TAIL_SOAK")
KILLS = 6 * int(SOAK) if SOAK else 6


class Watcher:
    """The model's reader beside the service: every look begins at the oldest segment, and what was seen stays seen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: list[Delivered] = []
        self.error: BaseException | None = None

    def look(self) -> None:
        names = sorted(path.name for path in self.folder.glob("*"))
        # The sidecars first: what they promise must be in the logs by then.
        files: dict[str, bytes] = {}
        for name in sorted(names, key=lambda name: name.endswith(".log")):
            try:
                files[name] = (self.folder / name).read_bytes()
            except FileNotFoundError:
                assert name.replace(".log", "_cdc.idx") not in files, f"{name} is gone"
        rows = read_folder(files, strict=False).rows
        assert rows[: len(self.seen)] == self.seen, "a row that was read is gone, or one came late"
        self.seen = rows

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Looks all the time, in a thread."""
        stop = threading.Event()

        def run() -> None:
            try:
                while not stop.wait(0.05):
                    self.look()
            except BaseException as error:
                self.error = error

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        if self.error is not None:
            raise self.error


def run_and_kill(folder: Path, seconds: float) -> tuple[list[int], list[list[int]]]:
    """What the service replayed, and the commits that it acknowledged before it was killed."""
    command = [sys.executable, "-m", "tests.writer.service", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, env={**os.environ}) as service:
        assert service.stdout is not None
        lines: list[bytes] = []
        reader = threading.Thread(target=lambda: lines.extend(service.stdout or []))
        reader.start()
        deadline = time.monotonic() + 60
        while b"ready\n" not in lines and service.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(seconds)
        assert service.poll() is None, "the service ended by itself"
        service.kill()
        reader.join()
    told = [line.split() for line in lines if line.endswith(b"\n")]
    assert told[0][0] == b"replayed"
    assert told[1] == [b"ready"]
    return [int(word) for word in told[0][1:]], [[int(word) for word in words] for words in told[2:]]


def test_killed_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "cdc_raw").mkdir()
    watcher = Watcher(tmp_path / "cdc_raw")
    rng = random.Random(KILLS)
    acknowledged: list[list[int]] = []
    replayed: list[int] = []
    with watcher.looking():
        for number in range(KILLS):
            again, told = run_and_kill(tmp_path, rng.uniform(0.05, 0.6) if number else 1.0)
            replayed += again
            missing = {number for commit in acknowledged for number in commit} - set(replayed)
            assert not missing, f"acknowledged and not replayed: {sorted(missing)[:10]}"
            acknowledged += told
    again, _ = run_and_kill(tmp_path, 0.0)
    replayed += again
    watcher.look()
    assert tailed(tmp_path / "cdc_raw") == watcher.seen
    read = [row.number for row in watcher.seen]
    seen = {number for number in read if number}
    lost = {number for commit in acknowledged for number in commit if number % 10 or number > SECOND_THREAD} - seen
    assert not lost, f"acknowledged and not read: {sorted(lost)[:10]}"
    assert 0 not in read, "a row of a transaction that was never committed"
    check_threads(read)
    check_threads(replayed)
    print(f"{KILLS} kills, {len(acknowledged)} commits acknowledged, {len(read)} rows read")


def check_threads(numbers: list[int]) -> None:
    """Each thread's numbers in order, none twice, none left out."""
    first = [number for number in numbers if number < SECOND_THREAD]
    second = [number - SECOND_THREAD for number in numbers if number > SECOND_THREAD]
    assert first == sorted(set(first))
    assert second == list(range(1, len(second) + 1))
    assert len(second) % 3 == 0
