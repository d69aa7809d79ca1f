"""Killed at any moment, our side or the broker: every row is there once, and at each moment rows and position agree.

Few kills here; `CDC_TAIL_SOAK=50` (make soak SOAK=kafka) as many as it says.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tailer.state.log_folder import state_folder
from tests.helpers.cli import ROOT
from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_topics import places, read
from tests.server.kafka.logs import log_of, positions, table, words

pytestmark = [pytest.mark.server, pytest.mark.slow]

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
SEED = int(os.environ.get("CDC_TAIL_SEED", "1"))
IN_SEGMENT, SEGMENTS = 5, 40
"""Each segment is a transaction: the log has work for some seconds."""
RUNS_SECONDS = 1.0
"""About so long a run takes from its first commit to its last."""
PATIENCE_SECONDS = 120.0


@contextmanager
def running(broker: Broker, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run in a process of its own."""
    command = [*map(str, words(broker, folder)), "--create-topics", "--commit-rows", str(IN_SEGMENT)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CDC_TAIL_JIT": "0"}
    program = [sys.executable, "-c", "from tailer.cli.app import run; run()", *command]
    with subprocess.Popen(program, env=environment, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[bytes]) -> None:
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, said.decode()


class Log:
    """A log that grows by a piece for each kill, and what is in its topic."""

    def __init__(self, broker: Broker, folder: Path, name: str) -> None:
        self.folder, self.rows = folder, 0
        self._broker, self._name = broker, name

    def grow(self) -> None:
        log_of(self.folder, table(self._name), IN_SEGMENT, SEGMENTS, first=self.rows)
        self.rows += IN_SEGMENT * SEGMENTS

    def await_commit(self, process: subprocess.Popen[bytes]) -> None:
        """Returns when the run has committed something, by what its state says."""
        file = state_folder(self.folder) / "consumers" / "c.json"
        before = file.read_bytes() if file.exists() else None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            stands = file.read_bytes() if file.exists() else None
            if stands != before and before is not None:
                return
            # Where there was none, the first is the beginning.
            before = stands
            assert process.poll() is None, process.communicate()[1].decode()
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def delivered(self) -> int:
        """How many rows are committed: the first ones of the log, each once, with the position behind the last.

        A commit reaches one partition a moment before the other.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            rows = [each.row for each in read(self._broker, f"ks.{self._name}")]
            stands = places(self._broker, positions(self.folder)).get("n1", {"offset": {"s": 0, "o": 0}})["offset"]
            assert [row["columns"]["v"] for row in rows] == list(range(len(rows)))
            last = (rows[-1]["segment"], rows[-1]["offset"]) if rows else (0, -1)
            beyond = (stands["s"], stands["o"]) > last
            # A segment is a commit here: whoever stands in one has its rows.
            if beyond and (not rows or stands["s"] == last[0] or self.rows == len(rows)):
                return len(rows)
            assert time.monotonic() < deadline, (last, stands)
            time.sleep(0.1)


def test_our_process_is_killed(broker: Broker, tmp_path: Path) -> None:
    log, chance = Log(broker, tmp_path / "cdc_raw", "killed"), random.Random(SEED)
    found = []
    for _ in range(KILLS):
        log.grow()
        with running(broker, log.folder) as process:
            log.await_commit(process)
            time.sleep(chance.uniform(0.0, RUNS_SECONDS))
        found.append(log.delivered())
    with running(broker, log.folder) as process:
        ended(process)
    assert log.delivered() == log.rows
    assert any(each % (IN_SEGMENT * SEGMENTS) for each in found), "no kill came in the middle"


def test_the_broker_is_killed(broker: Broker, tmp_path: Path) -> None:
    log, chance = Log(broker, tmp_path / "cdc_raw", "broker_killed"), random.Random(SEED)
    for _ in range(KILLS):
        log.grow()
        with running(broker, log.folder) as process:
            log.await_commit(process)
            time.sleep(chance.uniform(0.0, RUNS_SECONDS))
            broker.kill()
            time.sleep(chance.uniform(0.0, 2.0))
            broker.start()
            ended(process)
        assert log.delivered() == log.rows
