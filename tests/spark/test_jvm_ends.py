"""Spark's JVM is killed under `cdc-tail stream`, at each stage of a run: one sentence, and exit 8."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import ROOT, program
from tests.helpers.processes import descendants, runs

pytestmark = pytest.mark.spark
PATIENCE_SECONDS = 180


def jvm_of(process: subprocess.Popen[bytes]) -> psutil.Process | None:
    return next((each for each in descendants(process) if runs(each, "SparkSubmit")), None)


STAGES: dict[str, Callable[[bytes], bool]] = {
    "starting": lambda said: b"starting Spark" in said,
    "begun": lambda said: b", into console" in said,
    "running": lambda said: b"micro-batch" in said,
}


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_it_is_one_sentence(stage: str, fresh_folder: FreshFolder, tmp_path: Path) -> None:
    errors = tmp_path / "stderr"
    arguments = ["stream", str(fresh_folder("50-cases")), "--consumer", "c", "--output", "json", "--progress", "1"]
    with errors.open("wb") as err:
        process = subprocess.Popen(
            program(arguments), stdout=subprocess.DEVNULL, stderr=err, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        while not STAGES[stage](errors.read_bytes()) or (jvm := jvm_of(process)) is None:
            assert process.poll() is None, errors.read_text()
            assert time.monotonic() < until, errors.read_text()
            time.sleep(0.05)
        jvm.kill()
        code = process.wait(PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()
    said = errors.read_text()
    assert code == 8, said
    assert "Traceback" not in said
    assert "bug" not in said
    last = said.splitlines()[-1]
    assert ("the JVM did not start" if stage == "starting" else "Spark's JVM has ended") in last, said
