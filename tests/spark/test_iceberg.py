"""Tables kept in Iceberg are what the server answered to SELECT; a stream into one has each change once.

`iceberg_run` does the merging and streaming, in a process of its own; here is what must come out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tailer.errors import UsageError
from tailer.spark.iceberg_columns import iceberg_name
from tailer.spark.sinks.iceberg import iceberg_package
from tests.helpers.arrow_rows import without_empty
from tests.helpers.compare import same_rows
from tests.helpers.iceberg import jar
from tests.helpers.jvm.jars import Unavailable
from tests.helpers.rebuilt import recorded, spelled
from tests.oracle import expected
from tests.oracle.jsontext import loads
from tests.spark.iceberg_run import CHOSEN, DELETED, EXPIRING, TRUNCATED
from tests.spark.told import Told, not_as_selected, of, told_by

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.oldest]


@pytest.fixture(scope="module")
def told(sets_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    try:
        jar()
    except Unavailable as reason:
        pytest.skip(str(reason))
    return told_by("tests.spark.iceberg_run", tmp_path_factory.mktemp("iceberg"), sets_root)


def test_tables_of_sets_are_what_select_shows(told: Told, sets_root: Path) -> None:
    lines = of(told, "set")
    assert not_as_selected(told, sets_root) == []
    assert {line["set"] for line in lines} == set(CHOSEN)


def test_a_batch_given_again_writes_nothing(told: Told) -> None:
    assert {line["table"]: line["rows"] for line in of(told, "replay")} == {TRUNCATED: 0, EXPIRING: 0, DELETED: 0}


def test_a_late_truncate_and_ttls(told: Told, sets_root: Path) -> None:
    """What expires within 50 seconds is what another server, asked that much later, no longer showed."""
    shown = recorded("50-cases", sets_root).shown
    for line in of(told, "table"):
        assert line["rows"] == without_empty(shown[line["table"]])
    minute = {'{"a":1,"b":"cell ttl differs","id":2}', '{"a":1,"b":"far and near","id":9}'}
    later = [row for row in shown[EXPIRING] if row not in minute] + ['{"a":1,"id":2}', '{"a":1,"id":9}']
    (line,) = of(told, "later")
    assert line["rows"] == sorted(spelled(loads(row)) for row in without_empty(later))


def test_a_column_that_came_later_has_its_own_type(told: Told, sets_root: Path) -> None:
    """Iceberg keeps a smallint as int; who reads the table's rows has what the typed form has."""
    (line,) = of(told, "altered")
    assert line["rows"] == without_empty(recorded("50-cases", sets_root).shown[DELETED])
    assert line["kind"] == "array<smallint>"


def test_a_stream_has_a_repeated_batch_once(told: Told, sets_root: Path) -> None:
    """Killed when the table had the last batch, and the checkpoint did not."""
    (line,) = of(told, "streamed")
    same_rows(expected(sets_root / "50-live", Path(line["folder"])).rows, line["rows"])
    (batches,) = of(told, "batches")
    assert len(batches["rows"]) == len(set(batches["rows"])) >= 2


def test_a_spark_without_a_runtime_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.spark.sinks.iceberg.metadata.version", lambda name: "4.1.2")
    assert iceberg_package() == "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"
    monkeypatch.setattr("tailer.spark.sinks.iceberg.metadata.version", lambda name: "4.2.0")
    with pytest.raises(UsageError, match=r"expected pyspark 4\.0 or 4\.1, found pyspark 4\.2\.0.*cdc-tail\[iceberg\]"):
        iceberg_package()


def test_a_table_is_named_with_its_catalog() -> None:
    assert iceberg_name("lake.shop.or`ders") == "`lake`.`shop`.`or``ders`"
    for wrong in ("orders", "/lake/orders", "lake..orders"):
        with pytest.raises(UsageError, match=r"CATALOG\.DATABASE\.TABLE"):
            iceberg_name(wrong)
