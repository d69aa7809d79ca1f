"""Executors that share nothing with the driver but the log folder give the rows that a local run gives."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import FreshFolder
from tests.helpers.amount import ALL
from tests.helpers.cli import ROOT
from tests.spark.cluster import texts
from tests.spark.versions import ONE_BATCH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.spark]

FORMS = ({}, {"table": "cdc.filler"}) if ALL else ({},)


@pytest.mark.skipif(ONE_BATCH, reason="one batch is all that this Spark makes of it: nothing to kill in between")
def test_executors_of_their_own_one_of_them_killed(spark: SparkSession, fresh_folder: FreshFolder) -> None:
    folder = str(fresh_folder("50-cases"))
    local = [texts(spark.read.format("cdc_tail").options(**form).load(folder)) for form in FORMS]
    bounded = {"maxBytesPerTrigger": "20k", "minPartitions": "2"}
    wanted = [{**bounded, **form, "consumer": f"c{number}"} for number, form in enumerate(FORMS)]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.cluster", folder, json.dumps(wanted)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    told = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    for rows, found in zip(local, told, strict=True):
        assert rows
        assert found["rows"] == rows
        assert found["batches"] > 3
        assert found["executors"] > 2
