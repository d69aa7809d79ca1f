"""What a program in a session of its own tells of the tables that it made: JSON lines, each with `what` it is of.

A session with a lakehouse's jar needs a JVM of its own: the program is a process, and tests look at what it told.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.arrow_rows import without_empty
from tests.helpers.cli import ROOT
from tests.helpers.rebuilt import recorded

SECONDS_MAX = 1500

Told = list[dict[str, Any]]


def tell(what: str, rows: Sequence[Any] | int, **more: object) -> None:
    """The program's side."""
    print(json.dumps({"what": what, "rows": rows, **more}), flush=True)


def told_by(module: str, work: Path, sets_root: Path) -> Told:
    """What `python -m module WORK SETS` tells. Skips where Spark could not bring a jar."""
    command = [sys.executable, "-m", module, str(work), str(sets_root)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=SECONDS_MAX)
    if not ran.stdout and ("unresolved dependency" in ran.stderr or "Server access error" in ran.stderr):
        pytest.skip("a jar cannot be fetched here")
    assert ran.returncode == 0, ran.stderr[-4000:]
    return [json.loads(line) for line in ran.stdout.splitlines()]


def of(told: Told, what: str) -> Told:
    return [line for line in told if line["what"] == what]


def not_as_selected(told: Told, sets_root: Path) -> list[tuple[str, str]]:
    """Set and table of those tables whose rows are not what the server answered to SELECT."""
    return [
        (line["set"], line["table"])
        for line in of(told, "set")
        if line["rows"] != without_empty(recorded(line["set"], sets_root).shown[line["table"]])
    ]
