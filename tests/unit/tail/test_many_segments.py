"""Many more small segments than descriptors are read in every way, and few are open at once; in soak 3,000 of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.amount import ALL
from tests.helpers.cli import ROOT
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table

pytestmark = pytest.mark.slow

SEGMENTS = 3000 if ALL else 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in the first segment, a row of it in each."""
    made = LogFolder(tmp_path_factory.mktemp("many") / "cdc_raw")
    table = simple_table("shop", "orders")
    for number in range(SEGMENTS):
        row = insert_payload(table, number, "c", number)
        first = [create_payload(table, 10)] if number == 0 else []
        writer = segment_of(1_700_000_000_000 + number, [[*first, row]])
        made.put(writer, completed(writer))
    return made.path


def test_every_way_of_reading_gets_by_with_few_descriptors(folder: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.unit.tail.many_segments", str(folder), "256"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout)
    assert told["rows"] == dict.fromkeys(("follow", "read", "typed", "spark"), SEGMENTS)
    assert told["most"] < 100
