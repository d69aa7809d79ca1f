"""What this product promises besides: micro-batches of Spark, one command, a clean-up by cron."""

from __future__ import annotations

import json
import re
import shlex
import time
from functools import partial
from pathlib import Path

import pytest

from tailer.retention.clean import clean
from tests.helpers.cli import run_cli
from tests.mission.shop import idx_files, numbers, opened, rows, write
from tests.spark.engine import Engine

SERVICE = Path(__file__).parents[2] / "contrib" / "systemd" / "cdc-tail-clean.service"


def test_spark_reads_micro_batches(tmp_path: Path) -> None:
    """Each from offset to offset, with no row twice and none left out; `tests/spark` has the same in Spark itself."""
    with opened(tmp_path) as log:
        write(log, 1, 2)
    engine = Engine(tmp_path / "cdc_raw", {})
    assert numbers([json.loads(line) for line in engine.available_now()]) == [1, 2]
    with opened(tmp_path) as log:
        write(log, 3)
    assert numbers([json.loads(line) for line in engine.available_now()]) == [3]
    assert engine.available_now() == []
    assert engine.committed == len(engine.offsets) >= 2


def test_there_is_one_command_with_a_page_for_each_of_its_words() -> None:
    told = run_cli(["--help"])
    words = re.findall(r"^│ ([a-z-]+) +[A-Z]", told.out, re.MULTILINE)
    assert {"follow", "stream", "status", "clean", "consumers", "inspect", "verify", "serve", "ship"} <= set(words)
    for word in words:
        shown = run_cli([word, "--help"])
        assert (shown.code, "Usage: cdc-tail" in shown.out) == (0, True), word


def test_cron_cleans_up_what_is_done_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command of the unit that is shipped, with nothing but the folder changed."""
    with opened(tmp_path) as log:
        write(log, *range(10), size=2000)
    assert len(rows(tmp_path / "cdc_raw", "--consumer", "c")) == 10
    command = re.search(r"^ExecStart=(.+)$", SERVICE.read_text(), re.MULTILINE)
    assert command is not None
    program, *words = shlex.split(command[1].replace("/var/lib/cassandra/cdc_raw", str(tmp_path / "cdc_raw")))
    assert Path(program).name == "cdc-tail"
    # An hour later, as cron finds it.
    monkeypatch.setattr("tailer.cli.clean.clean", partial(clean, clock=lambda: time.time() + 3600))
    before = idx_files(tmp_path)
    assert run_cli([*words, "--dry-run"]).code == 0
    assert idx_files(tmp_path) == before
    ran = run_cli(words)
    assert ran.code == 0, ran.err
    assert len(idx_files(tmp_path)) < len(before)


def test_the_public_surface_is_the_kept_one() -> None:
    """A change of it is deliberate, and in the CHANGELOG: `python scripts/surface.py > tests/mission/surface.txt`."""
    from scripts import surface

    kept = Path(__file__).with_name("surface.txt").read_text().splitlines()
    assert surface.surface(surface.HERE) == kept
