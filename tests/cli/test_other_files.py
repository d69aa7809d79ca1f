"""FIFOs, devices and folders under the names of segments: every command passes them by, and none of them hangs.

In processes of their own: what hung would hang the tests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import ROOT, run_process
from tests.helpers.other_files import OTHERS

NAMES = ("CommitLog-7-9795258311984.log", "CommitLog-7-9795258311985_cdc.idx")
SECONDS = 60


@pytest.fixture
def folder(fresh_folder: FreshFolder) -> Path:
    return fresh_folder("50-cases")


def put(folder: Path, kind: str) -> None:
    for name in NAMES:
        OTHERS[kind](folder / name)


def assert_named_once(text: str, kind: str) -> None:
    lines = [line for line in text.splitlines() if "passed by" in line]
    assert lines == [f"cdc-tail: {name} is {kind}, no regular file: it is passed by" for name in NAMES]


@pytest.mark.parametrize("kind", OTHERS)
def test_follow_and_clean_pass_it_by(folder: Path, kind: str) -> None:
    command: list[str | Path] = ["follow", folder, "--once", "--stopped", "--output", "json"]
    expected = run_process(command, timeout=SECONDS)
    put(folder, kind)
    found = run_process([*command, "--consumer", "c"], timeout=SECONDS)
    assert (found.code, found.out) == (0, expected.out)
    assert found.lines
    assert_named_once(found.err, kind)
    logs = len(list(folder.glob("*.log")))
    cleaned = run_process(["clean", folder, "--stopped", "--max-age", "0s", "--force"], timeout=SECONDS)
    assert cleaned.code == 0, cleaned.err
    assert_named_once(cleaned.err, kind)
    assert set(NAMES) <= {file.name for file in folder.iterdir()}
    assert len(list(folder.glob("*.log"))) <= logs


@pytest.mark.parametrize("arguments", [["verify"], ["schema"], ["status"], ["inspect"], ["inspect", "--tables"]])
def test_who_only_looks_does_not_wait(folder: Path, arguments: list[str]) -> None:
    put(folder, "a FIFO")
    command, *options = arguments
    found = run_process([command, folder, *options], timeout=SECONDS)
    assert "bug" not in found.err
    assert found.lines


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify"],
        ["schema"],
        ["inspect"],
        ["follow", "--once", "--stopped"],
        ["clean", "--dry-run", "--stopped", "--no-consumers"],
    ],
    ids=lambda words: words[0],
)
def test_it_is_named_once_in_the_form_that_was_asked_for(folder: Path, arguments: list[str]) -> None:
    put(folder, "a FIFO")
    command, *options = arguments
    found = run_process([command, folder, *options, "--log-format", "json"], timeout=SECONDS)
    told = [json.loads(line) for line in found.err.splitlines()]
    passed = [(each["level"], each["message"]) for each in told if "passed by" in each["message"]]
    assert passed == [("notice", f"{name} is a FIFO, no regular file: it is passed by") for name in NAMES]


@pytest.mark.parametrize("kind", OTHERS)
def test_status_names_it(folder: Path, kind: str) -> None:
    put(folder, kind)
    found = run_process(["status", folder, "--output", "json"], timeout=SECONDS)
    assert found.code == 0, found.err
    told = [f"{name} is {kind}, no regular file: it is passed by" for name in NAMES]
    assert json.loads(found.out)["notices"] == told
    shown = run_process(["status", folder, "--output", "pretty"], timeout=SECONDS)
    assert "".join(told).replace(" ", "") in "".join(shown.out.split())


def test_inspect_of_such_a_name_says_what_it_is(folder: Path) -> None:
    put(folder, "a FIFO")
    found = run_process(["inspect", folder / NAMES[0]], timeout=SECONDS)
    assert found.code == 2
    assert "expected a regular file, found a FIFO" in found.err


def test_follow_ends_when_it_is_told_to(folder: Path) -> None:
    """Before, it waited for the FIFO's other side, where no signal is looked at."""
    put(folder, "a FIFO")
    program = "from tailer.cli.app import run; run()"
    command = [sys.executable, "-c", program, "follow", str(folder), "--stopped", "--output", "json"]
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0
