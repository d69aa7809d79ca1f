"""A user's first steps, from the pages as they stand: what is installed, typed and saved is cut out of them and run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import ROOT
from tests.house.test_docs import blocks, text_of
from tests.spark.soak.killed import kill_all

pytestmark = [pytest.mark.slow, pytest.mark.spark]

TABLE = "cdc.filler"

SHOWN = """
import delta, json, sys
from pyspark.sql import SparkSession
from tailer.spark.delta import live_rows
spark = delta.configure_spark_with_delta_pip(
    SparkSession.builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
).getOrCreate()
lake, changes = sys.argv[1:]
rows = [row.asDict() for row in live_rows(spark, lake).collect()]
print(json.dumps({"rows": rows, "changes": spark.read.format("delta").load(changes).count()}))
"""


@pytest.mark.soak
def test_from_pip_install_to_a_delta_table(sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path) -> None:
    page = ROOT / "docs" / "delta.md"
    # The only words of the page that are exchanged.
    mine = {
        "./cdc_tail-0.1.0-py3-none-any.whl[delta]": f"{ROOT}[delta]",
        "~/cdc": str(tmp_path / "venv"),
        "/var/lib/cassandra/cdc_raw": str(fresh_folder("50-cases")),
        "/data/": f"{tmp_path}/",
        "shop.orders": TABLE,
    }
    (program,) = blocks(page, "python")
    (tmp_path / "lake.py").write_text(exchanged(program, mine))
    ran = shell(exchanged("\n".join(blocks(page, "sh")), mine), tmp_path)
    assert ran.returncode == 0, ran.stderr[-4000:]

    (tmp_path / "shown.py").write_text(SHOWN)
    show = f". {tmp_path}/venv/bin/activate; python shown.py {tmp_path}/orders {tmp_path}/changes"
    shown = shell(show, tmp_path)
    assert shown.returncode == 0, shown.stderr[-4000:]
    told = json.loads(shown.stdout.splitlines()[-1])
    assert ordered(told["rows"]) == ordered(selected(sets_root / "50-cases"))
    rows = (sets_root / "50-cases" / "expected").glob("*.jsonl")
    assert told["changes"] >= sum(file.read_bytes().count(b"\n") for file in rows) > 0


def test_the_lines_of_the_readme_run_as_they_stand(fresh_folder: FreshFolder, tmp_path: Path) -> None:
    """In an environment that is activated; the program is kept alive, as a session in a shell is."""
    folder = fresh_folder("50-cases")
    lines = next(block for block in blocks(ROOT / "README.md", "python") if "readStream" in block)
    mine = {"/var/lib/cassandra/cdc_raw": str(folder), "/var/tmp/cdc-checkpoint": str(tmp_path / "checkpoint")}
    (tmp_path / "five.py").write_text(exchanged(lines, mine) + "query.awaitTermination(300)\n")
    with (tmp_path / "out").open("wb") as out:
        running = subprocess.Popen(
            ["python", "five.py"],
            cwd=tmp_path,
            env=activated(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            give_up = time.monotonic() + 240
            while "Batch: 0" not in (told := text_of(tmp_path / "out")) or "event_id" not in told:
                assert running.poll() is None, told[-4000:]
                assert time.monotonic() < give_up, told[-4000:]
                time.sleep(0.5)
        finally:
            kill_all(running)


def exchanged(text: str, words: Mapping[str, str]) -> str:
    for word, other in words.items():
        text = text.replace(word, other)
    return text


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-ec", script], cwd=folder, env=activated("PYTHONPATH"), capture_output=True, text=True, timeout=1200
    )


def activated(*without: str) -> dict[str, str]:
    """The environment of a shell in which this interpreter's virtual environment is active, and nothing is set up."""
    unset = {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", *without}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    return {**kept, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}


def selected(recorded: Path) -> list[dict[str, object]]:
    """What the server's SELECT showed."""
    rows = [json.loads(line) for line in (recorded / "select.jsonl").read_bytes().splitlines()]
    return [row["row"] for row in rows if row["table"] == TABLE]


def ordered(rows: list[dict[str, object]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)
