"""`tests.helpers.processes`: a process may end between two looks of a test."""

from __future__ import annotations

import os
import subprocess

import psutil

from tests.helpers.processes import descendants, runs, words_of


def test_a_zombie_has_no_command_line() -> None:
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    zombie = psutil.Process(ended.pid)
    assert zombie.status() == psutil.STATUS_ZOMBIE
    assert words_of(zombie) == []
    assert not runs(zombie, "true")
    ended.wait()
    assert words_of(zombie) == []
    assert descendants(ended) == []


def test_what_runs_is_found() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60; true"]) as shell:
        try:
            # Until it executes `sleep`, the shell's child has the shell's own command line.
            while ["sleep", "60"] not in [words_of(each) for each in descendants(shell)]:
                assert shell.poll() is None
            assert any(runs(each, "sleep") for each in descendants(shell))
        finally:
            for each in descendants(shell):
                each.kill()
            shell.kill()
