"""`tailer.spark.envelope`: the messages that the outlets send, as columns for Spark's Kafka sink."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tailer
from tailer.errors import UsageError
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.spark.envelope import envelope
from tailer.spark.state import table_definition
from tests.conftest import FreshFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.oldest]

TABLE = "cdc.coll"


@pytest.fixture
def folder(fresh_folder: FreshFolder) -> Path:
    return fresh_folder("50-cases")


def sent(messages: DataFrame) -> list[tuple[str, Any, Any, list[tuple[str, bytes]]]]:
    """Without the time at which they were made."""
    rows = messages.collect()
    return [
        (
            row.topic,
            row.key and json.loads(row.key),
            _timeless(row.value),
            [(each.key, bytes(each.value)) for each in row.headers],
        )
        for row in rows
    ]


def _timeless(value: bytes | None) -> Any:
    return None if value is None else {**json.loads(value), "ts_ms": None}


def read(spark: SparkSession, folder: Path, **options: str) -> DataFrame:
    return spark.read.format("cdc_tail").options(stopped="true", **options).load(str(folder))


def expected(folder: Path, options: EnvelopeOptions, table: str) -> list[Any]:
    definition = table_definition(folder, table).definition
    made = Envelope(options, {definition.id: definition}.get)
    batches = tailer.open(folder, tables=[table], stopped=True).read()
    return [
        (
            f"cdc-{each.keyspace}.{each.table}",
            each.key and json.loads(each.key),
            _timeless(each.value),
            list(each.headers),
        )
        for batch in batches
        for each in made.messages(batch, 0)
    ]


def test_messages_are_those_of_the_outlets(spark: SparkSession, folder: Path) -> None:
    known = table_definition(folder, TABLE)
    changes = read(spark, folder, tables=TABLE)
    made = envelope(changes, known, topic="cdc-{keyspace}.{table}", tombstones=True)
    assert made.schema.simpleString() == (
        "struct<topic:string,key:binary,value:binary,headers:array<struct<key:string,value:binary>>>"
    )
    assert sent(made) == expected(folder, EnvelopeOptions("debezium", tombstones=True), TABLE)
    assert made.count() > 20


def test_typed_rows_give_the_same(spark: SparkSession, folder: Path) -> None:
    known = table_definition(folder, TABLE)
    generic = sent(envelope(read(spark, folder, tables=TABLE), known))
    for decimals in ("decimal", "string"):
        assert sent(envelope(read(spark, folder, table=TABLE, decimals=decimals), known)) == generic


def test_a_table_with_plain_columns_needs_no_definition(spark: SparkSession, folder: Path) -> None:
    (first, *_) = sent(envelope(read(spark, folder, tables="cdc.filler"), format="rows"))
    assert first[0] == "cdc.filler"
    assert first[2]["op"] == "insert"


def test_a_table_with_collections_needs_its_definition(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(Exception, match=r"\[CDC-3\] nothing defines cdc\.coll"):
        envelope(read(spark, folder, tables=TABLE)).collect()


def test_a_frame_of_other_columns_is_refused(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(UsageError, match="no change rows"):
        envelope(spark.range(3))
    with pytest.raises(UsageError, match="definition of their table"):
        envelope(read(spark, folder, table=TABLE))
