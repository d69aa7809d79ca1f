"""`cdc-tail follow n1=DIR,n2=DIR` as users have it: rows of all nodes on one output, in each form; an end in order."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tests.helpers.cli import ROOT, run_cli
from tests.unit.spark.test_nodes_away import Log


@pytest.fixture
def logs(tmp_path: Path) -> dict[str, Log]:
    made = {name: Log(tmp_path / name / "cdc_raw") for name in ("n1", "n2")}
    for name, log in made.items():
        log.write(f"{name}-a", f"{name}-b")
    return made


def path_of(logs: dict[str, Log]) -> str:
    return ",".join(f"{name}={log.path}" for name, log in logs.items())


def keys(lines: list[str]) -> list[tuple[str, str]]:
    rows = map(json.loads, lines)
    return sorted((row["node"], row["clustering"]["ck"]) for row in rows)


ALL = [("n1", "n1-a"), ("n1", "n1-b"), ("n2", "n2-a"), ("n2", "n2-b")]


def test_rows_of_all_nodes_once(logs: dict[str, Log]) -> None:
    words = ["follow", path_of(logs), "--once", "--output", "json", "--consumer", "c"]
    first = run_cli(words)
    assert first.code == 0
    assert keys(first.lines) == ALL
    assert run_cli(words).lines == []
    logs["n2"].write("n2-c")
    assert keys(run_cli(words).lines) == [("n2", "n2-c")]


@pytest.mark.parametrize("typed", [[], ["--typed", "ks.t"]])
def test_one_arrow_stream(logs: dict[str, Log], typed: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from tailer.cli.app import run; run()", "follow", path_of(logs)]
    done = subprocess.run([*command, "--once", "--output", "arrow", *typed], cwd=ROOT, capture_output=True, check=True)
    rows = pa.ipc.open_stream(done.stdout).read_all().to_pylist()
    assert sorted(row["_node" if typed else "node"] for row in rows) == ["n1", "n1", "n2", "n2"]


def test_for_people(logs: dict[str, Log]) -> None:
    shown = run_cli(["follow", path_of(logs), "--once", "--output", "pretty"])
    assert shown.code == 0
    assert all(value in shown.out for _, value in ALL)


def test_states_of_several_nodes_stand_side_by_side(logs: dict[str, Log], tmp_path: Path) -> None:
    state = tmp_path / "states"
    words = ["follow", path_of(logs), "--once", "--output", "json", "--consumer", "c", "--state", state]
    assert len(run_cli(words).lines) == 4
    assert sorted(each.name for each in state.iterdir()) == ["n1", "n2"]
    assert run_cli(words).lines == []
    shown = run_cli(["status", path_of(logs), "--state", state, "--output", "json"])
    told = {line["node"]: [each["consumer"] for each in line["consumers"]] for line in map(json.loads, shown.lines)}
    assert told == {"n1": ["c"], "n2": ["c"]}


def test_a_node_that_is_away_is_no_failure_of_the_others(logs: dict[str, Log]) -> None:
    logs["n2"].go_away()
    ran = run_cli(["follow", path_of(logs), "--once", "--output", "json", "--consumer", "c"])
    assert ran.code == 0
    assert keys(ran.lines) == ALL[:2]
    assert "warning: node n2 is away: no such folder" in ran.err
    failed = run_cli(["follow", path_of(logs), "--once", "--output", "json", "--on-node-lost", "fail"])
    assert failed.code == 8
    assert "no such folder" in failed.err


def test_one_node_that_is_waited_for(logs: dict[str, Log]) -> None:
    logs["n1"].go_away()
    ran = run_cli(["follow", f"n1={logs['n1'].path}", "--once", "--output", "json", "--on-node-lost", "wait"])
    assert ran.code == 8, "nothing is left that goes on"


def test_sigterm_ends_it_with_positions_saved(logs: dict[str, Log]) -> None:
    words = ["follow", path_of(logs), "--output", "json", "--consumer", "c"]
    command = [sys.executable, "-c", "from tailer.cli.app import run; run()", *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(4)]
        assert keys(lines) == ALL
        time.sleep(0.3)
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 0
    assert run_cli([*words, "--once"]).lines == []


NO_SPACE = """
import sys
from tailer.cli.app import run
from tailer.errors import SystemFailedError
from tailer.tail import away
from tailer.tail.kept import KeptPosition
away.RETRY_SECONDS = 0.05
save, left = KeptPosition.save, [8]
def full(self, what):
    if self._options.node == "n2" and self._state is not None and left[0]:
        left[0] -= 1
        raise SystemFailedError("cannot write the state: No space left on device")
    save(self, what)
KeptPosition.save = full
run()
"""


def test_rows_whose_position_cannot_be_saved_are_not_given_again_and_again(logs: dict[str, Log]) -> None:
    words = ["follow", path_of(logs), "--output", "json", "--consumer", "c"]
    command = [sys.executable, "-c", NO_SPACE, *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(4)]
        time.sleep(2)
        logs["n2"].write("n2-c")
        lines.append(running.stdout.readline())
        time.sleep(0.3)
        running.send_signal(signal.SIGTERM)
        rest, told = running.communicate(timeout=20)
        assert running.returncode == 0
    assert keys([*lines, *rest.splitlines()]) == [*ALL, ("n2", "n2-c")]
    assert told.count("node n2 is away: cannot write the state") == 1
    assert told.count("node n2 is there again") == 1
    assert run_cli([*words, "--once"]).lines == []
