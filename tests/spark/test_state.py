"""The current state of tables in Spark is what the server answered to SELECT."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tailer.errors import DefinitionError, LossError, UsageError
from tailer.spark.state import current_state, rebuild, table_definition
from tests.conftest import FreshFolder
from tests.helpers.amount import ALL
from tests.helpers.arrow_rows import spelled_rows, without_empty
from tests.helpers.cleaned_log import ONE, cleaned, follow, log
from tests.helpers.cli import ROOT
from tests.helpers.landed import land, some_tables
from tests.helpers.rebuilt import SETS, recorded, tables_of
from tests.house.test_docs import blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STEP = 16 if ALL else 200
OWN = "struct<id:int,ck:int,s:string,s2:int,sl:array<int>,sm:map<string,int>,ss:array<string>,v:int>"


@pytest.mark.slow
def test_tables_of_every_set_are_what_select_shows(spark: SparkSession, sets_root: Path, tmp_path: Path) -> None:
    """All sets are landed in one file, in which every table finds its own changes. (Every table: `test_tasks`.)"""
    land([recorded(name, sets_root) for name in SETS], tmp_path / "changes.parquet")
    changes = spark.read.parquet(str(tmp_path / "changes.parquet"))
    wrong = []
    chosen = some_tables(SETS, sets_root, STEP)
    for recording, table in chosen:
        rows = rebuild(changes, table, at=recording.at, decimals="string").toArrow()
        if spelled_rows(rows, table) != without_empty(recording.shown[table.name]):
            wrong.append((recording.name, table.name))
    assert wrong == []
    assert {recording.name for recording, _ in chosen} == set(SETS)


@pytest.mark.oldest
@pytest.mark.parametrize("full", ["cdc.truncated", "cdc.altered", "cdc.counters"])
def test_the_state_of_a_folder(spark: SparkSession, sets_root: Path, fresh_folder: FreshFolder, full: str) -> None:
    """Once as it is, and once as two nodes that logged the same: a second copy of a change makes no difference."""
    recording = recorded("50-cases", sets_root)
    folder, other = fresh_folder("50-cases"), fresh_folder("50-cases")
    table = tables_of(recording)[full]
    for path in (str(folder), f"a={folder},b={other}"):
        rows = current_state(spark, path, full, at=recording.at, decimals="string", stopped="true").toArrow()
        assert spelled_rows(rows, table) == without_empty(recording.shown[full])


def test_columns_are_those_of_the_typed_form(spark: SparkSession, fresh_folder: FreshFolder) -> None:
    frame = current_state(spark, fresh_folder("50-cases"), "cdc.statics", stopped="true")
    assert frame.schema.simpleString() == OWN


def test_names_that_differ_in_case_only(spark: SparkSession, sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    with pytest.raises(UsageError, match=r"spark\.sql\.caseSensitive"):
        current_state(spark, folder, "CdcMixed.Table_Two", stopped="true")
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        rows = current_state(spark, folder, "CdcMixed.Table_Two", decimals="string", stopped="true").toArrow()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    recording = recorded("50-cases", sets_root)
    table = tables_of(recording)["CdcMixed.Table_Two"]
    assert spelled_rows(rows, table) == without_empty(recording.shown[table.name])


def test_the_example_of_the_docs(
    spark: SparkSession, fresh_folder: FreshFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it stands but for the names of the folder and the table."""
    folder = fresh_folder("50-torn")
    block = blocks(ROOT / "docs" / "tables.md", "python")[0]
    exec(block.replace("/var/lib/cassandra/cdc_raw", str(folder)).replace("shop.orders", "cdc.lwt"), {})
    assert "| id|" in capsys.readouterr().out


def test_mistakes_are_told(spark: SparkSession, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    with pytest.raises(DefinitionError, match=r"no definition for table cdc\.absent .* schemaFile"):
        current_state(spark, folder, "cdc.absent")
    with pytest.raises(UsageError, match="unknown option"):
        current_state(spark, folder, "cdc.statics", schemafiel="x")
    with pytest.raises(UsageError, match="no change rows of the generic form"):
        rebuild(spark.range(1), table_definition(folder, "cdc.statics"))


def test_a_folder_that_lacks_changes_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A consumer has read five segments with a row each, and `clean` takes four; the rows were landed before."""
    folder, landed = log(tmp_path).path, str(tmp_path / "landed")
    spark.read.format("cdc_tail").load(str(folder)).write.parquet(landed)
    assert current_state(spark, folder, "shop.orders").count() == 5
    follow(folder)
    cleaned(folder)
    read = spark.read.format("cdc_tail").load(str(folder))
    definition = table_definition(folder, "shop.orders")
    for refused in (
        lambda: current_state(spark, folder, "shop.orders"),
        lambda: rebuild(read, definition),
        lambda: rebuild(read.where("op = 'insert'").select("*"), definition),
    ):
        with pytest.raises(LossError, match=rf"begins at segment {ONE + 4}, and `clean` took 4 segments"):
            refused()
    for part in (current_state(spark, folder, "shop.orders", partial=True), rebuild(read, definition, partial=True)):
        assert [row["v"] for row in part.collect()] == [4]
    whole = rebuild(spark.read.parquet(landed), definition)
    assert sorted(row["v"] for row in whole.collect()) == [0, 1, 2, 3, 4]
