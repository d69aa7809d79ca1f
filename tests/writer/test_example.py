"""The example of the docs: a service that is killed loses no order that it said to be placed."""

from __future__ import annotations

import os
import runpy
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import tailer

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "docs/example/shop.py"


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(SHOP), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def placed(service: subprocess.Popen[str], count: int) -> int:
    """The last order that it said to be placed, when it has said so of `count`."""
    assert service.stdout is not None
    last = 0
    for _ in range(count):
        last = int(service.stdout.readline().split()[1])
    return last


def test_the_shop_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    last = 0
    for _ in range(2):
        with start(folder) as service:
            assert service.stdout is not None
            assert int(service.stdout.readline().split()[-1]) >= last
            last = placed(service, 5)
            service.send_signal(signal.SIGKILL)
    with start(folder) as service:
        assert service.stdout is not None
        service.stdout.readline()
        placed(service, 1)
        service.send_signal(signal.SIGKILL)
    # Killed between the log and the store, the store is behind until it catches up.
    runpy.run_path(str(SHOP))["Shop"](folder).log.close()
    stored = sqlite3.connect(folder / "shop.db").execute("SELECT number, status FROM orders ORDER BY number").fetchall()
    numbers = [number for number, _ in stored]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > last
    statuses: dict[int, str] = {}
    for batch in tailer.open(folder / "cdc_raw", table="shop.orders").read():
        for row in batch.select(["number", "status"]).to_pylist():
            statuses[row["number"]] = row["status"]
    assert statuses == dict(stored)
