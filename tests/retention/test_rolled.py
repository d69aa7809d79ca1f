"""A follower and `clean` in one process while segments roll: what they take and keep is the same all the time.

1,000 segments here, 50,000 in soak, in a folder that holds a few of them at a time. Processor time is counted, never
the clock's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.amount import ALL
from tests.helpers.cli import ROOT

pytestmark = pytest.mark.slow

SEGMENTS = 50_000 if ALL else 1000
MIB = 1024 * 1024


def test_nothing_grows(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.retention.rolled", str(tmp_path / "cdc_raw"), str(SEGMENTS)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout)
    assert told["rows"] == SEGMENTS
    # The first tenth imports, and fills what is kept.
    _, first, *later = told["tenths"]
    for tenth in later:
        assert tenth["descriptors"] <= first["descriptors"] + 4, told
        assert tenth["resident"] <= first["resident"] + 24 * MIB, told
        assert tenth["state"] <= 2 * first["state"] + MIB // 16, told
        assert tenth["cpu"] <= 3 * first["cpu"], told
    assert told["left"] < 100, "clean takes what was read"
