"""A user's first steps, from the pages as they stand: what is installed, typed and saved is cut out of them and run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
def live(spark, lake):
    frame = spark.read.format("delta").load(lake).where("_live")
    return frame.select([name for name in frame.columns if not name.startswith("_")])
spark = delta.configure_spark_with_delta_pip(
    SparkSession.builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
).getOrCreate()
lake, other, way = sys.argv[1:]
rows = [row.asDict() for row in (live if way == "images" else live_rows)(spark, lake).collect()]
print(json.dumps({"rows": rows, "others": spark.read.format("delta").load(other).count()}))
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
    expected = ordered(selected(sets_root / "50-cases"))
    told = shown(tmp_path, "orders", "changes", "changes")
    assert ordered(told["rows"]) == expected
    rows = (sets_root / "50-cases" / "expected").glob("*.jsonl")
    assert told["others"] >= sum(file.read_bytes().count(b"\n") for file in rows) > 0

    # By images, one query from the log to the table; it ends with what is there.
    program = next(block for block in blocks(ROOT / "docs" / "tables.md", "python") if "DeltaImageMerge" in block)
    log = f"n1={mine['/var/lib/cassandra/cdc_raw']}"
    ends = {"query.start()": "query.trigger(availableNow=True).start()", '"consumer": "orders"': '"consumer": "images"'}
    words = {"n1=/mnt/n1,n2=/mnt/n2,n3=/mnt/n3": log, "/lake/": f"{tmp_path}/images_", "shop.orders": TABLE, **ends}
    (tmp_path / "images.py").write_text(exchanged(program, words))
    install = f"pip install -q '{ROOT}[delta,images]'; python images.py"
    ran = shell(f". {tmp_path}/venv/bin/activate; {install}", tmp_path)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ordered(shown(tmp_path, "images_orders", "changes", "images")["rows"]) == expected


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


def shown(folder: Path, lake: str, other: str, way: str) -> dict[str, Any]:
    """The rows of a table that is kept by changes or by images, and how many another one has."""
    ran = shell(f". {folder}/venv/bin/activate; python shown.py {folder}/{lake} {folder}/{other} {way}", folder)
    assert ran.returncode == 0, ran.stderr[-4000:]
    told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return told


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
