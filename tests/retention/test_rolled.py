"""A follower and `clean` in one process while segments roll: what they take and keep is the same all the time.

1,000 segments here, 50,000 in soak, in a folder that holds a few of them at a time. Processor time is counted, never
the clock's. With compiled code and without: it is loaded once, whenever there was enough to read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.amount import ALL
from tests.helpers.cli import ROOT

pytestmark = pytest.mark.slow

SEGMENTS = 50_000 if ALL else 1000
MIB = 1024 * 1024


@pytest.mark.parametrize("compiled", ["0", "1"])
def test_nothing_grows(tmp_path: Path, compiled: str) -> None:
    command = [sys.executable, "-m", "tests.retention.rolled", str(tmp_path / "cdc_raw"), str(SEGMENTS)]
    environment = {**os.environ, "CDC_TAIL_JIT": compiled}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3600)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout)
    print(json.dumps(told))
    assert told["rows"] == SEGMENTS
    # The first tenth imports, and fills what is kept.
    _, first, *later = told["tenths"]
    for tenth in later:
        assert tenth["descriptors"] <= first["descriptors"] + 4, told
        assert tenth["resident"] <= first["resident"] + 16 * MIB, told
        assert tenth["state"] <= 2 * first["state"], told
        assert tenth["cpu"] <= (2 if ALL else 3) * first["cpu"], told
    assert told["left"] < 100, "clean takes what was read"
