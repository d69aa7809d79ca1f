"""A follower that writes data files and their shipper, each killed with SIGKILL again and again while a service writes:
every row is in the target once, in order.

CI kills a few times, `make soak` as often as `COUNT` says.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tests.helpers.cli import ROOT, program, run_cli
from tests.helpers.data_files import indexes, lines_of
from writer_hooks import SegmentLog, Table

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
WITHIN_SECONDS = (0.3, 1.3)
"""Half of it goes by before a process does anything."""


class Order(msgspec.Struct):
    id: int


ORDERS = Table.of(Order, "shop.orders", key=["id"])


@contextmanager
def service(folder: Path) -> Iterator[list[int]]:
    """Writes rows, some hundred a second, as long as the block lasts; the ids of those that are durable."""
    stop, durable = threading.Event(), []

    def write(log: SegmentLog) -> None:
        while not stop.wait(0.003):
            log.append(ORDERS.insert(Order(len(durable)))).wait()
            durable.append(len(durable))

    folder.mkdir()
    with SegmentLog.open(folder, [ORDERS], segment_bytes=1 << 16) as log:
        thread = threading.Thread(target=write, args=(log,))
        thread.start()
        try:
            yield durable
        finally:
            stop.set()
            thread.join()


def start(words: list[str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CDC_TAIL_JIT": "0"}
    return subprocess.Popen(program(words), env=environment, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_killed_again_and_again(tmp_path: Path) -> None:
    out, two = tmp_path / "out", tmp_path / "two"
    out.mkdir()
    commands = {
        "follow": ["follow", f"{tmp_path}/data/cdc_raw", "--consumer", "c", "--to", f"files:{out}"],
        "ship": ["ship", str(out), "--to", f"files:{two}"],
    }
    often = {"follow": ["--roll-seconds", "0.02", "--roll-bytes", "5k"], "ship": []}
    rng = random.Random(KILLS)
    with service(tmp_path / "data") as durable:
        running = {name: start([*words, *often[name]]) for name, words in commands.items()}
        for _ in range(KILLS):
            time.sleep(rng.uniform(*WITHIN_SECONDS))
            for name in rng.choice((["follow"], ["ship"], ["follow", "ship"])):
                ended(running[name], by_kill=True)
                running[name] = start([*commands[name], *often[name]])
        time.sleep(WITHIN_SECONDS[1])
    for process in running.values():
        process.terminate()
    for process in running.values():
        ended(process, by_kill=False)
    for words in commands.values():
        ran = run_cli([*words, "--once"])
        assert ran.code == 0, ran.err
    found = lines_of(two / "local")
    assert [row["partition_key"]["id"] for row in found] == durable
    assert len({row["event_id"] for row in found}) == len(found)
    assert len(indexes(out / "local")) == 1
    print(f"{KILLS} kills, {len(found)} rows in {len(indexes(two / 'local'))} files")


def ended(process: subprocess.Popen[bytes], *, by_kill: bool) -> None:
    """Kill it, or see that it ends by itself; it never ended before in a way of its own."""
    assert process.poll() is None, process.communicate()[1].decode()
    if by_kill:
        process.kill()
    _, said = process.communicate(timeout=60)
    assert process.returncode == (-9 if by_kill else 0), said.decode()
