"""`tables` in Spark: a name that no node defines is an error at the load, and at the first batch; or it may come."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tailer.options.to_spark import parse_options
from tailer.spark.batch import CdcTailReader
from tailer.spark.errors import CdcTailError
from tailer.spark.source import CdcTailSource, generic_schema
from tailer.spark.state import current_state, table_definition
from tailer.spark.stream import CdcTailStreamReader
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder, create_payload, insert_payload, live, segment_of, simple_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = 1_700_000_000_001
ORDERS = simple_table("shop", "orders", 1)
ITEMS = simple_table("shop", "items", 2)
REFUSED = r"\[CDC-3\] no definition for table shop\.ordres: expected shop\.orders"


@pytest.fixture
def nodes(tmp_path: Path) -> str:
    """Two nodes; of each table only one of them has the definition."""
    for name, table in (("a", ORDERS), ("b", ITEMS)):
        writer = segment_of(FIRST, [[create_payload(table, 1), insert_payload(table, 1, "a", 10)]])
        LogFolder(tmp_path / name / "cdc_raw").put(writer, live(writer))
    return f"a={tmp_path / 'a' / 'cdc_raw'},b={tmp_path / 'b' / 'cdc_raw'}"


@pytest.fixture
def folder(nodes: str) -> str:
    """The node that knows `shop.orders` alone."""
    return nodes.split(",")[0].removeprefix("a=")


def source(path: str, **options: str) -> CdcTailSource:
    return CdcTailSource({"path": path, "waitMillis": "0", **options})


def stream(path: str, **options: str) -> Any:
    given = {"path": path, "waitMillis": "0", **options}
    return CdcTailStreamReader(parse_options(given), generic_schema()).initialOffset()


def partitions(path: str, **options: str) -> int:
    return len(CdcTailReader(parse_options({"path": path, **options}), generic_schema()).partitions())


def files(root: Path) -> set[str]:
    return {str(each) for each in root.rglob("*")}


def test_at_the_load(folder: str) -> None:
    before = files(Path(folder).parent)
    with pytest.raises(CdcTailError, match=REFUSED):
        source(folder, tables="shop.ordres").schema()
    for tables in ("shop.orders", "shop.x*", "shop.orders,shop.*"):
        assert source(folder, tables=tables).schema() == generic_schema()
    assert source(folder, tables="shop.ordres", tablesMayCome="true").schema() == generic_schema()
    assert source(folder + "/nowhere", tables="shop.ordres").schema() == generic_schema(), "a folder may come later"
    assert files(Path(folder).parent) == before


def test_where_the_load_could_not_tell(folder: str) -> None:
    """Columns that were given are not asked for; and the folder may have come after the load."""
    with pytest.raises(CdcTailError, match=REFUSED):
        stream(folder, tables="shop.ordres")
    assert not list(Path(folder).parent.glob("cdc_raw.cdc_tail/consumers/*.json"))
    with pytest.raises(CdcTailError, match=REFUSED):
        partitions(folder, tables="shop.ordres")
    assert stream(folder, tables="shop.ordres", tablesMayCome="true")
    assert partitions(folder, tables="shop.orders") == 1


def test_what_one_node_knows_is_known(nodes: str, capfd: pytest.CaptureFixture[str]) -> None:
    both = "shop.orders,shop.items"
    assert source(nodes, tables=both).schema() == generic_schema()
    assert stream(nodes, tables=both)
    assert partitions(nodes, tables=both) == 2
    said = capfd.readouterr().err
    for name in ("shop.orders", "shop.items"):
        assert f"nothing here defines table {name} yet" in said, "told by the node that does not know it"
    with pytest.raises(CdcTailError, match=r"shop\.itmes: expected shop\.items"):
        source(nodes, tables="shop.orders,shop.itmes").schema()


def test_the_command_tells_before_spark_starts(folder: str) -> None:
    result = run_cli(["stream", folder, "--table", "shop.ordres"], {"JAVA_HOME": "/nowhere"})
    assert result.code == 3
    assert "expected shop.orders" in result.err


def test_a_definition_that_is_asked_for_has_the_nearest_name(folder: str) -> None:
    with pytest.raises(Exception, match=r"expected shop\.orders, found shop\.ordres"):
        table_definition(folder, "shop.ordres")


@pytest.mark.spark
def test_in_a_session(spark: SparkSession, folder: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=REFUSED):
        spark.read.format("cdc_tail").option("tables", "shop.ordres").load(folder)
    read = spark.read.format("cdc_tail").options(tables="shop.ordres", tablesMayCome="true").load(folder)
    assert read.count() == 0
    assert spark.read.format("cdc_tail").option("tables", "shop.*").load(folder).count() == 1
    assert current_state(spark, folder, "shop.orders").count() == 1
    later = spark.readStream.format("cdc_tail").schema(generic_schema()).option("tables", "shop.ordres").load(folder)
    query = later.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    with pytest.raises(Exception, match=REFUSED):
        query.processAllAvailable()
