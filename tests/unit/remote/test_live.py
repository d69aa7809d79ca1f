"""A follower of a log that grows, over HTTP, through restarts of either side: each row once, in order, as beside it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.cli import program
from tests.helpers.faulty_link import LOCAL, faulty_link
from tests.helpers.links import read_once
from tests.helpers.log_writer import LogFolder, simple_table
from tests.helpers.steady_log import KEYS, steady_log

PATIENCE_SECONDS = 30.0


class Process:
    """A command of ours. `out`: what it writes to standard output, run after run; `said`: standard error."""

    def __init__(self, words: list[str | Path], out: Path) -> None:
        self._words = words
        self.out = out
        self.said = out.with_suffix(".said")
        self.start()

    def start(self) -> None:
        with self.out.open("ab") as out, self.said.open("ab") as said:
            self._process = subprocess.Popen(program(self._words), stdout=out, stderr=said)

    def end(self, number: int = signal.SIGTERM) -> int:
        self._process.send_signal(number)
        return self._process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def rows(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def await_that(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert self._process.poll() is None, self.said.read_text()
            assert time.monotonic() < until, self.said.read_text()
            time.sleep(0.02)

    def await_rows(self, count: int) -> None:
        """So many more."""
        wanted = len(self.rows()) + count
        self.await_that(lambda: len(self.rows()) >= wanted)


@contextmanager
def running(words: list[str | Path], out: Path) -> Iterator[Process]:
    process = Process(words, out)
    try:
        yield process
    finally:
        process.close()


def free_port() -> int:
    with socket.create_server((LOCAL, 0)) as taken:
        return int(taken.getsockname()[1])


def serve(folder: Path, port: int) -> list[str | Path]:
    return ["serve", folder, "--listen", f"{LOCAL}:{port}", "--no-auth", "--status-listen", f"{LOCAL}:{free_port()}"]


def follow(url: str, *words: str) -> list[str | Path]:
    return ["follow", url, "--output", "json", *words]


@pytest.mark.slow
def test_each_row_comes_once_through_restarts_of_either_side(tmp_path: Path) -> None:
    port, table = free_port(), simple_table("ks", "t")
    url = f"http://{LOCAL}:{port}"
    with (
        steady_log(tmp_path, table) as log,
        running(serve(log.folder, port), tmp_path / "serve.out") as node,
        running(follow(url, "--consumer", "far"), tmp_path / "far.out") as far,
        running(follow(url), tmp_path / "bare.out") as bare,
    ):
        far.await_rows(20)
        for number in (signal.SIGKILL, signal.SIGTERM):
            node.end(number)
            time.sleep(0.5)
            node.start()
            far.await_rows(20)
            bare.await_rows(1)
            assert far.end() == 0
            far.start()
            far.await_rows(20)
        log.await_rows(10)
        rows = log.rows
        far.await_that(lambda: len(far.rows()) >= rows)
        bare.await_that(lambda: len(bare.rows()) >= rows)
        assert (far.end(), bare.end()) == (0, 0)
        said = far.said.read_text()
    beside = read_once(log.folder, "--consumer", "beside")
    wanted = [json.loads(line) for line in beside.lines]
    assert [row["columns"]["v"] for row in wanted] == list(range(len(wanted)))  # type: ignore[index]
    assert {row["partition_key"]["pk"] for row in wanted} == set(range(KEYS))
    for process in (far, bare):
        found = process.rows()
        assert len(found) >= rows
        assert found == wanted[: len(found)]
    assert "warning: the node does not answer" in said
    assert "is there again after" in said
    assert "Traceback" not in said + bare.said.read_text() + node.said.read_text()


@pytest.mark.parametrize("how", ["away", "hangs"])
def test_a_follower_that_is_told_to_stop_waits_for_no_node(how: str, log: LogFolder, tmp_path: Path) -> None:
    port = free_port()
    with running(serve(log.path, port), tmp_path / "serve.out") as node, faulty_link(port) as between:
        node.await_that(lambda: "serves" in node.said.read_text())
        with running(follow(between.url, "--consumer", "c"), tmp_path / "far.out") as far:
            far.await_rows(3)
            if how == "away":
                between.close()
                far.await_that(lambda: "Waiting for it" in far.said.read_text())
            else:
                between.hangs = True
            began = time.monotonic()
            assert far.end() == 0
            # Of the six hundred that it would wait else.
            assert time.monotonic() - began < 30
        assert "Traceback" not in far.said.read_text()
        between.hangs = False


def test_a_follower_that_starts_before_its_node_waits_for_it(log: LogFolder, tmp_path: Path) -> None:
    port = free_port()
    with running(follow(f"http://{LOCAL}:{port}"), tmp_path / "far.out") as far:
        far.await_that(lambda: "Waiting for it" in far.said.read_text())
        with running(serve(log.path, port), tmp_path / "serve.out"):
            far.await_rows(3)
            assert far.end() == 0
        said = far.said.read_text()
    assert said.count("Waiting for it") == 1
    assert said.count("is there again after") == 1
