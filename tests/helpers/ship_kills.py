"""A follower into data files and their shipper while a service writes, and what is done to them and to their target.

Some times in CI, in `make soak` as often as `CDC_TAIL_SOAK` says.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.helpers.cli import ROOT, program, run_cli
from tests.helpers.data_files import indexes
from tests.helpers.shipping import sent
from writer_hooks import SegmentLog, Table

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
WITHIN_SECONDS = 0.15
"""Of its first work a process is killed."""
PATIENCE_SECONDS = 60.0
NODE = "n1"
_ROLLING = ("--roll-seconds", "0.02", "--roll-bytes", "5k")


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


class Pair:
    """Both processes. `out`: the data files. What is done is drawn from `chance`."""

    def __init__(self, folder: Path, to: str, more: Sequence[str]) -> None:
        self.out = folder / "out"
        self.out.mkdir()
        log = f"{folder}/data/cdc_raw"
        self.commands: dict[str, list[str]] = {
            "follow": ["follow", log, "--node", NODE, "--consumer", "c", "--to", f"files:{self.out}"],
            "ship": ["ship", str(self.out), "--to", to, *more],
        }
        self.chance = random.Random(KILLS)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._began: dict[str, int] = {}

    def start(self, name: str) -> None:
        words = [*self.commands[name], *(_ROLLING if name == "follow" else ())]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "CDC_TAIL_JIT": "0"}
        self._began[name] = self._progress(name)
        self._running[name] = subprocess.Popen(program(words), env=environment, stderr=subprocess.PIPE)

    def kill(self, name: str) -> None:
        """With SIGKILL, and it never ended before in a way of its own."""
        process = self._running[name]
        assert process.poll() is None, process.communicate()[1].decode()
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)
        self.start(name)

    def await_progress(self, name: str) -> None:
        """Since its start, or since the last time that it was waited for."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._progress(name) <= self._began[name]:
            process = self._running[name]
            assert process.poll() is None, process.communicate()[1].decode()
            assert time.monotonic() < deadline, f"{name} does nothing"
            time.sleep(0.02)
        self._began[name] = self._progress(name)

    def end(self) -> None:
        """Both end well, and what is left is done."""
        for process in self._running.values():
            process.terminate()
        for name, process in self._running.items():
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
            assert process.returncode == 0, f"{name}: {said.decode()}"
        for words in self.commands.values():
            ran = run_cli([*words, "--once"])
            assert ran.code == 0, ran.err

    def give_up(self) -> None:
        for process in self._running.values():
            process.kill()
            process.communicate()

    def _progress(self, name: str) -> int:
        """How many files were written, or sent."""
        if name == "follow":
            return max((int(path.name[5:17]) for path in (self.out / NODE).glob("*.idx.json")), default=0)
        return sent(self.out, NODE)


def killed(folder: Path, to: str, kill: Callable[[Pair], None], *more: str) -> list[int]:
    """`kill` is done `KILLS` times; the ids of all rows, once all is sent. `more`: words of the shipper."""
    pair = Pair(folder, to, more)
    with service(folder / "data") as durable:
        try:
            for name in pair.commands:
                pair.start(name)
            for _ in range(KILLS):
                kill(pair)
            for name in pair.commands:
                pair.await_progress(name)
        except BaseException:
            pair.give_up()
            raise
    pair.end()
    assert len(indexes(pair.out / NODE)) == 1
    return durable


def ours(pair: Pair) -> None:
    """The follower, the shipper or both, in the middle of what they do."""
    names = pair.chance.choice((["follow"], ["ship"], ["follow", "ship"]))
    for name in names:
        pair.await_progress(name)
    time.sleep(pair.chance.uniform(0, WITHIN_SECONDS))
    for name in names:
        pair.kill(name)


def theirs(kill: Callable[[], None], start: Callable[[], None]) -> Callable[[Pair], None]:
    """The target, while it is sent to; it is away for a moment."""

    def act(pair: Pair) -> None:
        pair.await_progress("ship")
        time.sleep(pair.chance.uniform(0, WITHIN_SECONDS))
        kill()
        time.sleep(pair.chance.uniform(0, 3 * WITHIN_SECONDS))
        start()

    return act


def ids(lines: Sequence[bytes]) -> list[int]:
    """Of rows as JSON."""
    return [json.loads(line)["partition_key"]["id"] for line in lines]
