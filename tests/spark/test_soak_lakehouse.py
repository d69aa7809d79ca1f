"""`kill -9` of streams into Delta and Iceberg while a server writes: no row lost, none twice.

CDC_TAIL_SOAK says how often (`make soak SOAK=lakehouse`: 50). Delta's table is read by delta-rs, and Iceberg's by a
session of its own: nothing of what wrote them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.helpers.iceberg import jar
from tests.helpers.jvm.jars import lacking
from tests.spark.soak.rounds import Case, run
from tests.spark.soak.workload import Row
from tests.spark.told import told_by

pytestmark = [pytest.mark.soak, pytest.mark.spark]


def lake(tmp_path: Path, kind: str, log: str) -> Case:
    """A table in a folder, whose commits are files in its folder `log`."""
    out = tmp_path / "out"
    arguments = (str(tmp_path / "log" / "cdc_raw"), "--to", kind, "--path", str(out))
    data = out / "data" if kind == "iceberg" else out
    return Case(arguments, out / "_checkpoint", data, out / log)


def test_delta(tmp_path: Path) -> None:
    case = lake(tmp_path, "delta", "_delta_log")

    def rows() -> list[Row]:
        columns = DeltaTable(case.data).to_pyarrow_table(columns=list(Row._fields)).to_pylist()
        return [Row(**values) for values in columns]

    run(case, tmp_path, rows)


def test_iceberg(tmp_path: Path) -> None:
    if reason := lacking(jar):
        pytest.skip(reason)
    case = lake(tmp_path, "iceberg", "metadata")

    def rows() -> list[Row]:
        return [Row(*line["rows"]) for line in told_by("tests.spark.soak.iceberg_rows", case.data.parent, tmp_path)]

    run(case, tmp_path, rows)
