"""A plain install has no client of Kafka: it says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.helpers.cli import ROOT
from tests.helpers.log_writer import one_row_log, simple_table

PROGRAM = (
    "import sys; sys.modules['confluent_kafka'] = None; from tailer.cli.app import main; sys.exit(main(sys.argv[1:]))"
)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    folder = one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), 1_700_000_000_001, 1).path
    words = ["follow", str(folder), "--node", "n1", "--consumer", "c", "--to", "kafka", "--brokers", "a:9092"]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 2
    assert "pip install 'cdc-tail[kafka]'" in ran.stderr
    assert "Traceback" not in ran.stderr
