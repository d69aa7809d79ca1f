"""Histories in processes of their own: the functions of `os` and the like are exchanged there for good."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def simulated(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.simulation", *words]
    given = {**os.environ, "PYTHONHASHSEED": "0"}
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=given, check=False)


@pytest.mark.parametrize("source", ["node", "service"])
def test_nothing_is_lost_and_nothing_comes_that_is_not_durable(source: str) -> None:
    ran = simulated("--source", source, "--seed", "1", "--histories", "4", "--operations", "150")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 histories, 0 failed" in ran.stdout


def test_a_seed_gives_the_same_history_in_another_process() -> None:
    one, two, other = (
        simulated("--source", "service", "--seed", seed, "--operations", "100", "--calls") for seed in ("7", "7", "8")
    )
    calls = [line for line in one.stdout.splitlines() if line.startswith("seed 7 calls")]
    assert len(calls) == 1, one.stdout + one.stderr
    assert calls[0] in two.stdout
    assert calls[0].partition(":")[2] not in other.stdout


def test_a_seed_gives_the_same_history_behind_others() -> None:
    """A node with `serve`, remote readers and an archive: in a process of its own, and behind another history."""
    behind = simulated("--seed", "3", "--histories", "2", "--operations", "60", "--calls")
    alone = simulated("--seed", "4", "--operations", "60", "--calls")
    (calls,) = (line for line in alone.stdout.splitlines() if line.startswith("seed 4 calls"))
    assert "remote" in alone.stdout, alone.stdout + alone.stderr
    assert calls in behind.stdout


def test_an_acknowledged_write_that_is_lost_is_found() -> None:
    """The service's disk says that it has synced, and has not."""
    ran = simulated(
        "--source", "service", "--seed", "1", "--histories", "20", "--operations", "100", "--lying-disk", "--first"
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "rows" in ran.stdout


def test_a_fault_is_found_shortened_and_told_in_words() -> None:
    fault = "a position is saved before its rows are taken"
    ran = simulated(
        "--source", "service", "--histories", "200", "--operations", "30", "--fault", fault, "--first", "--shorten"
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    (command,) = (line for line in ran.stdout.splitlines() if line.startswith("again: "))
    given = command.partition("-m tests.simulation ")[2].split()
    assert len(given[-1].split(",")) < 15, command
    once_more = simulated(*given, "--fault", fault, "--words")
    assert once_more.returncode == 1, once_more.stdout + once_more.stderr
    assert once_more.stdout.count(" (after ") == len(given[-1].split(",")), "it is told in words"
