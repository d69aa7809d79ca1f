"""What was archived and what is masked, in a real session: a stream and a batch read of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tailer.retention.clean import CleanOptions, clean
from tailer.retention.needed import Ages
from tailer.stores.folder_store import FolderStore
from tests.conftest import FreshFolder
from tests.helpers.cli import run_cli
from tests.helpers.compare import same_rows
from tests.helpers.masked_log import CLEAR, MASKS, NAME, hashed, key_file, people_log
from tests.oracle import expected
from tests.spark.test_queries import Query
from tests.spark.test_sinks import collected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FAR = 4_000_000_000.0


@pytest.mark.oldest
def test_what_was_archived_is_read_as_if_it_were_there(
    spark: SparkSession, sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    folder, store = fresh_folder("50-lz4"), FolderStore(tmp_path / "archive")
    want = expected(sets_root / "50-lz4", folder, stopped=True).rows
    # An archive knows a log by its state's id.
    for words in (["follow", folder, "--once", "--consumer", "c"], ["consumers", folder, "drop", "c"]):
        assert run_cli([*map(str, words)]).code == 0
    options = CleanOptions(no_consumers=True, stopped=True, archive=store)
    assert clean(folder, options, ages=Ages(0.0, 0.0), clock=lambda: FAR).logs
    assert list(folder.glob("*.log")) == []
    given = {"archive": str(store.where), "stopped": "true"}
    same_rows(want, Query(spark, folder, **given).run())
    read = spark.read.format("cdc_tail").options(**given).load(str(folder))
    same_rows(want, collected(read.orderBy("segment", "offset", "row")))


@pytest.mark.oldest
@pytest.mark.parametrize("typed", [False, True], ids=["generic", "typed"])
def test_what_is_masked_is_not_seen(typed: bool, spark: SparkSession, tmp_path: Path) -> None:
    log = people_log(tmp_path / "cdc_raw")
    given = {
        "mask": ",".join(f"{NAME}.{column}={how}" for column, how in MASKS.items()),
        "exclude": f"{NAME}.gone",
        "maskKey": str(key_file(tmp_path / "key")),
    }
    if typed:
        frame = spark.read.format("cdc_tail").options(table=NAME, **given).load(str(log.path))
        assert "gone" not in frame.columns
        assert dict(frame.dtypes)["number"] == "string"
        text = str([row.asDict() for row in frame.collect()])
    else:
        text = str(Query(spark, log.path, **given).run())
    assert hashed(b"clear-pk") in text
    assert [each for each in CLEAR if each in text] == []
