"""The same in a process of its own, beside a service that writes: what comes while it reads, and what a kill leaves."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import ROOT, program, run_cli
from tests.native.kept_log import Service, Told, told
from tests.writer.plain import until


def words(service: Service, *more: str) -> list[Any]:
    return ["follow", service.raw, "--output", "json", "--from", "snapshot", "--consumer", "c", *more]


def told_by(lines: list[str]) -> list[Told]:
    return told(json.loads(line) for line in lines)


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_live_changes_follow_without_gap_or_repeat(tmp_path: Path, compression: Any) -> None:
    service = Service(tmp_path, compression=compression, threads=True)
    service.write(60)
    service.clean()
    out = tmp_path / "out"
    with out.open("wb") as file:
        running = subprocess.Popen(program(words(service)), cwd=ROOT, stdout=file)
    try:
        for _ in range(6):
            service.write(30)
            service.clean()
            until(lambda: len(out.read_text().splitlines()) >= 70)
        until(lambda: len(out.read_text().splitlines()) >= len(service.changes))
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
    finally:
        running.kill()
    assert told_by(out.read_text().splitlines()) == service.changes


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.write(500)
    assert len(service.clean()) > 50
    given: list[str] = []
    for count in (40, 90):
        running = subprocess.Popen(program(words(service)), cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert running.stdout is not None
        lines = [running.stdout.readline().rstrip("\n") for _ in range(count)]
        running.kill()
        running.wait()
        # It may have printed more, and saved its position behind that.
        lines += [line for line in running.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        running.stdout.close()
        given = behind(given, [line.rstrip("\n") for line in lines])
    service.write(20)
    last = run_cli(words(service, "--once"))
    assert last.code == 0, last.err
    assert last.lines[0] != given[0]
    assert told_by(behind(given, last.lines)) == service.changes


def behind(given: list[str], lines: list[str]) -> list[str]:
    """What was given before the first of these lines came again, if it did, and then they."""
    return [*given[: given.index(lines[0]) if lines[0] in given else len(given)], *lines]
