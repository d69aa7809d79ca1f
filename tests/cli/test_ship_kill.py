"""A follower that writes data files and their shipper, each killed with SIGKILL again and again while a service writes:
every row is in the target once, in order; over HTTP at least once, and once for who remembers numbers.

CI kills a few times, `make soak` as often as `COUNT` says.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import cramjam
import msgspec
import pytest

from tests.helpers.cli import ROOT, program, run_cli
from tests.helpers.data_files import indexes, lines_of
from tests.helpers.web_server import serving
from writer_hooks import SegmentLog, Table

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
WITHIN_SECONDS = 0.15
"""Of its first work a process is killed."""
PATIENCE_SECONDS = 60.0


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


def kill(folder: Path, to: str) -> list[int]:
    """The follower and the shipper, killed now one and now the other or both; the ids of all rows when all is done."""
    out = folder / "out"
    out.mkdir()
    commands = {
        "follow": ["follow", f"{folder}/data/cdc_raw", "--consumer", "c", "--to", f"files:{out}"],
        "ship": ["ship", str(out), "--to", to],
    }
    often = {"follow": ["--roll-seconds", "0.02", "--roll-bytes", "5k"], "ship": []}
    rng = random.Random(KILLS)
    with service(folder / "data") as durable:
        running = {name: start([*words, *often[name]]) for name, words in commands.items()}
        began = {name: progress(out, name) for name in running}
        for _ in range(KILLS):
            names = rng.choice((["follow"], ["ship"], ["follow", "ship"]))
            for name in names:
                await_progress(out, name, began[name], running[name])
            time.sleep(rng.uniform(0, WITHIN_SECONDS))
            for name in names:
                ended(running[name], by_kill=True)
                began[name] = progress(out, name)
                running[name] = start([*commands[name], *often[name]])
        for name, process in running.items():
            await_progress(out, name, began[name], process)
    for process in running.values():
        process.terminate()
    for process in running.values():
        ended(process, by_kill=False)
    for words in commands.values():
        ran = run_cli([*words, "--once"])
        assert ran.code == 0, ran.err
    assert len(indexes(out / "local")) == 1
    return durable


@pytest.mark.slow
def test_into_a_folder(tmp_path: Path) -> None:
    durable = kill(tmp_path, f"files:{tmp_path / 'two'}")
    found = lines_of(tmp_path / "two" / "local")
    assert [row["partition_key"]["id"] for row in found] == durable
    assert len({row["event_id"] for row in found}) == len(found)
    print(f"{KILLS} kills, {len(found)} rows in {len(indexes(tmp_path / 'two' / 'local'))} files")


@pytest.mark.slow
def test_over_http(tmp_path: Path) -> None:
    with serving() as server:
        durable = kill(tmp_path, f"{server.url}/changes")
    numbers = [int(request.headers["Cdc-Tail-Number"]) for request in server.requests]
    known = {request.headers["Idempotency-Key"]: request.body for request in server.requests}
    assert [number for number, _ in groupby(numbers)] == list(range(1, len(known) + 1))
    assert all(known[request.headers["Idempotency-Key"]] == request.body for request in server.requests)
    lines = b"".join(bytes(cramjam.zstd.decompress(body)) for body in known.values()).splitlines()
    assert [json.loads(line)["partition_key"]["id"] for line in lines] == durable
    print(f"{KILLS} kills, {len(numbers)} requests with {len(known)} files")


def progress(out: Path, name: str) -> int:
    """How many files were written, or sent."""
    if name == "follow":
        return max((int(path.name[5:17]) for path in (out / "local").glob("*.idx.json")), default=0)
    file = out / ".cdc_tail" / "consumers" / "ship.json"
    sent = json.loads(file.read_text())["nodes"].get("local") if file.exists() else None
    return 0 if sent is None else int(sent["upto"])


def await_progress(out: Path, name: str, began: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while progress(out, name) <= began:
        assert process.poll() is None, process.communicate()[1].decode()
        assert time.monotonic() < deadline, f"{name} does nothing"
        time.sleep(0.005)


def ended(process: subprocess.Popen[bytes], *, by_kill: bool) -> None:
    """Kill it, which never ended before in a way of its own; or see that it ends well."""
    if by_kill:
        assert process.poll() is None, process.communicate()[1].decode()
        process.kill()
    _, said = process.communicate(timeout=60)
    assert process.returncode == (-9 if by_kill else 0), said.decode()
