"""`serve` and readers where the process itself has little: files, address space. One sentence, others are served."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT, program, run_process
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table

FIRST = 1_700_000_000_001
FILES = 256
ROOM = 64
HERE = ("--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--no-auth")
REQUEST = b"GET /api/v1/cdc/records HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 2)


def limited(name: str, most: int) -> str:
    """Python that is run first."""
    return f"import resource; resource.setrlimit(resource.{name}, ({most}, {most}))"


def test_more_connections_than_it_may_have_files(log: LogFolder) -> None:
    """Whoever is inside is served, the others are told so, and it says little."""
    process = subprocess.Popen(
        program(["serve", log.path, *HERE], limited("RLIMIT_NOFILE", FILES)),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = [process.stderr.readline() for _ in range(3)]
        assert f"{FILES} files open, which is enough for {ROOM} connections instead of 4096" in said[0]
        found = re.search(r"http://127.0.0.1:(\d+)", said[1])
        assert found is not None, said
        port = int(found[1])
        with ExitStack() as stack:
            first, *others = [
                stack.enter_context(socket.create_connection(("127.0.0.1", port), 60)) for _ in range(2 * FILES)
            ]
            answers = []
            for each in (first, *others):
                each.sendall(REQUEST)
                answers.append(each.recv(1 << 16)[:12])
            assert answers == [b"HTTP/1.1 200"] * ROOM + [b"HTTP/1.1 503"] * (2 * FILES - ROOM)
            first.sendall(REQUEST)
            assert first.recv(1 << 16).startswith(b"HTTP/1.1 200")
        assert _asked(port) == 200
    finally:
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert rest.count("\n") < 5, rest


def _asked(port: int) -> int:
    for _ in range(100):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/cdc/segments", timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
    return 503


@pytest.mark.parametrize("mebibytes", [40, 100, 159])
def test_less_address_space_than_it_starts_with(mebibytes: int, log: LogFolder) -> None:
    words = ["follow", log.path, "--once", "--stopped", "--output", "json"]
    ran = run_process(words, before=limited("RLIMIT_AS", mebibytes << 20))
    assert (ran.code, ran.out) == (8, "")
    assert ran.err.startswith("cdc-tail: not enough memory: expected 167772160 bytes of address space at least")
    assert ran.err.count("\n") == 1


def test_serve_needs_room_for_its_threads(log: LogFolder) -> None:
    ran = run_process(["serve", log.path, *HERE], before=limited("RLIMIT_AS", 600 << 20))
    assert ran.code == 8
    assert ran.err.startswith("cdc-tail: not enough memory: expected 1073741824 bytes of address space at least")
    assert not log.path.with_name("cdc_raw.cdc_tail").exists()


def test_it_is_enough_or_said_to_be_none(log: LogFolder) -> None:
    """Rows and exit 0, or none and exit 8: never the one without the other."""
    for mebibytes in (160, 192, 256):
        words = ["follow", log.path, "--once", "--stopped", "--output", "json"]
        ran = run_process(words, {"OPENBLAS_NUM_THREADS": "2"}, before=limited("RLIMIT_AS", mebibytes << 20))
        assert (ran.code, ran.out.count("\n")) in ((0, 2), (8, 0)), ran.err
        assert "bug" not in ran.err
